import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Doubts } from '../../src/watcher/doubts.ts';

const WEB = { key: 'shop/web', uid: 'uid-1', resourceVersion: '5' };

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
      doubts.gone(WEB, () => true);
      jest.advanceTimersByTime(999);
    }
    expect(checks).toBe(0);
    jest.advanceTimersByTime(10);
    expect(checks).toBe(1);
  });

  it('is not checked where the watch has told it', () => {
    doubts.gone(WEB, () => false);
    jest.advanceTimersByTime(60_000);
    expect(checks).toBe(0);
  });
});

describe('a read of what is older', () => {
  it('is checked at once, and the next ones at most once in ten seconds', () => {
    for (let i = 0; i < 3; i += 1) doubts.isBack(WEB);
    expect(checks).toBe(1);
    for (let i = 0; i < 3; i += 1) doubts.isBack(WEB);
    jest.advanceTimersByTime(9_999);
    expect(checks).toBe(1);
    jest.advanceTimersByTime(1);
    expect(checks).toBe(2);
  });
});

describe('a list of everything because of one object', () => {
  it('is due at most once in ten minutes, whichever object it is', () => {
    expect([doubts.mayList(), doubts.mayList()]).toEqual([true, false]);
    jest.advanceTimersByTime(599_999);
    expect(doubts.mayList()).toBe(false);
    jest.advanceTimersByTime(1);
    expect(doubts.mayList()).toBe(true);
  });
});
