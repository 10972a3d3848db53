import { describe, expect, it } from '@jest/globals';
import { percentile } from '../../bench/percentiles.ts';

describe('a percentile', () => {
  it('is the value at the nearest rank, whatever the order', () => {
    const values = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect([percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1)]).toEqual([50, 99, 100]);
  });

  it('is one of the values, never between two', () => {
    expect(percentile([10, 20], 0.5)).toBe(10);
    expect(percentile([10, 20], 0.51)).toBe(20);
  });

  it('compares values as numbers', () => {
    expect(percentile([9, 10, 100], 0.5)).toBe(10);
  });

  it('of few values is the largest at 99 %, and of none is not a number', () => {
    expect(percentile([3, 1, 2], 0.99)).toBe(3);
    expect(percentile([], 0.5)).toBeNaN();
  });
});
