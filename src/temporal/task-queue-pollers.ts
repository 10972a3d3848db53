import type { NativeConnection } from '@temporalio/worker';
import type { TaskQueuePollers, VersionStatus } from '../contract/telemetry.ts';
import { nameOf, TASK_KIND, unlessNotFound } from './versions.ts';

export interface PolledQueue {
  readonly connection: NativeConnection;
  /** The Temporal namespace. */
  readonly namespace: string;
  readonly taskQueue: string;
}

const CALL_TIMEOUT_MS = 10_000;

/** Who polls the task queue for workflow tasks and for activity tasks, as `pollersIn` has it. */
export function pollersOf(queue: PolledQueue): Promise<readonly TaskQueuePollers[]> {
  return queue.connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, async () => {
    const [workflow, activity] = await Promise.all([
      described(queue, 'workflow'),
      described(queue, 'activity'),
    ]);
    const statuses = await statusesOf(queue, [workflow, activity]);
    return [workflow, activity].flatMap((each) => pollersIn(each, statuses));
  });
}

/** A task queue, as far as one kind of task is concerned. */
export interface DescribedQueue {
  readonly taskQueue: string;
  readonly taskType: TaskQueuePollers['taskType'];
  readonly pollers: readonly { readonly deploymentOptions?: Version | null }[];
  /** The version that gets new runs; undefined: workers without a version do. */
  readonly current?: Version | null | undefined;
}

interface Version {
  readonly deploymentName?: string | null;
  readonly buildId?: string | null;
}

/**
 * The pollers by version: of each that polls or has runs, with 0 for one that Temporal gives tasks to and nobody polls for.
 *
 * @param statuses of the versions of the deployments that poll, by name
 */
export function pollersIn(
  { taskQueue, taskType, pollers, current }: DescribedQueue,
  statuses: ReadonlyMap<string, VersionStatus>,
): TaskQueuePollers[] {
  const polling = pollers.map(({ deploymentOptions }) => versionNameOf(deploymentOptions));
  const currentVersion = versionNameOf(current);
  const busy = [...statuses].filter(([, status]) => status === 'ramping' || status === 'draining');
  const versions = new Set([currentVersion, ...busy.map(([version]) => version), ...polling]);
  return [...versions].map((version) => ({
    taskQueue,
    taskType,
    version,
    status: version === currentVersion ? 'current' : (statuses.get(version) ?? 'inactive'),
    count: polling.filter((each) => each === version).length,
  }));
}

async function described(
  { connection, namespace, taskQueue }: PolledQueue,
  taskType: TaskQueuePollers['taskType'],
): Promise<DescribedQueue> {
  const { pollers, versioningInfo } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- see TASK_KIND
    taskQueueType: TASK_KIND[taskType],
  });
  return { taskQueue, taskType, pollers, current: versioningInfo?.currentDeploymentVersion };
}

/** Asked only where workers have versions. */
async function statusesOf(
  { connection, namespace }: PolledQueue,
  queues: readonly DescribedQueue[],
): Promise<ReadonlyMap<string, VersionStatus>> {
  const versions = queues.flatMap(({ pollers, current }) => [
    current,
    ...pollers.map(({ deploymentOptions }) => deploymentOptions),
  ]);
  const named = versions.filter((version) => versionNameOf(version) !== '');
  const deployments = new Set(named.map((version) => version?.deploymentName ?? ''));
  const described = await Promise.all(
    [...deployments].map((deploymentName) =>
      unlessNotFound(connection.workflowService.describeWorkerDeployment({ namespace, deploymentName })),
    ),
  );
  const summaries = described.flatMap((each) => each?.workerDeploymentInfo?.versionSummaries ?? []);
  return new Map(
    summaries.map(({ deploymentVersion, status }) => [versionNameOf(deploymentVersion), statusOf(status)]),
  );
}

/** `WorkerDeploymentVersionStatus` of temporal/api/enums/v1/deployment.proto, which cannot be imported by name. */
const STATUSES = new Map<number, VersionStatus>([
  [2, 'current'],
  [3, 'ramping'],
  [4, 'draining'],
  [5, 'drained'],
]);

function statusOf(status: number | null | undefined): VersionStatus {
  return STATUSES.get(status ?? 0) ?? 'inactive';
}

/** Empty: no version. A worker without one has a deployment name and a build id, too, but they are empty or only a hash. */
function versionNameOf(version: Version | null | undefined): string {
  const { deploymentName, buildId } = version ?? {};
  return deploymentName && buildId ? nameOf({ deploymentName, buildId }) : '';
}
