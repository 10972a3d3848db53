import { describe, expect, it } from '@jest/globals';
import { Backoff } from '../../src/watcher/timing.ts';

function aBackoff(random = 1): Backoff {
  return new Backoff({ firstMs: 100, maxMs: 1000, random: () => random });
}

function next(backoff: Backoff, times: number): number[] {
  return Array.from({ length: times }, () => backoff.next());
}

describe('Backoff', () => {
  it('doubles up to its cap, however often it is asked', () => {
    expect(next(aBackoff(), 6)).toEqual([100, 200, 400, 800, 1000, 1000]);
    expect(next(aBackoff(), 5000).at(-1)).toBe(1000);
  });

  it('takes off up to a half by chance', () => {
    expect(next(aBackoff(0), 3)).toEqual([50, 100, 200]);
  });

  it('starts anew after what worked for longer than a second and than the last wait', () => {
    const backoff = aBackoff();
    next(backoff, 5);
    backoff.workedFor(1001);
    expect(backoff.next()).toBe(100);
  });

  it('goes on where it worked for too short', () => {
    const backoff = new Backoff({ firstMs: 2000, maxMs: 9000, random: () => 1 });
    next(backoff, 1);
    backoff.workedFor(1500);
    expect(backoff.next()).toBe(4000);
  });
});
