import { describe, expect, it } from '@jest/globals';
import { asSummary } from '../../workflows/summary.ts';

describe('the summary of an activity or timer', () => {
  it.each(['a', 'é', '…', '😀'])('is one that Temporal takes, of %s', (character) => {
    const bytes = Buffer.byteLength(character);
    const fits = character.repeat(240 / bytes);
    expect(asSummary(fits)).toBe(fits);
    expect(asSummary(`${fits}a`)).toBe(`${fits}…`);
  });
});
