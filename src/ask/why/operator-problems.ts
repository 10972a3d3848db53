import type { Controller } from '../../engine/controller.ts';
import type { LeftRuns } from '../../runs/telemetry.ts';
import type { PublishedLease } from '../../config/published.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { LeaseObject, type Lease } from '../../kubernetes/lease.ts';
import { leftRuns } from '../../temporal/moved-runs.ts';
import { describeTaskQueue, type TaskQueuePollers } from '../../temporal/task-queue.ts';
import { timeText } from '../output.ts';
import type { Session, TemporalAccess } from '../session.ts';
import { showOperator, START_OPERATOR, workerProblem, type AdvisedProblem } from './advice.ts';

/** Nothing becomes of any change, whatever the state of each resource says. */
export interface OperatorProblem extends AdvisedProblem {
  readonly missing: 'worker' | 'watcher' | 'worker of another task queue';
}

/** @throws TemporalProblem */
export async function operatorProblems(
  { client }: Pick<Session, 'client'>,
  access: TemporalAccess,
  now: () => number,
): Promise<readonly OperatorProblem[]> {
  const { program, taskQueue, settings } = access;
  const [workers, ofWatcher] = await Promise.all([
    pollersOf(access, taskQueue, now),
    watcherProblem({ client, program }, settings?.lease, now),
  ]);
  const ofWorkers = workerProblem(workers, { taskQueue, version: undefined }, access);
  return [
    ...(ofWorkers ? [{ missing: 'worker', ...ofWorkers } as const] : []),
    ...(ofWatcher ? [{ missing: 'watcher', ...ofWatcher } as const] : []),
  ];
}

/** Of runs on other task queues: the operator has moved. @throws TemporalProblem */
export async function leftProblems(
  access: TemporalAccess,
  controllers: readonly Controller[],
  now: () => number,
): Promise<readonly OperatorProblem[]> {
  const names = controllers.map(({ name }) => name);
  const left = await leftRuns({ ...access, reader: access.runs, controllers: names, now });
  return left.map((each) => ({ missing: 'worker of another task queue', ...leftProblem(each) }));
}

function leftProblem({ taskQueue, count, lastPollMs }: LeftRuns): AdvisedProblem {
  const runs = count === 1 ? '1 open run is' : `${count} open runs are`;
  const since = lastPollMs === undefined ? 'for five minutes' : `since ${timeText(lastPollMs)}`;
  const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
  return {
    message: `${runs} on task queue "${taskQueue}", which no worker has polled ${since}`,
    advice: [
      `start a worker with --task-queue ${taskQueue} until they have ended`,
      {
        run: `temporal workflow terminate --query "${query}"`,
        to: 'or begin them anew here, once no step of them is in progress',
      },
    ],
  };
}

/** @throws TemporalProblem */
export function pollersOf(
  access: Pick<TemporalAccess, 'namespace' | 'call'>,
  taskQueue: string,
  now: () => number,
): Promise<TaskQueuePollers> {
  const { namespace } = access;
  return access.call(({ workflowService: service }) =>
    describeTaskQueue({ service, namespace, taskQueue, taskType: 'workflow', now }),
  );
}

const READ_TIMEOUT_MS = 5_000;

/** Undefined: somebody watches, or the user may not read the Lease, or there is no leader election. */
export async function watcherProblem(
  { client, program }: Pick<Session, 'client'> & { readonly program: string },
  at: PublishedLease | undefined,
  now: () => number,
): Promise<AdvisedProblem | undefined> {
  if (at === undefined) return undefined;
  try {
    const lease = await new LeaseObject(client, at).read({ timeoutMs: READ_TIMEOUT_MS });
    return leaseProblem(lease, { ...at, program }, now());
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** A leader renews its Lease several times within its duration. The clocks may differ by as much. */
const DURATIONS_MAX = 2;

function leaseProblem(
  { spec = {} }: Pick<Lease, 'spec'> = {},
  { namespace, name, program }: PublishedLease & { readonly program: string },
  nowMs: number,
): AdvisedProblem | undefined {
  const { holderIdentity: holder = '', renewTime = '', leaseDurationSeconds = 0 } = spec;
  const renewedMs = Date.parse(renewTime);
  if (holder !== '' && nowMs - renewedMs <= DURATIONS_MAX * leaseDurationSeconds * 1_000) return undefined;
  const lease = `the Lease ${namespace}/${name}`;
  const since = Number.isNaN(renewedMs) ? '' : ` since ${timeText(renewedMs)}`;
  const message =
    holder === '' ? `nobody holds ${lease}${since}` : `${holder} has not renewed ${lease}${since}`;
  return { message: message, advice: [START_OPERATOR, showOperator(program)] };
}
