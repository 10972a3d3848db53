import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { WatchAttempt } from '../../src/watcher/watch-attempt.ts';

const SILENCE_MS = 90_000;

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

function anOpenWatch(stopping = new AbortController().signal): WatchAttempt {
  const watch = new WatchAttempt(SILENCE_MS, stopping);
  watch.open();
  return watch;
}

describe('WatchAttempt', () => {
  it('is dropped once nothing was heard for the time of silence', () => {
    const watch = anOpenWatch();
    jest.advanceTimersByTime(SILENCE_MS - 1);
    expect(watch.signal.aborted).toBe(false);
    jest.advanceTimersByTime(1);
    expect(watch.signal.aborted).toBe(true);
    expect(() => watch.checkEnd()).toThrow('the watch received nothing for 90 s');
  });

  it('lives as long as something is heard now and then', () => {
    const watch = anOpenWatch();
    for (let minute = 0; minute < 10; minute += 1) {
      jest.advanceTimersByTime(60_000);
      watch.heard();
    }
    expect(watch.signal.aborted).toBe(false);
    expect(() => watch.checkEnd()).not.toThrow();
    watch.over();
  });

  it('is dropped on stop, which is no fault', () => {
    const stopping = new AbortController();
    const watch = anOpenWatch(stopping.signal);
    stopping.abort();
    expect(watch.signal.aborted).toBe(true);
    expect(() => watch.checkEnd()).not.toThrow();
    watch.over();
  });

  it('counts an end within a second as a fault, so that the next try waits', () => {
    const watch = anOpenWatch();
    jest.advanceTimersByTime(999);
    expect(() => watch.checkEnd()).toThrow('ended right after it began');
    watch.over();
  });

  it('leaves no timer behind', () => {
    anOpenWatch().over();
    expect(jest.getTimerCount()).toBe(0);
  });
});
