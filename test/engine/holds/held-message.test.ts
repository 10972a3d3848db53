import { describe, expect, it } from '@jest/globals';
import type { ApprovalAnswer } from '../../../src/engine/holds/control.ts';
import { answerInWords, heldMessage, isAboutPlan, pausedBy } from '../../../src/engine/holds/held-message.ts';

describe('what is said of a step that is held', () => {
  it('names the plan', () => {
    const message = 'awaiting approval to delete 2 Pods (web-pod-a, web-pod-b)';
    const said = heldMessage({ message, would: 'deletePods: there are 3 Pods', plan: '2-3f9c2a1b' });
    expect(said).toBe(`${message}; on hold: deletePods: there are 3 Pods; plan 2-3f9c2a1b`);
    expect(isAboutPlan(said, '2-3f9c2a1b')).toBe(true);
    expect(isAboutPlan(said, '3-3f9c2a1b')).toBe(false);
  });

  it('says who has paused', () => {
    expect(pausedBy('resource')).toBe('paused by the annotation durable-operator.dev/paused');
    expect(pausedBy('Namespace')).toBe(
      'paused by the annotation durable-operator.dev/paused of its Namespace',
    );
  });

  it('says who has rejected, and why', () => {
    const rejected: ApprovalAnswer = {
      plan: '2-3f9c2a1b',
      is: 'rejected',
      by: 'alice',
      because: 'not today',
    };
    const checked = { areApproversChecked: true };
    expect(answerInWords(rejected, checked)).toBe('rejected by alice: not today');
    expect(answerInWords({ ...rejected, by: '' }, checked)).toBe(
      'rejected; who did is not checked; reason: not today',
    );
  });

  it('does not believe a name that nobody checks', () => {
    const approved: ApprovalAnswer = {
      plan: '2-3f9c2a1b',
      is: 'approved',
      by: 'the-ceo',
      because: 'I say so',
    };
    expect(answerInWords(approved, {})).toBe(
      'approved; who did is not checked; said to be the-ceo; reason: I say so',
    );
    expect(answerInWords({ ...approved, by: '', because: '' }, {})).toBe('approved; who did is not checked');
  });
});
