import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import workerThreads, { type Worker } from 'node:worker_threads';
import { monotonicMs } from '../../src/temporal/workflow-call.ts';
import { withWorkflowThreads, workflowThreadProblem } from '../../src/temporal/workflow-threads.ts';
import { eventually } from '../../testing/eventually.ts';

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

  const make = () =>
    withWorkflowThreads(() =>
      Promise.resolve(new workerThreads.Worker(COMPUTING, { workerData: left.buffer })),
    );
  const outcomeOf = (made: Worker) => new Promise((resolve) => made.once('message', resolve));

  it('goes into the sandbox without a time-out, tells since when, and keeps no promise hook', async () => {
    thread = await make();
    const outcome = outcomeOf(thread);
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
      thread = await make();
    } finally {
      process.execArgv = execArgv;
    }
    expect(await outcomeOf(thread)).toContain('came to its end');
  });
});
