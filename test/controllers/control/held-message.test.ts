import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../../../src/contract/control.ts';
import * as held from '../../../src/controllers/control/held-message.ts';

const { answerInWords, heldMessage, pausedBy } = held;

describe('what is said of a step that is held', () => {
  it('names the plan, and is read again', () => {
    const because = 'awaiting approval to delete 2 Pods (web-pod-a, web-pod-b)';
    const message = heldMessage({ because, would: 'deletePods: there are 3 Pods', plan: '2-3f9c2a1b' });
    expect(message).toBe(`${because}; held is deletePods: there are 3 Pods; plan 2-3f9c2a1b`);
    expect(held.planIn(message)).toBe('2-3f9c2a1b');
    expect(held.planIn(heldMessage({ because, would: 'deletePods: there are 3 Pods' }))).toBeUndefined();
  });

  it('says who has paused', () => {
    expect(pausedBy('resource')).toBe('paused by the annotation durable-operator.dev/paused');
    expect(held.isPausedByNamespace(pausedBy('Namespace'))).toBe(true);
    expect(held.isPausedByNamespace(pausedBy('resource'))).toBe(false);
  });

  it('says who has rejected, and why', () => {
    const rejected: Answer = { plan: '2-3f9c2a1b', is: 'rejected', by: 'alice', because: 'not today' };
    expect(answerInWords(rejected)).toBe('rejected by alice: not today');
    expect(answerInWords({ ...rejected, by: '', because: '' })).toBe('rejected by somebody');
    expect(held.isRejection(answerInWords(rejected))).toBe(true);
    expect(held.isRejection('awaiting approval to delete 2 Pods')).toBe(false);
  });
});
