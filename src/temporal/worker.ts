import {
  makeTelemetryFilterString,
  Runtime,
  Worker,
  type NativeConnection,
  type WorkerOptions,
} from '@temporalio/worker';
import type { Logger } from '../contract/logger.ts';
import { workflowBundle, type WorkflowBundle } from './bundle.ts';
import { withFastWorkflowThreads } from './workflow-threads.ts';

/**
 * Workflow tasks at a time. An eager start is granted only while a slot is free, and a slot is freed only some
 * time after the run's effect shows: hence many slots, and few starts under way. Measured with `npm run bench`.
 */
const WORKFLOW_SLOTS = 200;
export const STARTS_UNDER_WAY = 10;

/** Rust's own logs and the SDK's come out of our logger; signals are the program's to handle. */
export function installRuntime(log: Logger): void {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields?: object) =>
    log[level](withoutBigInts(fields ?? {}), message);
  Runtime.install({
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
    },
    logger: {
      log: (level, message, fields) => at(level === 'TRACE' ? 'debug' : lower(level))(message, fields),
      trace: at('debug'),
      debug: at('debug'),
      info: at('debug'), // what the SDK finds worth telling is of no interest to an operator's reader
      warn: at('warn'),
      error: at('error'),
    },
  });
}

export interface WorkerRequest {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly activities: object;
}

/** A worker for all workflows and activities. Shut down, it lets what is in hand end first. */
export async function createWorker(request: WorkerRequest): Promise<Worker> {
  const bundle = await workflowBundle();
  return withFastWorkflowThreads(() => Worker.create(optionsFor(request, bundle)));
}

function optionsFor(request: WorkerRequest, workflowBundle: WorkflowBundle): WorkerOptions {
  return {
    ...request,
    workflowBundle,
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_SLOTS,
    maxConcurrentLocalActivityExecutions: WORKFLOW_SLOTS,
    maxConcurrentActivityTaskExecutions: 100,
    // The default grows with the heap; a run that ended is not asked for again.
    maxCachedWorkflows: 100,
    // Under the 10 s that a Pod is given; an activity's own requests are shorter.
    shutdownGraceTime: '6s',
    shutdownForceTime: '8s',
  };
}

function lower(level: string): 'debug' | 'info' | 'warn' | 'error' {
  switch (level) {
    case 'WARN':
      return 'warn';
    case 'ERROR':
      return 'error';
    default:
      return 'debug';
  }
}

function withoutBigInts(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      typeof value === 'bigint' ? value.toString() : (value as unknown),
    ]),
  );
}
