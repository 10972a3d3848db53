import { describe, expect, it } from '@jest/globals';
import { childName, labelSelectorText, parseDuration } from '../../src/api/index.ts';

describe('the name of a child', () => {
  it('is that of its parent with what it is', () => {
    expect(childName('web', 'backup')).toBe('web-backup');
    expect(childName('w'.repeat(56), 'backup')).toBe(`${'w'.repeat(56)}-backup`);
  });

  it.each([
    ['a long parent', 'w'.repeat(253), 'backup', 63],
    ['a parent that would end in a dash', `${'w'.repeat(44)}-----${'x'.repeat(60)}`, 'backup', 63],
    ['a long suffix', 'web', 's'.repeat(80), 63],
    ['another limit', 'w'.repeat(253), 'backup', 253],
    ['little room', 'w'.repeat(20), 'backup', 20],
  ])('is cut off where it is too long, and a name all the same: %s', (_, parent, suffix, max) => {
    const name = childName(parent, suffix, max);
    expect(name.length).toBeLessThanOrEqual(max);
    expect(name).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
    expect(childName(parent, suffix, max)).toBe(name);
    expect(childName(`${parent}2`, suffix, max)).not.toBe(name);
    expect(childName(parent, `${suffix}2`, max)).not.toBe(name);
  });

  it('has a form that never changes: objects have it', () => {
    expect(childName('w'.repeat(60), 'backup')).toBe(
      'wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww-2e0f667765-backup',
    );
  });
});

describe('the text of a selector', () => {
  it('is of labels what selects all of them', () => {
    expect(labelSelectorText({ app: 'web', tier: '' })).toBe('app=web,tier=');
    expect(labelSelectorText({})).toBe('');
  });
});

describe('a duration', () => {
  it('is in milliseconds, and undefined where the text is none', () => {
    expect([parseDuration('1h30m'), parseDuration('soon')]).toEqual([5_400_000, undefined]);
  });
});
