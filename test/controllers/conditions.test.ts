import { describe, expect, it } from '@jest/globals';
import { refusalWords } from '../../src/controllers/refusal-words.ts';
import { conditionsIn, RECONCILING_REASONS } from '../../src/controllers/condition.ts';
import { fieldsOf } from '../../src/controllers/fields.ts';
import { BUILD_REASONS } from '../../src/controllers/git-build/reasons.ts';
import { POD_SET_REASONS } from '../../src/controllers/pod-set/reasons.ts';
import { STATES, type State } from '../support/states.ts';

const conditionsOf = ({ object }: State) => conditionsIn(fieldsOf(object['status'])['conditions']);
const isTrue = (state: State, type: string) =>
  conditionsOf(state).some((each) => each.type === type && each.status === 'True');

describe('the condition Reconciling', () => {
  it.each(STATES.filter((state) => conditionsOf(state).some(({ type }) => type === 'Ready')))(
    'is True exactly while neither Ready nor Stalled is: $name',
    (state) => {
      const types = conditionsOf(state).map(({ type }) => type);
      expect(types.slice(0, 3)).toEqual(['Ready', 'Stalled', 'Reconciling']);
      expect(isTrue(state, 'Reconciling')).toBe(!isTrue(state, 'Ready') && !isTrue(state, 'Stalled'));
    },
  );

  it('says what Ready says while it is True', () => {
    for (const state of STATES.filter((each) => isTrue(each, 'Reconciling'))) {
      const [ready, , reconciling] = conditionsOf(state);
      expect(reconciling).toMatchObject({ reason: ready?.reason, message: ready?.message });
    }
  });
});

describe('the words of a refusal', () => {
  it.each([
    ['POST pods: 403 "web-x": used 1', 'POST pods: 403 "web-y": used 22', true],
    ['denied: no owner, no limits', 'denied: no limits, no owner', true],
    ['denied (request 3f-9)', 'denied (request 4a-1)', true],
    ['denied: no owner', 'denied: no limits', false],
    ['denied: no owner', 'denied: no owner, no limits', false],
  ])('%j and %j are the same: %j', (reported, refusal, isSame) => {
    expect(refusalWords(reported, refusal)).toBe(isSame ? reported : refusal);
    expect(refusalWords(undefined, refusal)).toBe(refusal);
  });
});

describe('the list of reasons', () => {
  it.each([
    ['PodSet', POD_SET_REASONS],
    ['Xxx', BUILD_REASONS],
  ])('has those that a %s comes to have, and no others', (kind, rows) => {
    const listed = [...rows, ...RECONCILING_REASONS].map(({ type, status, reason }) => [
      type,
      status,
      reason,
    ]);
    const found = STATES.filter(({ object }) => object.kind === kind)
      .flatMap(conditionsOf)
      .filter(({ type }) => type === 'Ready' || type === 'Stalled' || type === 'Reconciling')
      .filter(({ type, status }) => type !== 'Reconciling' || status === 'False')
      .map(({ type, status, reason }) => [type, status, reason]);
    expect(new Set(found.map(String))).toEqual(new Set(listed.map(String)));
  });
});
