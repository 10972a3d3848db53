import { describe, expect, it } from '@jest/globals';
import { digestOf, digestOfTexts, NONE } from '../../src/api/digest.ts';

describe('the digest of what a resource depends on', () => {
  it('does not depend on the order, in which a list and a watch differ', () => {
    expect(digestOfTexts(['a', 'b'])).toBe(digestOfTexts(['b', 'a']));
  });

  it('is another one once a text changes, comes or goes', () => {
    const digests = [[], ['a'], ['b'], ['a', 'b'], ['a', 'a']].map(digestOfTexts);
    expect(new Set(digests).size).toBe(digests.length);
    expect(digests[0]).toBe(NONE);
  });

  it('can be the reason of a condition', () => {
    expect(digestOfTexts(['a'])).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
  });
});

describe('the digest of a value', () => {
  it('does not depend on the order of keys, nor on fields that are undefined', () => {
    const digest = digestOf({ a: { b: 1, c: [1, 2] }, d: 'x' });
    expect(digestOf({ d: 'x', a: { c: [1, 2], b: 1, e: undefined } })).toBe(digest);
    expect(digestOf({ d: 'x', a: { c: [2, 1], b: 1 } })).not.toBe(digest);
  });

  it('has a form that never changes: it is kept in objects', () => {
    expect(digestOf({ image: 'nginx' })).toBe('87132e95dfbdfe0f');
    expect(digestOf(undefined)).toBe('74234e98afe7498f');
  });
});
