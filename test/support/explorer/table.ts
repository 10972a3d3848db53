import { describe, expect, it } from '@jest/globals';
import { exploreSystem } from '../../../testing/explorer/explorer.ts';
import { OperatorModel } from '../../../testing/explorer/operator.ts';
import type { Disturbed } from '../../../testing/explorer/scenario.ts';
import type { Delivery } from '../../../testing/explorer/watch.ts';
import type { World } from '../../../testing/explorer/world.ts';

/** More than any world of the tables takes: one that has grown fails by this, and not by its time. */
const STATES_MAX = 40_000;

/** What disturbs, each at any moment and as often as it is named: `scale`, `scale + crash`, `scale + scale`. */
export type Disturbance = string;

/** Nobody disturbs. */
export const NOTHING: Disturbance = 'nothing';

export interface Row {
  readonly world: World;
  /** How often a watch, the watcher or a run falls behind all others; undefined: all goes on in any order. */
  readonly slowness?: number;
  /** Default: one. */
  readonly processes?: 'one' | 'two';
  /** Default: one by one. */
  readonly delivery?: Delivery;
  readonly after: readonly Disturbance[];
}

const OF_WORKERS = ['crash', 'forget', 'abandon', 'error', 'late', 'linger'];
const OF_SIGNALS = ['restart', 'duplicate', 'outage'];
/** Those that may happen in every world, whatever else goes on there. */
export const FAULTS: readonly Disturbance[] = [...OF_WORKERS, ...OF_SIGNALS];

/** Each of some with each of others. */
export function pairs(some: readonly Disturbance[], others: readonly Disturbance[]): readonly Disturbance[] {
  return some.flatMap((one) => others.map((other) => `${one} + ${other}`));
}

/** Each with each, itself included. */
export function twoOf(names: readonly Disturbance[]): readonly Disturbance[] {
  return names.flatMap((one, place) => pairs([one], names.slice(place)));
}

export function but(all: readonly Disturbance[], ...without: readonly Disturbance[]): readonly Disturbance[] {
  return all.filter((each) => !without.includes(each));
}

/** One test for each disturbance of each row. */
export function exploreAll(rows: Readonly<Record<string, Row>>): void {
  describe.each(Object.entries(rows))(
    '%s: it converges, and does nothing twice',
    (_, { world, after, ...how }) => {
      const operator = new OperatorModel(world, how);
      it.each(after)('after %s', (disturbance) => exploreOne(operator, how, disturbance));
    },
  );
}

async function exploreOne(operator: OperatorModel, how: Disturbed, disturbance: Disturbance): Promise<void> {
  const names = disturbance === NOTHING ? [] : disturbance.split(' + ');
  const budget: Record<string, number> = {};
  for (const name of names) budget[name] = (budget[name] ?? 0) + 1;
  const { disturbances } = await exploreSystem(operator.disturbed({ ...how, budget }), {
    statesMax: STATES_MAX,
  });
  // What never happens in a world is not said to be survived.
  expect([...disturbances].sort()).toEqual(Object.keys(budget).sort());
}
