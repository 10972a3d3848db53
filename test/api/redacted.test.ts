import { describe, expect, it } from '@jest/globals';
import { redacted } from '../../src/api/redacted.ts';

describe('the redaction of credentials', () => {
  it.each([
    ['https://u:s3cret@h/x', 'https://h/x'],
    ['ssh://git@h:22/y, mail@h', 'ssh://h:22/y, mail@h'],
    ['https://h/x.git?private_token=s3cret&a=s3cret', 'https://h/x.git?[redacted]'],
    ['https://u:s3cret@h/x?access_token=s3cret#s3cret is wrong', 'https://h/x?[redacted] is wrong'],
    ['git@h:x?token=s3cret', 'git@h:x?token=[redacted]'],
    ["'https://h/?s3cret': 'https://h/y?s3cret'", "'https://h/?[redacted]': 'https://h/y?[redacted]'"],
    ['.data.pin: expected string, got &value.valueUnstructured{Value:1234}', '.data.pin: expected string'],
    ['.data: expected map, got &{1234}', '.data: expected map'],
    ['is this a question? yes & no', 'is this a question? yes & no'],
    ['make CC=gcc --jobs=2', 'make CC=gcc --jobs=2'],
  ])('makes of %j %j', (text, expected) => {
    expect(redacted(text)).toBe(expected);
  });

  it('reads each part of a text once, however many URLs it seems to have', () => {
    const endless = '://'.repeat(300_000);
    expect(redacted(endless)).toBe(endless);
  });
});
