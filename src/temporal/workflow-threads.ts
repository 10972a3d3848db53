import { fileURLToPath, pathToFileURL } from 'node:url';
import { dirname, join } from 'node:path';
import workerThreads, { type WorkerOptions } from 'node:worker_threads';
import { CALL_BEGAN, monotonicMs } from './workflow-call.ts';

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const preload = join(dirname(fileURLToPath(import.meta.url)), `workflow-thread.${extension}`);

/** A workflow that computes for so long without waiting is taken for one that never ends. */
const STUCK_AFTER_MS = 10_000;

/** When the current call into a workflow began, on the clock of `monotonicMs`; 0: there is none. */
const callBegan = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));

/** Why the workflow thread makes no progress. */
export function workflowThreadProblem(nowMs = monotonicMs()): string | undefined {
  const [sinceMs = 0] = callBegan;
  const forMs = nowMs - sinceMs;
  if (sinceMs === 0 || forMs < STUCK_AFTER_MS) return undefined;
  return `a workflow has been computing for ${Math.round(forMs / 1000)} s without yielding, which blocks all others; restart this process`;
}

/**
 * Every thread that is made during `create` loads `workflow-thread.ts` first. The SDK has no option for that. If it makes
 * its threads in another way, they are slow, not wrong. docs/adr/0009-workflow-thread.md has the costs.
 */
export async function withWorkflowThreads<T>(create: () => Promise<T>): Promise<T> {
  const Original = workerThreads.Worker;
  workerThreads.setEnvironmentData(CALL_BEGAN, callBegan.buffer);
  workerThreads.Worker = class extends Original {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      // Replaces the process's own: V8 flags hold for all threads, and are refused here.
      super(file, { ...options, execArgv: ['--import', pathToFileURL(preload).href] });
    }
  };
  try {
    return await create();
  } finally {
    workerThreads.Worker = Original;
    workerThreads.setEnvironmentData(CALL_BEGAN, undefined);
  }
}
