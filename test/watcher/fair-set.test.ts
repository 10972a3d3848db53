import { describe, expect, it } from '@jest/globals';
import { FairSet } from '../../src/watcher/ready-queue.ts';

/** The group of a key is its first letter. */
function aFairSet(...keys: readonly string[]): FairSet {
  const set = new FairSet((key) => key.charAt(0));
  for (const key of keys) set.add(key);
  return set;
}

const takeAll = (set: FairSet) => Array.from({ length: set.size }, () => set.take());

describe('FairSet', () => {
  it('gives the keys of one group in the order in which they came', () => {
    expect(takeAll(aFairSet('a1', 'a2', 'a3'))).toEqual(['a1', 'a2', 'a3']);
  });

  it('gives one key of each group in turn', () => {
    expect(takeAll(aFairSet('a1', 'a2', 'a3', 'b1', 'b2', 'c1'))).toEqual([
      'a1',
      'b1',
      'c1',
      'a2',
      'b2',
      'a3',
    ]);
  });

  it('gives no turn to a group for having had keys before', () => {
    const set = aFairSet('a1', 'b1');
    expect([set.take(), set.take()]).toEqual(['a1', 'b1']);
    for (const key of ['b2', 'a2']) set.add(key);
    expect(takeAll(set)).toEqual(['b2', 'a2']);
  });

  it('has a key once, in its first place, however often it is added', () => {
    const set = aFairSet('a1', 'a2', 'a1');
    expect(set.size).toBe(2);
    expect(takeAll(set)).toEqual(['a1', 'a2']);
    expect(set.take()).toBeUndefined();
  });

  it('has a key until it is taken', () => {
    const set = aFairSet('a1', 'a2');
    set.take();
    expect(['a1', 'a2', 'b1'].filter((key) => set.has(key))).toEqual(['a2']);
    expect(set.size).toBe(1);
  });

  it('takes a key anew that was taken before', () => {
    const set = aFairSet('a1');
    set.take();
    set.add('a1');
    expect(takeAll(set)).toEqual(['a1']);
  });

  it('has nothing to give once it is cleared', () => {
    const set = aFairSet('a1', 'b1');
    set.clear();
    expect(set.size).toBe(0);
    expect(set.has('a1')).toBe(false);
    expect(set.take()).toBeUndefined();
  });
});
