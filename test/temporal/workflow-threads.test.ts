import { afterEach, describe, expect, it } from '@jest/globals';
import workerThreads, { type Worker } from 'node:worker_threads';
import { withFastWorkflowThreads, workflowThreadProblem } from '../../src/temporal/workflow-threads.ts';
import { eventually } from '../support/eventually.ts';

const MINUTE_MS = 60_000;

/** Goes into a sandbox as the SDK does, and computes there until it is told to leave. */
const COMPUTING = `
  const { workerData } = require('node:worker_threads');
  const vm = require('node:vm');
  const left = new Int32Array(workerData);
  const context = vm.createContext({ isOver: () => Atomics.load(left, 0) === 1 });
  let outcome = 'came to its end';
  try {
    new vm.Script('while (!isOver());').runInContext(context, { timeout: 1 });
  } catch (error) {
    outcome = error.code;
  }
  try {
    require('node:v8').promiseHooks.createHook({ init() {} });
  } catch (error) {
    outcome += ', ' + error.message;
  }
  require('node:worker_threads').parentPort.postMessage(outcome);
`;

describe('the workflow thread', () => {
  let thread: Worker | undefined;
  const left = new Int32Array(new SharedArrayBuffer(4));

  afterEach(async () => {
    Atomics.store(left, 0, 1);
    await thread?.terminate();
  });

  it('goes into the sandbox without a time-out, tells since when, and keeps no promise hook', async () => {
    thread = await withFastWorkflowThreads(() =>
      Promise.resolve(new workerThreads.Worker(COMPUTING, { eval: true, workerData: left.buffer })),
    );
    const outcome = new Promise((resolve) => thread?.once('message', resolve));
    await eventually(() => {
      expect(workflowThreadProblem(Date.now() + MINUTE_MS)).toMatch(/computing for \d+ s without an end/);
    });
    expect(workflowThreadProblem()).toBeUndefined();
    Atomics.store(left, 0, 1);
    expect(await outcome).toBe('came to its end, promise hooks are switched off');
    expect(workflowThreadProblem(Date.now() + MINUTE_MS)).toBeUndefined();
  });

  it('leaves threads alone that are made later', async () => {
    const before = workerThreads.Worker;
    await withFastWorkflowThreads(() => Promise.resolve());
    expect(workerThreads.Worker).toBe(before);
  });
});
