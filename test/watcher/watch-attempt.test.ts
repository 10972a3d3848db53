import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { WatchAttempt } from '../../src/watcher/watch-attempt.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('a watch lives as long as something is heard now and then, and leaves no timer', () => {
  const watch = new WatchAttempt(90_000, new AbortController().signal);
  watch.open();
  for (let minute = 0; minute < 10; minute += 1) {
    jest.advanceTimersByTime(60_000);
    watch.heard();
  }
  jest.advanceTimersByTime(89_999);
  expect(watch.signal.aborted).toBe(false);
  jest.advanceTimersByTime(1);
  expect(watch.signal.aborted).toBe(true);
  expect(() => watch.checkEnd()).toThrow('the watch received nothing for 90 s');
  watch.over();
  expect(jest.getTimerCount()).toBe(0);
});
