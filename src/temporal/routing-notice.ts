import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from '../contract/logger.ts';
import { describeTaskQueue, nameOf, type WorkerVersion } from './task-queue.ts';

export interface RoutingNotice {
  readonly connection: NativeConnection;
  /** The Temporal namespace. */
  readonly namespace: string;
  readonly taskQueue: string;
  /** Of this worker; undefined: it has none. */
  readonly version: WorkerVersion | undefined;
  readonly log: Logger;
}

/** Warns if Temporal gives new runs to other workers. Never fails. */
export async function noticeRouting({ connection, version, log, ...queue }: RoutingNotice): Promise<void> {
  try {
    const request = { ...queue, service: connection.workflowService, taskType: 'workflow' } as const;
    const { current } = await describeTaskQueue(request);
    const words = whyNoNewRuns(version && nameOf(version), current);
    if (words !== undefined) log.warn({ taskQueue: queue.taskQueue }, words);
  } catch (error) {
    log.debug({ err: error }, 'could not find out which worker version is current');
  }
}

/** @param version of this worker; undefined: none @param current empty: none @returns undefined where it gets new runs */
export function whyNoNewRuns(version: string | undefined, current: string): string | undefined {
  if (current === (version ?? '')) return undefined;
  const isCurrent = current === '' ? 'no version is current' : `${current} is the current version`;
  return version === undefined
    ? `${isCurrent}, and this worker has no version, so it gets no runs; set --worker-deployment`
    : `${isCurrent}: ${version} gets no new runs until it is promoted (durable-operator promote)`;
}
