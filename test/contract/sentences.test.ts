import { describe, expect, it } from '@jest/globals';
import * as sentences from '../../src/contract/sentences.ts';

const { recheckTimer, waitingFor } = sentences;

describe('a sentence that is recognised where it is read', () => {
  it('says what is waited for', () => {
    expect(waitingFor('Job shop/build to end')).toBe('waiting for Job shop/build to end');
    expect(sentences.whatIsWaitedFor(waitingFor('Job shop/build to end'))).toBe('Job shop/build to end');
    expect(sentences.whatIsWaitedFor('there are 2 Pods')).toBe('there are 2 Pods');
  });

  it('names a timer', () => {
    expect(sentences.whyRechecked(recheckTimer(waitingFor('Pods to end')))).toBe('waiting for Pods to end');
    expect(sentences.isRetryAfterTimer(sentences.RETRY_AFTER_TIMER)).toBe(true);
    expect(sentences.isGraceTimer(sentences.GRACE_TIMER)).toBe(true);
    for (const isOther of [sentences.isRetryAfterTimer, sentences.isGraceTimer])
      expect(isOther(recheckTimer('Pods'))).toBe(false);
  });
});
