import { describe, expect, it } from '@jest/globals';
import { RateLimit } from '../../src/kubernetes/rate-limit.ts';

function aLimit(qps: number, burst: number) {
  const clock = { ms: 0 };
  const limit = new RateLimit({ qps, burst }, () => clock.ms);
  return { clock, limit, takes: (count: number) => Array.from({ length: count }, () => limit.take()) };
}

describe('a rate limit', () => {
  it('lets a burst through at once, and then one after the other', () => {
    const { takes } = aLimit(10, 3);
    expect(takes(6)).toEqual([0, 0, 0, 100, 200, 300]);
  });

  it('of one at a time lets each wait for its turn', () => {
    const { clock, takes } = aLimit(1, 1);
    expect(takes(2)).toEqual([0, 1_000]);
    clock.ms = 1_500;
    expect(takes(1)).toEqual([500]);
  });

  it('has the whole burst again after a pause, and no more than that', () => {
    const { clock, takes } = aLimit(10, 3);
    takes(5);
    clock.ms = 60_000;
    expect(takes(5)).toEqual([0, 0, 0, 100, 200]);
  });

  it('gives no turn to a call that would wait for longer than it may: the next one waits no longer for it', () => {
    const { limit } = aLimit(10, 1);
    limit.take();
    expect([50, 99, 100].map((mostMs) => limit.take(mostMs))).toEqual([undefined, undefined, 100]);
    expect(limit.take()).toBe(200);
  });

  it('ends the wait of a call that is aborted', async () => {
    const limit = new RateLimit({ qps: 1, burst: 1 });
    await limit.turn({});
    await expect(limit.turn({ signal: AbortSignal.abort() })).rejects.toThrow('aborted');
  });
});
