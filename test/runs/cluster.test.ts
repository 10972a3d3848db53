import { describe, expect, it } from '@jest/globals';
import { isOfOtherCluster, labelOfCluster, labelsOfCluster } from '../../src/runs/cluster.ts';

const prod = { name: 'prod', uid: 'uid-1' };

describe('a cluster', () => {
  it('is shown by its name, else by its UID', () => {
    expect(labelOfCluster(prod)).toBe('prod');
    expect(labelOfCluster({ uid: 'uid-1' })).toBe('uid-1');
    expect(labelOfCluster({})).toBeUndefined();
  });

  it('has runs that were labelled before it got its name', () => {
    expect(labelsOfCluster(prod)).toEqual(['prod', 'uid-1']);
    expect(labelsOfCluster({})).toEqual([]);
  });
});

describe('what belongs to a cluster', () => {
  it.each([
    ['another name', { name: 'prod-2', uid: 'uid-2' }],
    ['another name, although one is a copy of the other and has its UID', { name: 'prod-2', uid: 'uid-1' }],
    ['another UID', { uid: 'uid-2' }],
    ['another name, and no UID is known', { name: 'prod-2' }],
  ])('is another one’s with %s', (_, owner) => {
    expect(isOfOtherCluster(owner, prod)).toBe(true);
  });

  it.each([
    ['of the same name, although it was built anew', { name: 'prod', uid: 'uid-0' }],
    ['from before it got its name', { uid: 'uid-1' }],
    ['of a run that says nothing about it', undefined],
    ['of an operator that could not tell', {}],
  ])('is its own where it is %s', (_, owner) => {
    expect(isOfOtherCluster(owner, prod)).toBe(false);
  });

  it('is another one’s where nobody knows which cluster this is', () => {
    expect(isOfOtherCluster({ uid: 'uid-1' }, {})).toBe(true);
    expect(isOfOtherCluster({}, {})).toBe(false);
  });

  it('is another one’s where the two have nothing in common to compare', () => {
    expect(isOfOtherCluster({ name: 'prod' }, { uid: 'uid-1' })).toBe(true);
  });
});
