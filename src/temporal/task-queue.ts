import type { WorkflowService } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from '../api/logger.ts';
import type { PollerGauge as Measured, TaskQueueState, VersionStatus } from '../runs/telemetry.ts';
import { unlessNotFound } from './grpc-status.ts';
import { msOf } from './timeline-builder.ts';

/** All workers of the same code. In Temporal's words: a Worker Deployment has versions, each with a build ID. */
export interface WorkerVersion {
  readonly deploymentName: string;
  readonly buildId: string;
}

/** `durable-operator:1.2.0`, as Temporal writes it in search attributes. */
export function nameOf({ deploymentName, buildId }: WorkerVersion): string {
  return `${deploymentName}:${buildId}`;
}

/** `TaskQueueType` of temporal/api/enums/v1/task_queue.proto; the package's own enum cannot be imported by name. */
export const TASK_KIND = { workflow: 1, activity: 2 } as const;

export type TaskType = keyof typeof TASK_KIND;

export const TASK_TYPES = ['workflow', 'activity'] as const satisfies readonly TaskType[];

export interface TaskQueueRequest {
  readonly service: WorkflowService;
  /** The Temporal namespace. */
  readonly namespace: string;
  readonly taskQueue: string;
  readonly taskType: TaskType;
  /** Default: `Date.now`. */
  readonly now?: () => number;
}

/** Who polls a task queue. */
export interface TaskQueuePollers {
  /** The version of each poller; empty: without a version. */
  readonly pollers: readonly string[];
  /** When anybody polled last, as far as the server remembers; undefined: nobody did. */
  readonly lastPollMs: number | undefined;
  /** The version that gets new runs; empty: workers without a version do. */
  readonly current: string;
}

/**
 * The server remembers a poller for five minutes (`matching.PollerHistoryTTL`), dead or alive. A poll for workflow tasks ends
 * after a minute, and its worker polls again at once. A worker whose slots are all taken by long steps does not poll for
 * activity tasks.
 */
const POLLS_WITHIN_MS = { workflow: 75_000, activity: 300_000 } as const;

export async function describeTaskQueue({
  service,
  namespace,
  taskQueue,
  taskType,
  now = Date.now,
}: TaskQueueRequest): Promise<TaskQueuePollers> {
  const { pollers, versioningInfo } = await service.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- see TASK_KIND
    taskQueueType: TASK_KIND[taskType],
  });
  const known = pollers.map(({ deploymentOptions, lastAccessTime }) => ({
    version: versionNameIn(deploymentOptions),
    lastPollMs: msOf(lastAccessTime),
  }));
  const sinceMs = now() - POLLS_WITHIN_MS[taskType];
  return {
    pollers: known.filter(({ lastPollMs }) => lastPollMs > sinceMs).map(({ version }) => version),
    lastPollMs: known.length === 0 ? undefined : Math.max(...known.map(({ lastPollMs }) => lastPollMs)),
    current: versionNameIn(versioningInfo?.currentDeploymentVersion),
  };
}

interface MaybeVersion {
  readonly deploymentName?: string | null;
  readonly buildId?: string | null;
}

/** Workers without a version also have a name and a build ID, but one of them is empty. */
export function versionNameIn(version: MaybeVersion | null | undefined): string {
  const { deploymentName, buildId } = version ?? {};
  return deploymentName && buildId ? nameOf({ deploymentName, buildId }) : '';
}

export interface PolledQueue {
  readonly connection: NativeConnection;
  /** The Temporal namespace. */
  readonly namespace: string;
  readonly taskQueue: string;
}

const CALL_TIMEOUT_MS = 10_000;

/** Who polls the task queue for workflow tasks and for activity tasks, for metrics. */
export function measuredPollers(queue: PolledQueue): Promise<readonly Measured[]> {
  const { connection } = queue;
  return connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, async () => {
    const described = await Promise.all(
      TASK_TYPES.map(async (taskType) => ({
        taskType,
        taskQueue: queue.taskQueue,
        ...(await describeTaskQueue({ ...queue, service: connection.workflowService, taskType })),
      })),
    );
    const statuses = await statusesOf(queue, described);
    return described.flatMap((each) => pollersIn(each, statuses));
  });
}

/** A task queue, for one type of task. */
export interface DescribedQueue extends TaskQueuePollers {
  readonly taskQueue: string;
  readonly taskType: TaskType;
}

/**
 * Counts pollers by version. A version to which Temporal gives tasks is counted even without a poller.
 *
 * @param statuses of the versions, by name
 */
export function pollersIn(
  { taskQueue, taskType, pollers, current }: Omit<DescribedQueue, 'lastPollMs'>,
  statuses: ReadonlyMap<string, VersionStatus>,
): Measured[] {
  const busy = [...statuses].filter(([, status]) => status === 'ramping' || status === 'draining');
  const versions = new Set([current, ...busy.map(([version]) => version), ...pollers]);
  return [...versions].map((version) => ({
    taskQueue,
    taskType,
    version,
    status: version === current ? 'current' : (statuses.get(version) ?? 'inactive'),
    count: pollers.filter((each) => each === version).length,
  }));
}

/** Asks only about deployments that poll or get tasks. */
async function statusesOf(
  { connection, namespace }: PolledQueue,
  queues: readonly TaskQueuePollers[],
): Promise<ReadonlyMap<string, VersionStatus>> {
  const versions = queues.flatMap(({ pollers, current }) => [current, ...pollers]);
  const deployments = new Set(versions.filter(Boolean).map((version) => version.split(':', 1)[0] ?? ''));
  const described = await Promise.all(
    [...deployments].map((deploymentName) =>
      unlessNotFound(connection.workflowService.describeWorkerDeployment({ namespace, deploymentName })),
    ),
  );
  const summaries = described.flatMap((each) => each?.workerDeploymentInfo?.versionSummaries ?? []);
  return new Map(
    summaries.map(({ deploymentVersion, status }) => [
      versionNameIn(deploymentVersion),
      STATUSES.get(status ?? 0) ?? 'inactive',
    ]),
  );
}

/** `WorkerDeploymentVersionStatus` of temporal/api/enums/v1/deployment.proto, which cannot be imported by name. */
const STATUSES = new Map<number, VersionStatus>([
  [2, 'current'],
  [3, 'ramping'],
  [4, 'draining'],
  [5, 'drained'],
]);

export interface RoutingNotice {
  readonly connection: NativeConnection;
  /** The Temporal namespace. */
  readonly namespace: string;
  readonly taskQueue: string;
  /** Of this worker; undefined: it has none. */
  readonly version: WorkerVersion | undefined;
  /** The name of the program. */
  readonly program: string;
  readonly log: Logger;
}

/** Warns if Temporal gives new runs to other workers. Never fails. */
export async function noticeRouting({
  connection,
  version,
  program,
  log,
  ...queue
}: RoutingNotice): Promise<void> {
  try {
    const request = { ...queue, service: connection.workflowService, taskType: 'workflow' } as const;
    const { current } = await describeTaskQueue(request);
    const words = whyNoNewRuns(program, version && nameOf(version), current);
    if (words !== undefined) log.warn({ taskQueue: queue.taskQueue }, words);
  } catch (error) {
    log.debug({ err: error }, 'could not find out which worker version is current');
  }
}

/** @param version of this worker; undefined: none @param current empty: none @returns undefined where it gets new runs */
export function whyNoNewRuns(
  program: string,
  version: string | undefined,
  current: string,
): string | undefined {
  if (current === (version ?? '')) return undefined;
  const isCurrent = current === '' ? 'no version is current' : `${current} is the current version`;
  return version === undefined
    ? `${isCurrent}, and this worker has no version, so it gets no runs; set --worker-deployment`
    : `${isCurrent}: ${version} gets no new runs until it is promoted (${program} promote)`;
}

/** By then, the worker of this process polls. */
const FIRST_AFTER_MS = 5_000;
const EVERY_MS = 60_000;
/** An answer counts for so long if Temporal cannot be asked again. */
const KEPT_MS = 5 * EVERY_MS;

const NOTHING: TaskQueueState = { pollers: [], left: [] };

/** While this process leads, asks Temporal once a minute about task queues. */
export class TaskQueueWatch {
  readonly #ask: () => Promise<TaskQueueState>;
  readonly #log: Logger;
  #term: { timer: NodeJS.Timeout; answer?: Answer } | undefined;

  constructor(ask: () => Promise<TaskQueueState>, log: Logger) {
    this.#ask = ask;
    this.#log = log;
  }

  /** Empty: this process does not lead, or Temporal has not answered for five minutes. */
  get state(): TaskQueueState {
    const answer = this.#term?.answer;
    return answer !== undefined && performance.now() - answer.atMs < KEPT_MS ? answer.state : NOTHING;
  }

  lead(): void {
    this.standBy();
    this.#term = { timer: setTimeout(() => void this.#read(), FIRST_AFTER_MS) };
  }

  standBy(): void {
    clearTimeout(this.#term?.timer);
    this.#term = undefined;
  }

  async #read(): Promise<void> {
    const term = this.#term;
    if (term === undefined) return;
    term.timer = setTimeout(() => void this.#read(), EVERY_MS);
    try {
      term.answer = { state: await this.#ask(), atMs: performance.now() };
    } catch (error) {
      this.#log.debug({ err: error }, 'could not find out who polls the task queue');
    }
  }
}

interface Answer {
  readonly state: TaskQueueState;
  readonly atMs: number;
}
