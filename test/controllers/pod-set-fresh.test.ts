import { describe, expect, it } from '@jest/globals';
import { FreshPods } from '../../src/controllers/pod-set/fresh.ts';
import { aPodOf, aPodSet } from '../support/pod-sets.ts';

const PODS = ['a', 'b', 'c'].map((name) => aPodOf(aPodSet(), name).view);
const [A, B, C] = PODS as [(typeof PODS)[0], (typeof PODS)[0], (typeof PODS)[0]];

/** @param listMs how long a list takes */
function reading(listMs = 0) {
  const seen = { pods: PODS, reads: [] as string[], nowMs: 1_000_000 };
  const fresh = new FreshPods({
    list: () => {
      seen.reads.push('list');
      seen.nowMs += listMs;
      return Promise.resolve(seen.pods);
    },
    read: (name) => {
      seen.reads.push(name);
      return Promise.resolve(seen.pods.find((each) => each.name === name));
    },
    now: () => seen.nowMs,
  });
  return { seen, fresh };
}

describe('a Pod before it is deleted', () => {
  it('is as one list for many shows it, also where several ask at once', async () => {
    const { seen, fresh } = reading();
    const latest = await Promise.all([A, B, C].map((pod) => fresh.latest(pod)));
    expect(latest).toEqual([A, B, C]);
    expect(seen.reads).toEqual(['list']);
  });

  it('is looked at anew once the list is older than 750 milliseconds, or the clock was set back', async () => {
    const { seen, fresh } = reading();
    await fresh.latest(A);
    seen.pods = [A, C];
    seen.nowMs += 750;
    expect(await fresh.latest(B)).toEqual(B);
    seen.nowMs += 1;
    expect(await fresh.latest(B)).toBeUndefined();
    seen.pods = [];
    seen.nowMs -= 1;
    expect(await fresh.latest(A)).toBeUndefined();
    expect(seen.reads).toEqual(['list', 'list', 'list']);
  });

  it('is none of that UID where another has its name', async () => {
    const { seen, fresh } = reading();
    seen.pods = [{ ...A, uid: 'another' }];
    expect(await fresh.latest(A)).toBeUndefined();
  });

  it('is read by itself where there are so many that a list takes too long', async () => {
    const { seen, fresh } = reading(751);
    expect([await fresh.latest(A), await fresh.latest(B)]).toEqual([A, B]);
    expect(seen.reads).toEqual(['list', 'a', 'b']);
  });
});
