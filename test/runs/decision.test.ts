import { describe, expect, it } from '@jest/globals';
import {
  converged,
  isObserve,
  isRest,
  isStep,
  nextInHistory,
  stalled,
  waitFor,
  type NextStep,
  type DecisionEvent,
  type Held,
} from '../../src/runs/decision.ts';
import { aCause } from '../support/causes.ts';

const EVENT: DecisionEvent = { type: 'Warning', reason: 'TooLong', action: 'AddLabel', note: 'too long' };
const STEP = {
  do: 'createPods',
  because: '3 Pods are missing',
  writes: 3,
  manifest: { secret: 'text' },
  event: EVENT,
};
const HELD: Held = {
  do: 'held',
  by: 'pause',
  reason: 'Paused',
  message: 'paused by the annotation durable-operator.dev/paused',
  would: 'createPods: 3 Pods are missing',
};
const OBSERVE: NextStep = { do: 'observe', because: 'the node is not known' };

describe('a decision', () => {
  it.each<[NextStep, kind: string]>([
    [STEP, 'step'],
    [OBSERVE, 'observe'],
    [converged('up to date'), 'rest'],
    [waitFor('the Job to end', 1_000), 'rest'],
    [stalled(aCause('invalid')), 'rest'],
    [HELD, 'rest'],
  ])('is either a step, an observation or a rest: %j', (decision, kind) => {
    const kinds = { step: isStep(decision), observe: isObserve(decision), rest: isRest(decision) };
    expect(kinds).toEqual({ step: false, observe: false, rest: false, [kind]: true });
  });
});

describe('what history keeps of a decision', () => {
  it('is the name, the reason and the number of writes of a step, and nothing of what it needs', () => {
    expect(nextInHistory(STEP)).toEqual({ do: 'createPods', because: '3 Pods are missing', writes: 3 });
  });

  it('is no number of writes where the step names none, nor where it only observes', () => {
    expect(Object.keys(nextInHistory({ do: 'createJob', because: 'it is missing' }))).toEqual([
      'do',
      'because',
    ]);
    expect(nextInHistory(OBSERVE)).toStrictEqual(OBSERVE);
  });

  it('is what holds a step, which step, and the plan that awaits approval, where it does', () => {
    const awaiting: Held = {
      ...HELD,
      by: 'approval',
      reason: 'AwaitingApproval',
      message: 'awaiting approval',
      plan: '2-3f9c2a1b',
    };
    expect(nextInHistory(awaiting)).toStrictEqual(awaiting);
    expect(nextInHistory(HELD)).toStrictEqual(HELD);
  });

  it('is not the Event, which is recorded by the activity', () => {
    expect(nextInHistory(stalled(aCause('too long'), { event: EVENT, recheckMs: 7 }))).toEqual(
      stalled(aCause('too long'), { recheckMs: 7 }),
    );
    expect(nextInHistory({ ...converged('up to date'), event: EVENT })).toEqual(converged('up to date'));
    expect(nextInHistory({ ...waitFor('the Job', 7), event: EVENT })).toEqual(waitFor('the Job', 7));
    expect(nextInHistory({ ...HELD, event: EVENT })).toEqual(HELD);
  });
});
