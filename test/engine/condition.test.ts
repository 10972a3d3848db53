import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  conditionsAfter,
  conditionsIn,
  generationIn,
  RECONCILING_REASONS,
  type Condition,
} from '../../src/engine/condition.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { BUILD_REASONS } from '../../src/controllers/git-build/reasons.ts';
import { BAD_CONDITIONS, CONDITION, GOOD_CONDITIONS } from '../support/odd-values.ts';
import { STATES, type State } from '../support/states.ts';

const conditionsOf = ({ object }: State) => conditionsIn(fieldsOf(object['status'])['conditions']);
const isTrue = (state: State, type: string) =>
  conditionsOf(state).some((each) => each.type === type && each.status === 'True');

describe('the condition Reconciling', () => {
  it.each(STATES.filter((state) => conditionsOf(state).some(({ type }) => type === 'Ready')))(
    'is True exactly while something is left to do: $name',
    (state) => {
      const types = conditionsOf(state).map(({ type }) => type);
      expect(types.slice(0, 3)).toEqual(['Ready', 'Stalled', 'Reconciling']);
      const isOver =
        isTrue(state, 'Ready') || isTrue(state, 'Stalled') || state.name.includes(' of which a Pod ');
      expect(isTrue(state, 'Reconciling')).toBe(!isOver);
    },
  );

  it('says what Ready says while it is True', () => {
    for (const state of STATES.filter((each) => isTrue(each, 'Reconciling'))) {
      const [ready, , reconciling] = conditionsOf(state);
      expect(reconciling).toMatchObject({ reason: ready?.reason, message: ready?.message });
    }
  });
});

describe('the list of reasons', () => {
  it.each([
    ['PodSet', [...documented('PodSet'), ...RECONCILING_REASONS]],
    ['Xxx', [...BUILD_REASONS, ...RECONCILING_REASONS.filter(({ reason }) => reason !== 'NotReady')]],
  ])('has those that a %s comes to have, and no others', (kind, rows) => {
    const listed = rows.map(({ type, status, reason }) => [type, status, reason]);
    const found = STATES.filter(({ object }) => object.kind === kind)
      .flatMap(conditionsOf)
      .filter(({ type }) => type === 'Ready' || type === 'Stalled' || type === 'Reconciling')
      .filter(({ type, status }) => type !== 'Reconciling' || status === 'False')
      .map(({ type, status, reason }) => [type, status, reason]);
    expect(new Set(found.map(String))).toEqual(new Set(listed.map(String)));
  });

  /** As docs/conditions.md lists them by hand. */
  function documented(kind: string) {
    const page = readFileSync(join(import.meta.dirname, '../../docs/conditions.md'), 'utf8');
    const [, list = ''] = page.split(`<!-- reasons: ${kind} -->`);
    const [ours = ''] = list.split('<!-- end -->');
    const parts = ours.matchAll(/^`(\w+)` is `(\w+)`[^]*?(?=^`|$(?![^]))/gm);
    return [...parts].flatMap(([part, type, status]) =>
      [...part.matchAll(/^- `(\w+)`: /gm)].map(([, reason]) => ({ type, status, reason })),
    );
  }
});

/** Whoever writes a status with a condition that the schema refuses is refused as well: `e2e/bad-input`. */
describe('the conditions that are read of a status', () => {
  it.each(GOOD_CONDITIONS)('are those that the schema takes: $field $value', ({ field, value }) => {
    const stored = [{ ...CONDITION, [field]: value }];
    expect(conditionsIn(stored)).toEqual(stored);
  });

  it.each(BAD_CONDITIONS)('are not those that it refuses: $field $value', ({ field, value }) => {
    const other = { ...CONDITION, type: 'Other' };
    expect(conditionsIn([{ ...CONDITION, [field]: value }, other])).toEqual([other]);
  });

  it('are the first of each type: the schema refuses another of the same', () => {
    const stored = [CONDITION, { ...CONDITION, type: 'Other' }, { ...CONDITION, reason: 'Again' }];
    expect(conditionsIn(stored)).toEqual(stored.slice(0, 2));
  });

  it.each([-1, 1.5, 2 ** 53, '1', null, undefined])('are of no generation where it is %j', (value) => {
    expect(generationIn(value)).toBeUndefined();
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
