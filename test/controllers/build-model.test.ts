import { describe, expect, it, jest } from '@jest/globals';
import {
  aWorld,
  eventsIn,
  isDone,
  keyOf,
  Violation,
  type Event,
  type Faults,
  type World,
} from '../support/build-model.ts';

jest.setTimeout(120_000);

/** A pass of the operator has far fewer steps than this. */
const STEPS_MAX = 40;
/** So that a mistake in a bound ends the test, and not the machine. */
const STATES_MAX = 400_000;

interface State {
  readonly world: World;
  /** How it came about. */
  readonly from: State | undefined;
  readonly by: string;
  /** The states that lead here without a fault. */
  readonly before: State[];
  canEnd: boolean;
}

/** Every state that can come about. @throws Violation with the way to where a rule is broken */
function explore(begin: World): readonly State[] {
  const states = new Map<string, State>();
  const queue: State[] = [];
  const visit = (
    world: World,
    from: State | undefined,
    { what, isFault }: Pick<Event, 'what' | 'isFault'>,
  ) => {
    const key = keyOf(world);
    let state = states.get(key);
    if (state === undefined) {
      state = { world, from, by: what, before: [], canEnd: isDone(world) };
      states.set(key, state);
      queue.push(state);
      if (states.size > STATES_MAX) throw new Error('too many states');
    }
    if (from !== undefined && !isFault) state.before.push(from);
  };
  visit(begin, undefined, { what: 'the build is created', isFault: false });
  for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
    for (const event of eventsOf(state)) visit(event.after, state, event);
  }
  return [...states.values()];
}

function eventsOf(state: State): readonly Event[] {
  try {
    return eventsIn(state.world);
  } catch (error) {
    if (error instanceof Violation)
      throw new Error(`${error.message}, after ${wayTo(state)}`, { cause: error });
    throw error;
  }
}

function wayTo(state: State): string {
  const steps: string[] = [];
  for (let each: State | undefined = state; each !== undefined; each = each.from) steps.unshift(each.by);
  return steps.join(' → ');
}

/** Those from which no end can be reached, once nothing goes wrong any more. */
function stuck(states: readonly State[]): readonly State[] {
  const queue = states.filter(({ canEnd }) => canEnd);
  for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
    for (const before of state.before) {
      if (!before.canEnd) {
        before.canEnd = true;
        queue.push(before);
      }
    }
  }
  return states.filter(({ canEnd }) => !canEnd);
}

/** How many steps the operator makes by itself until it waits or ends. */
function stepsAlone(world: World): number {
  let current = world;
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    if (current.pass === undefined && steps > 0) return steps;
    const [own] = eventsIn(current);
    if (own === undefined) return steps;
    current = own.after;
  }
  return STEPS_MAX;
}

const CASES: [rule: string, faults: Partial<Faults>][] = [
  ['while nothing goes wrong', { deletions: 1 }],
  ['through two crashes, each after any write', { deletions: 1, crashes: 2 }],
  ['through a change of the binary at any time', { specs: ['y'], deletions: 1 }],
  ['through a change of the binary and a crash', { specs: ['y'], crashes: 1 }],
  ['through a change of the binary and back', { specs: ['y', 'x'] }],
  ['through a change of the Job name at any time', { specs: ['renamed'], deletions: 1 }],
  ['through an invalid spec and a valid one', { specs: ['invalid', 'y'], deletions: 1 }],
  ['through a failing build', { buildsFail: 1, specs: ['y'], deletions: 1 }],
  ['through a Job that somebody deletes at any time', { jobsDeleted: 1, buildsFail: 1, deletions: 1 }],
  ['through the loss of a node', { nodesGo: 1, deletions: 1, crashes: 1 }],
  ['through cleanups that fail', { cleanupsFail: 2, deletions: 1 }],
  ['through a cleanup of an old binary that fails', { cleanupsFail: 1, specs: ['y'] }],
];

describe('a build, whatever happens next,', () => {
  it.each(CASES)('keeps its rules and comes to an end: %s', (_, faults) => {
    const states = explore(aWorld(faults));
    expect(states.length).toBeGreaterThan(20);
    expect(stuck(states).map(wayTo).slice(0, 1)).toEqual([]);
    const tooLong = states.filter(({ world }) => world.pass === undefined && stepsAlone(world) >= STEPS_MAX);
    expect(tooLong.map(wayTo).slice(0, 1)).toEqual([]);
  });

  it('never touches the Job of somebody else', () => {
    const states = explore(
      aWorld({ specs: ['renamed'], deletions: 1, crashes: 1 }, ['job', 'other-job-delete']),
    );
    expect(states.every(({ world }) => world.jobs.some(({ uid }) => uid === 'foreign-job'))).toBe(true);
    expect(
      states.every(({ world }) => world.jobs.some(({ uid }) => uid === 'foreign-other-job-delete')),
    ).toBe(true);
  });
});
