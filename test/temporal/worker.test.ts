import { describe, expect, it } from '@jest/globals';
import type { Worker } from '@temporalio/worker';
import { untilItEnds } from '../../src/temporal/worker.ts';

const SOON = { lookEveryMs: 1, failedMs: 1 };

function aWorker(
  state: ReturnType<Worker['getState']>,
  run: Promise<void>,
): Pick<Worker, 'run' | 'getState'> {
  return { run: () => run, getState: () => state };
}

const never = new Promise<void>(() => undefined);

describe('a worker', () => {
  it('that has failed, and does not end, counts as ended', async () => {
    await expect(untilItEnds(aWorker('FAILED', never), SOON)).rejects.toThrow('the worker has failed');
  });

  it('that ends with an error tells it', async () => {
    const ending = Promise.reject(new Error('unauthenticated'));
    await expect(untilItEnds(aWorker('FAILED', ending), SOON)).rejects.toThrow('unauthenticated');
  });

  it('runs as long as it has not failed', async () => {
    const ending = new Promise<void>((resolve) => setTimeout(resolve, 50));
    await expect(untilItEnds(aWorker('RUNNING', ending), SOON)).resolves.toBeUndefined();
  });
});
