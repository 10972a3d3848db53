import { fileURLToPath, pathToFileURL } from 'node:url';
import { dirname, join } from 'node:path';
import workerThreads, { type WorkerOptions } from 'node:worker_threads';
import { CALL_BEGAN, monotonicMs } from './workflow-call.ts';

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const preload = join(dirname(fileURLToPath(import.meta.url)), `workflow-thread.${extension}`);

/** A workflow that computes this long without waiting for anything is taken for one that never ends. */
const STUCK_AFTER_MS = 10_000;

/** When the workflow thread went into the workflow that it is in, on the clock of `monotonicMs`; 0: in none. */
const callBegan = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));

/** Why the workflow thread does nothing any more, as a sentence. */
export function workflowThreadProblem(nowMs = monotonicMs()): string | undefined {
  const [sinceMs = 0] = callBegan;
  const forMs = nowMs - sinceMs;
  if (sinceMs === 0 || forMs < STUCK_AFTER_MS) return undefined;
  return `a workflow has been computing for ${Math.round(forMs / 1000)} s without yielding, which blocks all others; restart this process`;
}

/**
 * `fast`: with neither a time-out for each call nor call stacks. `watched`: as the SDK makes them.
 * docs/adr/0009-workflow-thread.md says what that costs.
 */
export type WorkflowThreads = 'fast' | 'watched';

/** Makes of this kind the threads that `create` makes. */
export function withWorkflowThreads<T>(threads: WorkflowThreads, create: () => Promise<T>): Promise<T> {
  switch (threads) {
    case 'fast':
      return withFastWorkflowThreads(create);
    case 'watched':
      return create();
  }
}

/**
 * Has every thread that is made while `create` goes on load `workflow-thread.ts` first. The SDK has no
 * option for that; where it makes its threads in another way, they are as slow as without us, not wrong.
 */
async function withFastWorkflowThreads<T>(create: () => Promise<T>): Promise<T> {
  const Original = workerThreads.Worker;
  workerThreads.setEnvironmentData(CALL_BEGAN, callBegan.buffer);
  workerThreads.Worker = class extends Original {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      // Not with the process's own: V8's flags, which count for all threads anyway, are refused here.
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
