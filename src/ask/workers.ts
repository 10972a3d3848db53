import { msOf } from './run-story.ts';
import type { TemporalAccess } from './session.ts';

/** Who asks a task queue for work. The server forgets an asker after five minutes. */
export interface Workers {
  /** Without a version. */
  readonly hasUnversioned: boolean;
  /** `operator:1.2.0`, each once. */
  readonly versions: readonly string[];
  /** The version that gets new runs; undefined: workers without a version do. */
  readonly current: string | undefined;
  /** When one asked last, in milliseconds since the epoch; undefined: none has. */
  readonly lastAskedMs: number | undefined;
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
  const asked = pollers.map(({ lastAccessTime }) => msOf(lastAccessTime));
  return {
    hasUnversioned: versions.length < pollers.length,
    versions: [...new Set(versions)].sort(),
    current: versionIn(versioningInfo?.currentDeploymentVersion),
    lastAskedMs: asked.length === 0 ? undefined : Math.max(...asked),
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

/** Why nobody takes up a run; undefined: somebody does, or is about to. */
export function whyNobodyWorks(
  { hasUnversioned, versions, current }: Workers,
  { taskQueue, version }: { readonly taskQueue: string; readonly version: string | undefined },
): Idle | undefined {
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

export type Idle =
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
