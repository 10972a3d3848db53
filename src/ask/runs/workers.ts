import type { TemporalAccess } from '../connection/temporal.ts';

/** Who polls a task queue. The server forgets a poller after five minutes. */
export interface Workers {
  /** Without a version. */
  readonly hasUnversioned: boolean;
  /** `operator:1.2.0`, each once. */
  readonly versions: readonly string[];
  /** The version that gets new runs; undefined: workers without a version do. */
  readonly current: string | undefined;
}

/** `TaskQueueType` of temporal/api/enums/v1/task_queue.proto; the package's own enum cannot be imported by name. */
const WORKFLOW_TASKS = 1;

/** @throws TemporalProblem */
export async function workersOf(access: TemporalAccess, taskQueue: string): Promise<Workers> {
  const { pollers, versioningInfo } = await access.call((client) =>
    client.workflowService.describeTaskQueue({
      namespace: access.namespace,
      taskQueue: { name: taskQueue },
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum cannot be imported, see above
      taskQueueType: WORKFLOW_TASKS,
    }),
  );
  const versions = pollers.flatMap(({ deploymentOptions }) => versionIn(deploymentOptions) ?? []);
  return {
    hasUnversioned: versions.length < pollers.length,
    versions: [...new Set(versions)].sort(),
    current: versionIn(versioningInfo?.currentDeploymentVersion),
  };
}

interface Version {
  readonly deploymentName?: string | null;
  readonly buildId?: string | null;
}

function versionIn(version: Version | null | undefined): string | undefined {
  const { deploymentName, buildId } = version ?? {};
  return deploymentName && buildId ? `${deploymentName}:${buildId}` : undefined;
}

/** Why no worker takes up a run; undefined: one does, or is about to. */
export function workerProblem(
  { hasUnversioned, versions, current }: Workers,
  { taskQueue, version }: { readonly taskQueue: string; readonly version: string | undefined },
): WorkerProblem | undefined {
  if (!hasUnversioned && versions.length === 0) return { is: 'no worker', taskQueue };
  if (version !== undefined) {
    return versions.includes(version) ? undefined : { is: 'no worker of its version', version, versions };
  }
  if (current !== undefined) {
    return versions.includes(current)
      ? undefined
      : { is: 'no worker of the current version', current, versions };
  }
  return hasUnversioned ? undefined : { is: 'not promoted', versions };
}

export type WorkerProblem =
  | { readonly is: 'no worker'; readonly taskQueue: string }
  | {
      readonly is: 'no worker of its version';
      readonly version: string;
      readonly versions: readonly string[];
    }
  | {
      readonly is: 'no worker of the current version';
      readonly current: string;
      readonly versions: readonly string[];
    }
  | { readonly is: 'not promoted'; readonly versions: readonly string[] };
