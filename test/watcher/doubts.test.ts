import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Doubts } from '../../src/watcher/doubts.ts';

let checks: number;
let doubts: Doubts;

beforeEach(() => {
  jest.useFakeTimers();
  checks = 0;
  doubts = new Doubts(() => (checks += 1));
});

afterEach(() => {
  doubts.stop();
  jest.useRealTimers();
});

describe('a read of what is gone', () => {
  it('is checked once the watch has had ten seconds to tell it, however often it is read', () => {
    for (let second = 0; second < 10; second += 1) {
      doubts.gone('shop/web', () => true);
      jest.advanceTimersByTime(999);
    }
    expect(checks).toBe(0);
    jest.advanceTimersByTime(10);
    expect(checks).toBe(1);
  });

  it('is not checked where the watch has told it', () => {
    doubts.gone('shop/web', () => false);
    jest.advanceTimersByTime(60_000);
    expect(checks).toBe(0);
  });
});

describe('a read of what is older', () => {
  it('is checked at once, and the next ones at most once in ten seconds', () => {
    for (let i = 0; i < 3; i += 1) doubts.isBack();
    expect(checks).toBe(1);
    for (let i = 0; i < 3; i += 1) doubts.isBack();
    jest.advanceTimersByTime(9_999);
    expect(checks).toBe(1);
    jest.advanceTimersByTime(1);
    expect(checks).toBe(2);
  });
});
