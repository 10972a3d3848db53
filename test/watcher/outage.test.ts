import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Outage, ReadyQueue } from '../../src/watcher/ready-queue.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const REFUSED = new Error('connection refused');

function anOutage() {
  const log = aRecordingLogger();
  const queue = new ReadyQueue(() => Promise.resolve(), 10);
  const outage = new Outage(queue, log);
  const fail = (...keys: readonly string[]) => {
    for (const key of keys) outage.failed(key, REFUSED);
  };
  return { log, queue, outage, fail };
}

/** How long the queue stays paused from now on, to the next 100 ms. */
async function pauseMs(queue: ReadyQueue): Promise<number> {
  let ms = 0;
  for (; queue.isPaused && ms < 10_000; ms += 100) await jest.advanceTimersByTimeAsync(100);
  return ms;
}

describe('all keys wait', () => {
  it('where two of them have failed, and none has succeeded between', () => {
    const { queue, outage, fail } = anOutage();
    fail('a');
    expect(queue.isPaused).toBe(false);
    expect(outage.problem).toBeUndefined();
    fail('b');
    expect(queue.isPaused).toBe(true);
    expect(outage.problem).toBe('Temporal cannot be used: connection refused; 0 resources are waiting');
  });

  it('not for one of them that fails again and again', () => {
    const { queue, fail } = anOutage();
    fail(...Array.from({ length: 20 }, () => 'a'));
    expect(queue.isPaused).toBe(false);
  });

  it('not where one of them has succeeded between', () => {
    const { queue, outage, fail } = anOutage();
    fail('a');
    outage.succeeded();
    fail('b');
    expect(queue.isPaused).toBe(false);
    expect(outage.problem).toBeUndefined();
  });

  it('longer each time, up to 5 s', async () => {
    const { queue, fail } = anOutage();
    fail('a');
    const waits: number[] = [];
    for (let i = 0; i < 7; i += 1) {
      fail('b');
      waits.push(await pauseMs(queue));
    }
    expect(waits).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  });

  it('no longer for calls that fail together', async () => {
    const { queue, fail } = anOutage();
    fail('a', 'b', 'c', 'd', 'e', 'f');
    expect(await pauseMs(queue)).toBe(200);
    fail('a');
    expect(await pauseMs(queue)).toBe(400);
  });

  it('as short as at first in the next outage', async () => {
    const { queue, outage, fail } = anOutage();
    fail('a');
    for (const key of ['b', 'c', 'd']) {
      fail(key);
      await pauseMs(queue);
    }
    outage.succeeded();
    fail('a', 'b');
    expect(await pauseMs(queue)).toBe(200);
  });
});

describe('Temporal is said to be away', () => {
  it('where a single key has failed five times', () => {
    const { outage, fail } = anOutage();
    fail('a', 'a', 'a', 'a');
    expect(outage.problem).toBeUndefined();
    fail('a');
    expect(outage.problem).toBe('Temporal cannot be used: connection refused; 0 resources are waiting');
  });

  it('with the number of the resources that wait', () => {
    const { queue, outage, fail } = anOutage();
    fail('a', 'b');
    queue.add('a');
    expect(outage.problem).toBe('Temporal cannot be used: connection refused; 1 resource is waiting');
    queue.add('b');
    expect(outage.problem).toBe('Temporal cannot be used: connection refused; 2 resources are waiting');
  });

  it('in one warning with its cause, and one line at its end', async () => {
    const { log, queue, outage, fail } = anOutage();
    outage.succeeded();
    fail('a', 'b');
    await pauseMs(queue);
    fail('a');
    outage.succeeded();
    outage.succeeded();
    expect(log.lines).toEqual([
      { level: 'warn', message: 'Temporal cannot be used', fields: { err: REFUSED } },
      { level: 'info', message: 'Temporal can be used again', fields: {} },
    ]);
  });
});
