import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PollTimes, untilPhaseMs } from '../../src/watcher/poll-times.ts';

const MINUTE_MS = 60_000;
/** No timer is shorter. */
const SOON_MS = 1_000;
const HOUR_MS = 60 * MINUTE_MS;
const START_MS = Date.parse('2026-01-01T00:00:00Z');
const uids = Array.from({ length: 1_000 }, (_, index) => `uid-${index}`);

/** When which key was due, in milliseconds since the start. */
let due: readonly (readonly [key: string, atMs: number])[];
let times: PollTimes;

beforeEach(() => {
  jest.useFakeTimers({ now: START_MS });
  due = [];
  times = aSchedule();
});
afterEach(() => {
  times.stop();
  jest.useRealTimers();
});

function aSchedule(): PollTimes {
  return new PollTimes((key) => (due = [...due, [key, Date.now() - START_MS]]));
}

const timesOf = (key: string) => due.filter(([each]) => each === key).map(([, atMs]) => atMs);

describe('polls', () => {
  it('are spread over the interval, and each resource has its own place in it', () => {
    for (const uid of uids) times.seen(uid, uid, '10m');
    jest.advanceTimersByTime(10 * MINUTE_MS + SOON_MS);
    const perMinute = Map.groupBy(due, ([, atMs]) => Math.floor((atMs - SOON_MS) / MINUTE_MS));
    expect(perMinute.size).toBe(10);
    for (const those of perMinute.values()) expect(those.length).toBeLessThan(150);
    expect(new Set(due.map(([key]) => key)).size).toBe(uids.length);
    const [first, atMs] = due[0] ?? ['', 0];
    jest.advanceTimersByTime(20 * MINUTE_MS);
    expect(timesOf(first)).toEqual([0, 1, 2].map((round) => atMs + round * 10 * MINUTE_MS));
  });

  it('keep their times where the process starts anew, however often it does', () => {
    times.seen('web', 'uid-1', '10m');
    jest.advanceTimersByTime(10 * MINUTE_MS);
    const [atMs = 0] = timesOf('web');
    for (let starts = 0; starts < 20; starts += 1) {
      times.stop();
      times = aSchedule();
      times.seen('web', 'uid-1', '10m');
      jest.advanceTimersByTime(MINUTE_MS);
    }
    expect(timesOf('web')).toEqual([0, 1, 2].map((round) => atMs + round * 10 * MINUTE_MS));
  });

  it.each([
    ['of a process that starts', () => uids.forEach((uid) => times.seen(uid, uid, '7d'))],
    [
      'of a process that begins to lead',
      () => {
        for (const uid of uids) times.seen(uid, uid, '7d');
        jest.advanceTimersByTime(2 * HOUR_MS);
        due = [];
        times.lead();
      },
    ],
  ])('%s come within an hour once, and then once in each interval', (_, begin) => {
    begin();
    const fromMs = Date.now() - START_MS;
    jest.advanceTimersByTime(HOUR_MS + SOON_MS);
    expect(new Set(due.map(([key]) => key)).size).toBe(uids.length);
    const byMinute = Map.groupBy(due, ([, atMs]) => Math.floor((atMs - fromMs) / MINUTE_MS));
    expect(byMinute.size).toBeGreaterThanOrEqual(60);
    due = [];
    jest.advanceTimersByTime(7 * 24 * HOUR_MS);
    expect(due).toHaveLength(uids.length);
  });

  it('begin anew where the interval changes, and end with it, or with the resource', () => {
    times.seen('web', 'uid-1', '10m');
    times.seen('web', 'uid-1', '20s');
    jest.advanceTimersByTime(21_000);
    expect(due).not.toEqual([]);
    times.seen('web', 'uid-1', undefined);
    times.seen('gone', 'uid-2', '20s');
    times.forget('gone');
    due = [];
    jest.advanceTimersByTime(HOUR_MS);
    expect(due).toEqual([]);
  });
});

it('is not due twice where a timer fires before the clock has come so far', () => {
  const atMs = START_MS + untilPhaseMs('uid-1', MINUTE_MS, START_MS);
  expect(untilPhaseMs('uid-1', MINUTE_MS, atMs - 1)).toBe(MINUTE_MS + 1);
});
