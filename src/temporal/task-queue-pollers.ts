import type { NativeConnection } from '@temporalio/worker';
import type { TaskQueuePollers as Measured, VersionStatus } from '../contract/telemetry.ts';
import { unlessNotFound } from './grpc-status.ts';
import { describeTaskQueue, versionNameIn, type TaskQueuePollers, type TaskType } from './task-queue.ts';

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
      (['workflow', 'activity'] as const).map(async (taskType) => ({
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
  { taskQueue, taskType, pollers, current }: DescribedQueue,
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
