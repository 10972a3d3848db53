/*
 * Temporal, as a server and as an SDK. In: the connection, the activities, the bundle of workflows. Out: a worker that runs them; around it,
 * the client that starts, signals and lists runs, the reader of histories, encryption, and worker versions. Nothing here knows what a
 * step does.
 */

import {
  makeTelemetryFilterString,
  Runtime,
  Worker,
  type InjectedSinks,
  type MetricsExporterConfig,
  type NativeConnection,
  type WorkerDeploymentOptions,
  type WorkerOptions,
} from '@temporalio/worker';
import type { DataConverter } from '@temporalio/common';
import type { Logger } from '../api/logger.ts';
import { HEARTBEAT_EVERY_MS, type AttemptSinks } from '../runs/run.ts';
import { workflowBundle, type WorkflowBundle } from './bundle.ts';
import { sdkLogger } from './sdk-logs.ts';
import type { WorkerVersion } from './task-queue.ts';
import { withWorkflowThreads } from './workflow-threads.ts';

/** The limits of a worker's work in progress. */
export interface Slots {
  /** Two or more: a worker polls for new runs and for the runs in its cache. */
  readonly workflowSlots: number;
  readonly activitySlots: number;
}

/**
 * The logs of the SDK and of its native library go to our logger. The program handles signals itself.
 *
 * @param metricsAddress for the SDK's own metrics, such as `127.0.0.1:40001`; undefined: no metrics
 */
export function installRuntime(log: Logger, metricsAddress?: string): void {
  Runtime.install({
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      ...(metricsAddress !== undefined && { metrics: metricsAt(metricsAddress) }),
    },
    logger: sdkLogger(log),
  });
}

/** With the units and names of Prometheus, and without `service_name`, which is the same for every series. */
function metricsAt(bindAddress: string): MetricsExporterConfig {
  const prometheus = {
    bindAddress,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
  };
  return { attachServiceName: false, prometheus };
}

export interface WorkerRequest {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly activities: object;
  /** Asks the attempt to end that is in progress for the run, if it is in this process. */
  readonly endAttempt: (workflowId: string) => void;
  readonly slots: Slots;
  /** Undefined: Temporal's own. */
  readonly dataConverter?: DataConverter;
  /** Undefined: without Worker Versioning. */
  readonly version?: WorkerVersion;
}

/** On shutdown, the worker completes its work in progress first. */
export async function createWorker(request: WorkerRequest): Promise<Worker> {
  const isPlain = request.dataConverter?.failureConverterPath === undefined;
  const bundle = await workflowBundle(isPlain ? 'readable' : 'in-payload');
  return withWorkflowThreads(() => Worker.create(optionsFor(request, bundle)));
}

const LOOK_EVERY_MS = 1_000;
/** A worker that has failed ends within this time, or never. */
const FAILED_MS = 5_000;

/**
 * Runs a worker. Where Temporal has refused its polls for a minute, it fails, and may then neither end nor work: seen with
 * SDK 1.24.
 *
 * @throws its error, or that it has failed without one
 */
export async function untilItEnds(
  worker: Pick<Worker, 'run' | 'getState'>,
  { lookEveryMs = LOOK_EVERY_MS, failedMs = FAILED_MS } = {},
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const failed = new Promise<never>((_, reject) => {
    const look = () => {
      const hasFailed = worker.getState() === 'FAILED';
      const fail = () =>
        reject(new Error('the worker has failed, as logged before, and does not end by itself'));
      timer = hasFailed ? setTimeout(fail, failedMs) : setTimeout(look, lookEveryMs);
    };
    timer = setTimeout(look, lookEveryMs);
  });
  try {
    await Promise.race([worker.run(), failed]);
  } finally {
    clearTimeout(timer);
  }
}

function optionsFor(
  { version, slots, endAttempt, ...request }: WorkerRequest,
  workflowBundle: WorkflowBundle,
): WorkerOptions {
  return {
    ...request,
    workflowBundle,
    sinks: sinksFor(endAttempt),
    ...(version !== undefined && { workerDeploymentOptions: pinnedTo(version) }),
    maxConcurrentWorkflowTaskExecutions: slots.workflowSlots,
    maxConcurrentLocalActivityExecutions: slots.workflowSlots,
    maxConcurrentActivityTaskExecutions: slots.activitySlots,
    // The polls of a frozen process take tasks that it never runs, so there are only as many polls as the work needs.
    activityTaskPollerBehavior: { type: 'autoscaling', minimum: 1, initial: 1, maximum: 10 },
    // After this time, a run in the cache of a frozen worker goes on elsewhere.
    stickyQueueScheduleToStartTimeout: '5s',
    // Every heartbeat is sent.
    maxHeartbeatThrottleInterval: HEARTBEAT_EVERY_MS,
    // The default grows with the heap. Ended runs need not stay cached.
    maxCachedWorkflows: 100,
    // A Pod has 10 s. The requests of an activity are shorter.
    shutdownGraceTime: '6s',
    shutdownForceTime: '8s',
  };
}

function sinksFor(endAttempt: WorkerRequest['endAttempt']): InjectedSinks<AttemptSinks> {
  return { attempts: { end: { fn: ({ workflowId }) => endAttempt(workflowId) } } };
}

/** A run ends on the version that began it. */
export function pinnedTo(version: WorkerVersion): WorkerDeploymentOptions {
  return { useWorkerVersioning: true, version, defaultVersioningBehavior: 'PINNED' };
}
