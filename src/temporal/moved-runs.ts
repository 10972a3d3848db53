import { LRUCache } from 'lru-cache';
import type { ClusterIdentity } from '../runs/cluster.ts';
import type { Logger } from '../api/logger.ts';
import { workflowIdFor, type ResourceRef } from '../api/resource-ref.ts';
import { AWAITING_APPROVAL, PAUSED, STALLED, type RunState } from '../runs/search-attributes.ts';
import type { LeftRuns } from '../runs/telemetry.ts';
import type { Run, RunReader, TemporalCalls } from './run-reader.ts';
import { describeTaskQueue, TASK_TYPES } from './task-queue.ts';

/*
 * Runs that are open on another task queue than the operator's: it was renamed, or installed in another way.
 */

/** A poll ends after a minute, and a worker polls again at once. */
const LEFT_AFTER_MS = 90_000;
/** Many runs move together: their queue is asked about once. */
const POLLS_KEPT_MS = 10_000;
const HERE_MAX = 10_000;
/** By then, an operator with another task queue may have begun a run. */
const HERE_KEPT_MS = 600_000;

/** The run does nothing before a person, or a change, lets it go on. */
const AT_REST: readonly (RunState | undefined)[] = [STALLED, PAUSED, AWAITING_APPROVAL];

export interface MovedRunsOptions extends TemporalCalls {
  readonly reader: Pick<RunReader, 'describe'>;
  /** The operator's own. */
  readonly taskQueue: string;
  readonly log: Logger;
  /** Default: `Date.now`. */
  readonly now?: () => number;
}

export class MovedRuns {
  readonly #options: MovedRunsOptions;
  /** Workflow ids of runs on the operator's own task queue. */
  readonly #here = new LRUCache<string, true>({ max: HERE_MAX, ttl: HERE_KEPT_MS });
  readonly #polls: LRUCache<string, Promise<number | undefined>>;

  constructor(options: MovedRunsOptions) {
    this.#options = options;
    this.#polls = new LRUCache({ max: 100, ttl: POLLS_KEPT_MS });
  }

  /** It was started here. */
  isHere(ref: ResourceRef): void {
    this.#here.set(workflowIdFor(ref), true);
  }

  /**
   * The run was found open. Where nobody works on its task queue, and it rests, it is terminated: no step of it is in progress, and the next
   * run finds out about earlier attempts.
   *
   * @returns `ended`: it is open no more; `left`: it waits for a worker of its task queue, and has been told so before
   */
  async look(ref: ResourceRef): Promise<'open' | 'ended' | 'left'> {
    const { reader, taskQueue, log } = this.#options;
    if (this.#here.has(workflowIdFor(ref))) return 'open';
    const run = await reader.describe(ref);
    if (run?.isOpen !== true) return 'ended';
    if (run.taskQueue === taskQueue) {
      this.isHere(ref);
      return 'open';
    }
    if (!(await this.#isLeft(run.taskQueue))) return 'open';
    if (!isAtRest(run)) return run.workflowTaskAttempt === undefined ? 'open' : 'left';
    await this.#terminate(run);
    log.info(
      { ...ref, taskQueue: run.taskQueue },
      'a run is begun anew: nobody polls its task queue any more',
    );
    return 'ended';
  }

  async #isLeft(taskQueue: string): Promise<boolean> {
    const { now = Date.now } = this.#options;
    const asked = this.#polls.get(taskQueue) ?? lastPollOf(this.#options, taskQueue);
    this.#polls.set(taskQueue, asked, { noUpdateTTL: true });
    return isLeft(await asked, now());
  }

  async #terminate({ workflowId, runId, taskQueue: old }: Run): Promise<void> {
    const { namespace, taskQueue } = this.#options;
    const reason = `nobody polls task queue "${old}"; the operator has moved to task queue "${taskQueue}"`;
    await this.#options.call(({ workflowService }) =>
      workflowService.terminateWorkflowExecution({
        namespace,
        workflowExecution: { workflowId, runId },
        reason,
      }),
    );
  }
}

/** A workflow task is always there once the run was signaled; a worker that has started one works on it. */
function isAtRest({ runState, pending, isTaskStarted }: Run): boolean {
  return AT_REST.includes(runState) && pending.length === 0 && isTaskStarted !== true;
}

function isLeft(lastPollMs: number | undefined, nowMs: number): boolean {
  return lastPollMs === undefined || nowMs - lastPollMs > LEFT_AFTER_MS;
}

/** For tasks of whichever type. */
async function lastPollOf(calls: TemporalCalls, taskQueue: string): Promise<number | undefined> {
  const { namespace } = calls;
  const described = await calls.call(({ workflowService: service }) =>
    Promise.all(TASK_TYPES.map((taskType) => describeTaskQueue({ service, namespace, taskQueue, taskType }))),
  );
  const polls = described.flatMap(({ lastPollMs }) => lastPollMs ?? []);
  return polls.length === 0 ? undefined : Math.max(...polls);
}

export interface LeftRunsRequest extends TemporalCalls {
  readonly reader: Pick<RunReader, 'listOpen'>;
  readonly taskQueue: string;
  /** Undefined: nobody knows whose runs they are, and none is reported. */
  readonly cluster: ClusterIdentity | undefined;
  /** Names. */
  readonly controllers: readonly string[];
  readonly now: () => number;
}

/** The open runs of these controllers on other task queues, where nobody polls. */
export async function leftRuns(request: LeftRunsRequest): Promise<readonly LeftRuns[]> {
  const { reader, taskQueue: own, cluster, controllers, now } = request;
  if (cluster === undefined) return [];
  const open = await reader.listOpen({ otherThanTaskQueue: own, cluster });
  const ours = open.filter(({ ref }) => controllers.includes(ref.controller));
  const byQueue = [...Map.groupBy(ours, ({ taskQueue }) => taskQueue)];
  const all = await Promise.all(
    byQueue.map(async ([taskQueue, runs]) => ({
      taskQueue,
      count: runs.length,
      lastPollMs: await lastPollOf(request, taskQueue),
    })),
  );
  return all.filter(({ lastPollMs }) => isLeft(lastPollMs, now()));
}
