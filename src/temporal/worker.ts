import {
  makeTelemetryFilterString,
  Runtime,
  Worker,
  type MetricsExporterConfig,
  type NativeConnection,
  type WorkerDeploymentOptions,
  type WorkerOptions,
} from '@temporalio/worker';
import type { DataConverter } from '@temporalio/common';
import type { Logger } from '../contract/logger.ts';
import { workflowBundle, type WorkflowBundle } from './bundle.ts';
import { sdkLogger } from './sdk-logs.ts';
import { HEARTBEAT_EVERY_MS } from './steps.ts';
import type { WorkerVersion } from './versions.ts';
import { withWorkflowThreads, type WorkflowThreads } from './workflow-threads.ts';

/** What a worker has in progress at most. */
export interface Slots {
  /** Two or more: a worker asks for the tasks of new runs and for those of the runs that it keeps. */
  readonly workflowSlots: number;
  readonly activitySlots: number;
  /** Besides those of regular ones. */
  readonly localActivitySlots: number;
}

/** Local activities, and regular ones. */
export function stepsAtOnce({ activitySlots, localActivitySlots }: Slots): number {
  return activitySlots + localActivitySlots;
}

/**
 * Rust's own logs and the SDK's come out of our logger; signals are the program's to handle.
 *
 * @param metricsAddress where the SDK's own metrics are served, as `127.0.0.1:40001`; undefined: nowhere
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

/** In seconds, and named as Prometheus wants it; `service_name` would say the same of every series. */
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
  readonly slots: Slots;
  /** Undefined: Temporal's own. */
  readonly dataConverter?: DataConverter;
  /** Undefined: without Worker Versioning. */
  readonly version?: WorkerVersion;
}

/** A worker for all workflows and activities. On shutdown, it completes work in progress first. */
export async function createWorker(request: WorkerRequest, threads: WorkflowThreads): Promise<Worker> {
  const isPlain = request.dataConverter?.failureConverterPath === undefined;
  const bundle = await workflowBundle(isPlain ? 'readable' : 'in-payload');
  return withWorkflowThreads(threads, () => Worker.create(optionsFor(request, bundle)));
}

function optionsFor(
  { version, slots, ...request }: WorkerRequest,
  workflowBundle: WorkflowBundle,
): WorkerOptions {
  return {
    ...request,
    workflowBundle,
    ...(version !== undefined && { workerDeploymentOptions: pinnedTo(version) }),
    maxConcurrentWorkflowTaskExecutions: slots.workflowSlots,
    maxConcurrentLocalActivityExecutions: slots.localActivitySlots,
    maxConcurrentActivityTaskExecutions: slots.activitySlots,
    // The polls of a frozen process take tasks that it does nothing for: no more of them than there is work for.
    activityTaskPollerBehavior: { type: 'autoscaling', minimum: 1, initial: 1, maximum: 10 },
    // A run that a frozen worker has kept goes on elsewhere after that time, where no poll of it takes its task.
    stickyQueueScheduleToStartTimeout: '5s',
    // Every heartbeat is sent.
    maxHeartbeatThrottleInterval: HEARTBEAT_EVERY_MS,
    // The default grows with the heap; a run that ended is not asked for again.
    maxCachedWorkflows: 100,
    // Under the 10 s that a Pod is given; an activity's own requests are shorter.
    shutdownGraceTime: '6s',
    shutdownForceTime: '8s',
  };
}

/** A run ends on the version that began it. */
export function pinnedTo(version: WorkerVersion): WorkerDeploymentOptions {
  return { useWorkerVersioning: true, version, defaultVersioningBehavior: 'PINNED' };
}
