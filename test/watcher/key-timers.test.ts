import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { KeyTimers } from '../../src/watcher/timing.ts';

let rung: string[];
let timers: KeyTimers;

beforeEach(() => {
  jest.useFakeTimers();
  rung = [];
  timers = new KeyTimers();
});
afterEach(() => void jest.useRealTimers());

const set = (key: string, ms: number, what = key) => timers.set(key, ms, () => rung.push(what));
const after = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('the timer of a key', () => {
  it('rings once, when its time is over', async () => {
    set('a', 100);
    await after(99);
    expect(rung).toEqual([]);
    await after(1);
    expect(rung).toEqual(['a']);
    await after(1_000);
    expect(rung).toEqual(['a']);
  });

  it.each([
    ['later', 300],
    ['earlier', 50],
  ])('takes the place of the one before, also where it is %s', async (_, ms) => {
    set('a', 100, 'the one before');
    set('a', ms, 'the second');
    await after(1_000);
    expect(rung).toEqual(['the second']);
  });

  it('does not ring once it is cancelled, and those of other keys do', async () => {
    for (const key of ['a', 'b']) set(key, 100);
    timers.cancel('a');
    timers.cancel('no key');
    await after(100);
    expect(rung).toEqual(['b']);
  });

  it('does not keep the process alive', () => {
    jest.useRealTimers();
    const before = process.getActiveResourcesInfo();
    set('a', 100_000);
    expect(process.getActiveResourcesInfo()).toEqual(before);
    timers.cancelAll();
  });
});

describe('all timers', () => {
  it('are gone once they are cancelled', async () => {
    for (const key of ['a', 'b']) set(key, 100);
    timers.cancelAll();
    expect(jest.getTimerCount()).toBe(0);
    await after(100);
    expect(rung).toEqual([]);
  });
});
