import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import workerThreads, { type Worker } from 'node:worker_threads';
import { monotonicMs } from '../../src/temporal/workflow-call.ts';
import { withWorkflowThreads, workflowThreadProblem } from '../../src/temporal/workflow-threads.ts';
import { eventually } from '../support/eventually.ts';

const MINUTE_MS = 60_000;

const COMPUTING = new URL('../support/computing-thread.mjs', import.meta.url);

describe('the workflow thread', () => {
  let thread: Worker | undefined;
  let left: Int32Array<SharedArrayBuffer>;

  beforeEach(() => {
    left = new Int32Array(new SharedArrayBuffer(4));
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    Atomics.store(left, 0, 1);
    await thread?.terminate();
  });

  it('goes into the sandbox without a time-out, tells since when, and keeps no promise hook', async () => {
    thread = await withWorkflowThreads('fast', () =>
      Promise.resolve(new workerThreads.Worker(COMPUTING, { workerData: left.buffer })),
    );
    const outcome = new Promise((resolve) => thread?.once('message', resolve));
    expect(await eventually(() => workflowThreadProblem(monotonicMs() + MINUTE_MS))).toMatch(
      /computing for \d+ s without yielding/,
    );
    expect(workflowThreadProblem()).toBeUndefined();
    // A clock that somebody sets is no reason to restart the process.
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() + MINUTE_MS);
    expect(workflowThreadProblem()).toBeUndefined();
    Atomics.store(left, 0, 1);
    expect(await outcome).toBe('came to its end, promise hooks are switched off');
    expect(workflowThreadProblem(monotonicMs() + MINUTE_MS)).toBeUndefined();
  });

  it('is made where the process was given flags of V8, too', async () => {
    const { execArgv } = process;
    process.execArgv = ['--max-old-space-size=256'];
    try {
      Atomics.store(left, 0, 1);
      thread = await withWorkflowThreads('fast', () =>
        Promise.resolve(new workerThreads.Worker(COMPUTING, { workerData: left.buffer })),
      );
    } finally {
      process.execArgv = execArgv;
    }
    expect(await new Promise((resolve) => thread?.once('message', resolve))).toContain('came to its end');
  });

  it('keeps the time-out and the promise hooks of the SDK where it is to be watched', async () => {
    thread = await withWorkflowThreads('watched', () =>
      Promise.resolve(new workerThreads.Worker(COMPUTING, { workerData: left.buffer })),
    );
    const outcome = await new Promise((resolve) => thread?.once('message', resolve));
    expect(outcome).toBe('ERR_SCRIPT_EXECUTION_TIMEOUT, promises are hooked');
    expect(workflowThreadProblem(monotonicMs() + MINUTE_MS)).toBeUndefined();
  });

  it('leaves threads alone that are made later', async () => {
    const before = workerThreads.Worker;
    await withWorkflowThreads('fast', () => Promise.resolve());
    expect(workerThreads.Worker).toBe(before);
  });
});
