import { describe, expect, it } from '@jest/globals';
import { rounded, table } from '../../bench/table.ts';

describe('a table', () => {
  it('has text to the left and numbers to the right, in columns as wide as their widest cell', () => {
    const rows = [
      ['at rest', 5],
      ['idle', 1234],
    ];
    expect(table(['case', 'n'], rows).split('\n')).toEqual([
      '| case    |    n |',
      '| ------- | ---: |',
      '| at rest |    5 |',
      '| idle    | 1234 |',
    ]);
  });

  it('leaves a cell empty where nothing was measured', () => {
    expect(
      table(['n'], [[undefined], [Number.NaN], [1]])
        .split('\n')
        .slice(2),
    ).toEqual(['|     |', '|     |', '|   1 |']);
  });
});

describe('a figure', () => {
  it('has one decimal below 100 and none above', () => {
    expect([rounded(3.14159), rounded(99.94), rounded(1234.5678)]).toEqual([3.1, 99.9, 1235]);
  });
});
