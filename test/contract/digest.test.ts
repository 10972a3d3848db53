import { describe, expect, it } from '@jest/globals';
import { digestOf, NONE } from '../../src/contract/digest.ts';

describe('the digest of what a resource depends on', () => {
  it('does not depend on the order, in which a list and a watch differ', () => {
    expect(digestOf(['a', 'b'])).toBe(digestOf(['b', 'a']));
  });

  it('is another one once a text changes, comes or goes', () => {
    const digests = [[], ['a'], ['b'], ['a', 'b'], ['a', 'a']].map(digestOf);
    expect(new Set(digests).size).toBe(digests.length);
    expect(digests[0]).toBe(NONE);
  });

  it('can be the reason of a condition', () => {
    expect(digestOf(['a'])).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
  });
});
