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

/**
 * Workflow tasks at a time. An eager start is granted only while a slot is free, and a slot is freed only some
 * time after the run's effect shows: hence many slots, and few starts under way. Measured with `npm run bench`.
 */
const WORKFLOW_SLOTS = 200;
const ACTIVITY_SLOTS = 100;
/** Local activities have slots of their own, besides those of regular ones. */
export const STEPS_AT_ONCE = WORKFLOW_SLOTS + ACTIVITY_SLOTS;
export const STARTS_UNDER_WAY = 10;

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

function optionsFor({ version, ...request }: WorkerRequest, workflowBundle: WorkflowBundle): WorkerOptions {
  return {
    ...request,
    workflowBundle,
    ...(version !== undefined && { workerDeploymentOptions: pinnedTo(version) }),
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_SLOTS,
    maxConcurrentLocalActivityExecutions: WORKFLOW_SLOTS,
    maxConcurrentActivityTaskExecutions: ACTIVITY_SLOTS,
    // The polls of a frozen process take tasks that it does nothing for: no more of them than there is work for.
    activityTaskPollerBehavior: { type: 'autoscaling', minimum: 1, initial: 1, maximum: 10 },
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
