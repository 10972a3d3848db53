import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ReadyQueue } from '../../src/watcher/ready-queue.ts';
import { aRecordingTelemetry } from '../support/recording-telemetry.ts';

/** Work that ends when the test says so. */
function aWorkshop(concurrency = 10) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (key: string) =>
    new Promise<void>((resolve) => {
      begun.push(key);
      ends.set(key, resolve);
    });
  const { told, queue: observer } = aRecordingTelemetry();
  const queue = new ReadyQueue(work, concurrency, observer);
  const end = async (key: string) => {
    ends.get(key)?.();
    await jest.advanceTimersByTimeAsync(0);
  };
  /** Called once the queue has stopped. */
  const stop = () => {
    const stopped = jest.fn();
    void queue.stop().then(stopped);
    return stopped;
  };
  return { queue, begun, end, told, stop };
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

describe('ReadyQueue', () => {
  it('begins what is due at once, in order, at most so many at a time', async () => {
    const { queue, begun, end } = aWorkshop(2);
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('lets controllers and namespaces take turns, however many keys one of them has', async () => {
    const { queue, begun, end } = aWorkshop(1);
    const busy = ['pod-set/shop/a/1', 'pod-set/shop/b/2', 'pod-set/shop/c/3'];
    for (const key of [...busy, 'pod-set/blog/d/4', 'git-build/shop/e/5']) queue.add(key);
    for (let i = 0; i < 4; i += 1) await end(begun.at(-1) ?? '');
    expect(begun).toEqual([busy[0], busy[1], 'pod-set/blog/d/4', 'git-build/shop/e/5', busy[2]]);
    expect(queue.depth).toBe(1);
  });

  it('gives no turn to a namespace for having had keys before', async () => {
    const { queue, begun, end } = aWorkshop(1);
    const before = ['pod-set/shop/a/1', 'pod-set/blog/b/2'];
    const later = ['pod-set/blog/c/3', 'pod-set/shop/d/4'];
    for (const key of before) queue.add(key);
    await end(before[0] ?? '');
    for (const key of later) queue.add(key);
    await end(before[1] ?? '');
    await end(later[0] ?? '');
    expect(begun).toEqual([...before, ...later]);
  });

  it('works once on a key that is added again while it waits', async () => {
    const { queue, begun, end } = aWorkshop(1);
    for (const key of ['a', 'b', 'b', 'b']) queue.add(key);
    await end('a');
    await end('b');
    expect(begun).toEqual(['a', 'b']);
    expect(queue.depth).toBe(0);
  });

  it('works again on a key that is added while it is in progress', async () => {
    const { queue, begun, end } = aWorkshop(1);
    queue.add('a');
    queue.add('a');
    await end('a');
    expect(begun).toEqual(['a', 'a']);
  });

  it('waits until a key is due', async () => {
    const { queue, begun } = aWorkshop();
    queue.add('a', performance.now() + 200);
    await jest.advanceTimersByTimeAsync(199);
    expect(begun).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(begun).toEqual(['a']);
  });

  it.each([
    ['later', [100, 500]],
    ['earlier', [500, 100]],
  ] as const)('takes the earliest of several times, also where the second is %s', async (_, [one, other]) => {
    const { queue, begun } = aWorkshop();
    queue.add('a', performance.now() + one);
    queue.add('a', performance.now() + other);
    await jest.advanceTimersByTimeAsync(100);
    expect(begun).toEqual(['a']);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(begun).toEqual(['a']);
  });

  it('is busy with what is due or in progress, and not with what waits for its time', async () => {
    const { queue, end } = aWorkshop(1);
    queue.add('later', performance.now() + 100);
    expect(queue.isBusy).toBe(false);
    queue.add('a');
    expect(queue.isBusy).toBe(true);
    // As many are due as are in progress.
    queue.add('b');
    expect(queue.isBusy).toBe(true);
    await end('a');
    await end('b');
    expect(queue.isBusy).toBe(false);
  });

  it('begins nothing while paused, and everything after', async () => {
    const { queue, begun } = aWorkshop();
    queue.pause(300);
    queue.add('a');
    queue.add('b', performance.now() + 100);
    await jest.advanceTimersByTimeAsync(299);
    expect(begun).toEqual([]);
    expect(queue.depth).toBe(2);
    await jest.advanceTimersByTimeAsync(1);
    expect(begun).toEqual(['a', 'b']);
  });

  it('stops when what is in progress has ended, and begins nothing more', async () => {
    const { queue, begun, end, stop } = aWorkshop(1);
    for (const key of ['a', 'b']) queue.add(key);
    queue.add('c', performance.now() + 10);
    const stopped = stop();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(stopped).not.toHaveBeenCalled();
    await end('a');
    expect(stopped).toHaveBeenCalled();
    queue.add('d');
    expect(begun).toEqual(['a']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('stops at once where nothing is in progress, and leaves no key and no timer', async () => {
    const { queue, told, stop } = aWorkshop();
    queue.pause(100);
    queue.add('due');
    queue.add('later', performance.now() + 100);
    const stopped = stop();
    await jest.advanceTimersByTimeAsync(0);
    expect(stopped).toHaveBeenCalled();
    expect(queue.depth).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
    expect(told).toEqual(['added due', 'emptied']);
  });
});
