import { describe, expect, it } from '@jest/globals';
import { namesOfNewPods } from '../../src/controllers/pod-set/names.ts';

const WEB = { name: 'web', uid: 'uid-of-web', podNames: ['web-pod-a'] };

function firstOf(podSet: typeof WEB, count: number, taken: readonly string[] = []) {
  const names = namesOfNewPods(podSet, new Set(taken));
  return Array.from({ length: count }, () => names.next().value);
}

describe('the names of new Pods', () => {
  it('are the same for all who create from the same status', () => {
    expect(firstOf({ ...WEB }, 300)).toEqual(firstOf(WEB, 300));
    for (const other of [{ uid: 'uid-of-its-successor' }, { podNames: [] }])
      expect(firstOf({ ...WEB, ...other }, 1)).not.toEqual(firstOf(WEB, 1));
  });

  it('are six for each Pod, all of them different, and may be those of Pods', () => {
    const all = firstOf(WEB, 300).flat();
    expect(new Set(all).size).toBe(6 * 300);
    for (const name of all) expect(name).toMatch(/^web-pod-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  it('are not those of a Pod that is there under any of its names', () => {
    const [first = [], ...others] = firstOf(WEB, 4);
    for (const taken of first) expect(firstOf(WEB, 3, [taken])).toEqual(others);
  });
});
