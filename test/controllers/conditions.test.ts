import { describe, expect, it } from '@jest/globals';
import { refusalWords } from '../../src/controllers/refusal-words.ts';
import {
  conditionsAfter,
  conditionsIn,
  generationIn,
  RECONCILING_REASONS,
  type Condition,
} from '../../src/controllers/condition.ts';
import { fieldsOf, numberOf, textOf } from '../../src/controllers/fields.ts';
import { BUILD_REASONS } from '../../src/controllers/git-build/reasons.ts';
import { POD_SET_REASONS } from '../../src/controllers/pod-set/reasons.ts';
import { faultsOf, propertyOf, schemaIn } from '../support/bad-input/schema.ts';
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
    ['denied (request a3f)', 'denied (request b4c)', true],
    ['exceeded quota, used: pods=5', 'exceeded quota, used: pods=5, cpu=2', true],
    ['denied: no owner', 'denied: no limits', false],
    ['denied: no owner', 'denied: no owner, no limits', false],
    ['denied: not now', 'denied: not won', false],
    ['denied: not ready', 'denied: notready', false],
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

const CONDITION: Condition = {
  type: 'Theirs',
  status: 'Unknown',
  observedGeneration: 3,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  reason: 'Odd',
  message: 'words of theirs',
};

/** Whoever writes a status with a condition that the schema refuses is refused as well. */
describe('the conditions that are read of a status', () => {
  const schema = propertyOf(schemaIn('podsets.yaml'), 'status', 'conditions');

  it.each<[field: keyof Condition, value: string]>([
    ['type', 'A'],
    ['type', 'Disk-1_full.x'],
    ['type', 'a/A'],
    ['type', 'a.b/A'],
    ['type', 'conditions.my-example.com/Theirs'],
    ['reason', 'A'],
    ['reason', 'Odd:1,even_'],
    ['lastTransitionTime', '2026-01-01T00:00:00.123456Z'],
    ['lastTransitionTime', '2026-01-01T00:00:00+02:00'],
    ['lastTransitionTime', '2024-02-29T23:59:59Z'],
    ['lastTransitionTime', '2026-01-01T00:00:00.5-05:30'],
  ])('are those that the schema takes: %s %s', (field, value) => {
    const stored = [{ ...CONDITION, [field]: value }];
    expect(faultsOf(schema, stored)).toEqual([]);
    expect(conditionsIn(stored)).toEqual(stored);
  });

  it.each<[field: keyof Condition, value: unknown]>([
    ['type', undefined],
    ['type', 7],
    ['type', ''],
    ['type', '-Theirs'],
    ['type', 'Theirs-'],
    ['type', 'Example.com/Theirs'],
    ['type', 'example..com/Theirs'],
    ['type', 'example.com/'],
    ['status', undefined],
    ['status', true],
    ['reason', undefined],
    ['reason', '1Odd'],
    ['reason', 'Odd:'],
    ['lastTransitionTime', undefined],
    ['lastTransitionTime', null],
    ['lastTransitionTime', 'yesterday'],
    ['lastTransitionTime', 'Jan 1, 2026'],
    ['lastTransitionTime', '2026-01-01T00:00:00'],
    ['lastTransitionTime', '2026-13-01T00:00:00Z'],
    ['lastTransitionTime', '2026-02-30T00:00:00Z'],
    ['lastTransitionTime', '2026-01-01T24:00:00Z'],
    // JavaScript's years may have six digits.
    ['lastTransitionTime', '+002026-01-01T00:00:00Z'],
  ])('are not those that it refuses: %s %j', (field, value) => {
    const stored = [
      { ...CONDITION, [field]: value },
      { ...CONDITION, type: 'Other' },
    ];
    expect(faultsOf(schema, stored)).not.toEqual([]);
    expect(conditionsIn(stored)).toEqual([{ ...CONDITION, type: 'Other' }]);
  });

  it.each<[field: keyof Condition, most: number]>([
    ['type', 316],
    ['reason', 1024],
  ])('are those whose %s has at most %i characters', (field, most) => {
    const stored = [most, most + 1].map((length) => ({ ...CONDITION, [field]: 'T'.repeat(length) }));
    expect(stored.map((each) => faultsOf(schema, [each]).length)).toEqual([0, 1]);
    expect(conditionsIn(stored)).toEqual(stored.slice(0, 1));
  });

  it('are the first of each type: the schema refuses another of the same', () => {
    const stored = [CONDITION, { ...CONDITION, type: 'Other' }, { ...CONDITION, reason: 'Again' }];
    expect(faultsOf(schema, stored)).not.toEqual([]);
    expect(conditionsIn(stored)).toEqual(stored.slice(0, 2));
  });
});

describe('what is read of a field that no schema has checked', () => {
  it.each([0, 1, Number.MAX_SAFE_INTEGER])('is the generation %j', (generation) => {
    expect(generationIn(generation)).toBe(generation);
  });

  it.each([-1, 1.5, 2 ** 53, '1', null, undefined])('is no generation where it is %j', (value) => {
    expect(generationIn(value)).toBeUndefined();
  });

  it('is a text or a number as it is, and never one for the other', () => {
    expect([textOf('7'), textOf(7), numberOf(7), numberOf('7')]).toEqual(['7', undefined, 7, undefined]);
  });
});

describe('the conditions that are written', () => {
  it('have each the time at which its own status became what it is', () => {
    const [monday, tuesday, now] = ['2026-01-05T00:00:00Z', '2026-01-06T00:00:00Z', '2026-01-07T00:00:00Z'];
    const before: readonly Condition[] = [
      { ...CONDITION, type: 'Stalled', status: 'False', lastTransitionTime: monday },
      { ...CONDITION, type: 'Ready', status: 'False', lastTransitionTime: tuesday },
      { ...CONDITION, type: 'Reconciling', status: 'False', lastTransitionTime: monday },
    ];
    const found = { status: 'False', reason: 'New', message: 'of now' } as const;
    const findings = [
      { ...found, type: 'Ready' },
      { ...found, type: 'Stalled' },
      { ...found, type: 'Reconciling', status: 'True' },
    ] as const;
    const after = conditionsAfter(before, findings, { generation: 4, now });
    expect(after.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ['Ready', tuesday],
      ['Stalled', monday],
      ['Reconciling', now],
    ]);
  });
});
