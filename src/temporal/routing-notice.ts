import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from '../contract/logger.ts';
import { nameOf, type WorkerVersion } from './versions.ts';

export interface RoutingNotice {
  readonly connection: NativeConnection;
  /** The Temporal namespace. */
  readonly namespace: string;
  readonly taskQueue: string;
  /** Of this worker; undefined: it has none. */
  readonly version: WorkerVersion | undefined;
  readonly log: Logger;
}

/** Says so where Temporal gives new runs to other workers than this one. Never fails. */
export async function noticeRouting({ connection, namespace, taskQueue, version, log }: RoutingNotice) {
  try {
    const request = { namespace, taskQueue: { name: taskQueue } };
    const { versioningInfo } = await connection.workflowService.describeTaskQueue(request);
    const { deploymentName, buildId } = versioningInfo?.currentDeploymentVersion ?? {};
    const current = deploymentName && buildId ? { deploymentName, buildId } : undefined;
    const words = whyNoNewRuns(version, current);
    if (words !== undefined) log.warn({ taskQueue }, words);
  } catch (error) {
    log.debug({ err: error }, 'could not find out which worker version is current');
  }
}

/** Undefined where new runs do come to this worker. */
export function whyNoNewRuns(
  version: WorkerVersion | undefined,
  current: WorkerVersion | undefined,
): string | undefined {
  const isCurrent = current && `${nameOf(current)} is the current version`;
  if (version === undefined) {
    return (
      isCurrent && `${isCurrent}, and this worker has no version, so it gets no runs; set --worker-deployment`
    );
  }
  if (current !== undefined && nameOf(current) === nameOf(version)) return undefined;
  return `${isCurrent ?? 'no version is current'}: ${nameOf(version)} gets no new runs until it is promoted (durable-operator promote)`;
}
