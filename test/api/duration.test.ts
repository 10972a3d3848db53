import { describe, expect, it } from '@jest/globals';
import { durationIn } from '../../src/ask/change/reconcile.ts';
import { durationOf, millisecondsIn } from '../../src/api/duration.ts';

describe('a duration', () => {
  it.each([
    ['3m', 180_000],
    ['500ms', 500],
    ['1h30m', 5_400_000],
    ['1.5m', 90_000],
    ['24d', 2_073_600_000],
    ['0s', 0],
  ])('%j is %d ms', (text, milliseconds) => {
    expect(millisecondsIn(text)).toBe(milliseconds);
  });

  it.each(['', '3', '-3m', ' 3m', '5 apples', '1e3m', '1.h', '3M', '1w', '3m\n'])('%j is none', (text) => {
    expect(millisecondsIn(text)).toBeUndefined();
  });
});

it.each(['500ms', '90s', '1m', '2h', '7d', '1500ms'])('%s is written again as it is', (text) => {
  expect(durationOf(millisecondsIn(text) ?? 0)).toBe(text);
});

describe('--timeout', () => {
  it('is a duration', () => {
    expect(durationIn('2m30s')).toBe(150_000);
  });

  it.each(['0s', 'soon'])('is not %j', (text) => {
    expect(() => durationIn(text)).toThrow('Write a duration such as 5m.');
  });
});
