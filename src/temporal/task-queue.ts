import type { WorkflowService } from '@temporalio/client';

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

export interface TaskQueueRequest {
  readonly service: WorkflowService;
  /** The Temporal namespace. */
  readonly namespace: string;
  readonly taskQueue: string;
  readonly taskType: TaskType;
}

/** Who polls a task queue. The server forgets a poller after five minutes (`matching.PollerHistoryTTL`). */
export interface TaskQueuePollers {
  /** The version of each poller; empty: without a version. */
  readonly pollers: readonly string[];
  /** The version that gets new runs; empty: workers without a version do. */
  readonly current: string;
}

export async function describeTaskQueue({
  service,
  namespace,
  taskQueue,
  taskType,
}: TaskQueueRequest): Promise<TaskQueuePollers> {
  const { pollers, versioningInfo } = await service.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- see TASK_KIND
    taskQueueType: TASK_KIND[taskType],
  });
  return {
    pollers: pollers.map(({ deploymentOptions }) => versionNameIn(deploymentOptions)),
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
