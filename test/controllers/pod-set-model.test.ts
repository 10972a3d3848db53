import { describe, expect, it, jest } from '@jest/globals';
import {
  aWorld,
  FAULTS,
  movesByThemselves,
  needsWork,
  shortcomings,
  textOf,
  type Fault,
  type Move,
  type World,
} from '../support/pod-set-model.ts';

// Tens of thousands of worlds, which a busy machine takes its time for.
jest.setTimeout(60_000);

const ours = (name: string) => ({ name, owner: 'ours', matches: true, life: 'available' }) as const;
const orphan = (name: string) => ({ ...ours(name), owner: 'nobody' }) as const;
const foreign = { ...ours('foreign'), owner: 'other' } as const;

/** One world, and how it came about. */
interface Visit {
  readonly text: string;
  readonly from: Visit | undefined;
  readonly by: string;
  /** What it comes to where nothing goes wrong any more, as far as that was asked. */
  end: string | undefined;
}

type Visits = ReadonlyMap<string, Visit>;

/** Three times as many as the largest exploration has. */
const MOST_WORLDS = 110_000;

/** Every world that can be reached. */
function explore(start: World): Visits {
  const first = textOf(start);
  const visits = new Map<string, Visit>([[first, { text: first, from: undefined, by: '', end: undefined }]]);
  // A Map is iterated in the order of insertion, and what is inserted meanwhile is visited, too.
  for (const visit of visits.values()) {
    if (visits.size > MOST_WORLDS)
      throw new Error(`more worlds than ${MOST_WORLDS}: something goes on for ever`);
    for (const [by, text] of successors(visit.text)) {
      if (!visits.has(text)) visits.set(text, { text, from: visit, by, end: undefined });
    }
  }
  return visits;
}

function* successors(text: string): Generator<readonly [string, string]> {
  const world = parse(text);
  for (const [name, move] of movesByThemselves(world)) yield [name, after(text, move)];
  for (const fault of new Set(world.faults)) {
    for (const [name, move] of FAULTS[fault](world)) {
      const suffer = (it: World) => {
        move(it);
        it.faults.splice(it.faults.indexOf(fault), 1);
      };
      yield [name, after(text, suffer)];
    }
  }
}

function after(text: string, move: Move): string {
  const world = parse(text);
  move(world);
  return textOf(world);
}

function parse(text: string): World {
  // What was written by JSON.stringify, from a World.
  return JSON.parse(text) as World;
}

const MOST_STEPS = 60;

/** The world in the end, where nothing goes wrong any more. */
function endOf(text: string, visits: Visits = new Map()): string {
  const onTheWay: Visit[] = [];
  let at = text;
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const visit = visits.get(at);
    const [move] = movesByThemselves(parse(at)).values();
    const end = visit?.end ?? (move === undefined ? at : undefined);
    if (visit !== undefined) onTheWay.push(visit);
    if (end !== undefined) {
      for (const each of onTheWay) each.end = end;
      return end;
    }
    if (move !== undefined) at = after(at, move);
  }
  throw new Error('it never ends');
}

/** Fails with the way to the first world, and so a shortest one, of which something does not hold. */
function hold(visits: Visits, look: (world: World, end: World) => unknown): void {
  for (const visit of visits.values()) {
    const found = attempt(() => look(parse(visit.text), parse(endOf(visit.text, visits))));
    if (found !== undefined) expect({ found, way: wayTo(visit) }).toBeUndefined();
  }
}

function attempt(look: () => unknown): unknown {
  try {
    return look();
  } catch (error) {
    return String(error);
  }
}

function wayTo({ from, by }: Visit): readonly string[] {
  return from === undefined ? [] : [...wayTo(from), by];
}

/** The foreign Pod as it was, and all as it is to be. */
function isWell(_: World, end: World): unknown {
  const wrong = [...shortcomings(end)];
  if (needsWork(end)) wrong.push('a run is still needed');
  const other = end.pods.find(({ name }) => name === 'foreign');
  if (other?.version !== 1 || other.owner !== 'other') wrong.push('a Pod of another controller was touched');
  return wrong.length === 0 ? undefined : wrong;
}

/** Where a run begins by looking, as much is created and deleted as is needed, and no more. */
function isFrugal(world: World, end: World): unknown {
  const isBeginning = world.givenUp === null && (world.main === null || world.main.at === 'list');
  if (!isBeginning || world.beingDeleted) return undefined;
  const counting = world.pods.filter(
    ({ owner, matches, life }) => owner !== 'other' && matches && life === 'available',
  ).length;
  const made = { created: end.created - world.created, deleted: end.deleted - world.deleted };
  const needed = {
    created: Math.max(0, world.replicas - counting),
    deleted: Math.max(0, counting - world.replicas),
  };
  return JSON.stringify(made) === JSON.stringify(needed) ? undefined : { made, needed };
}

const START = {
  'two Pods are to be created': { replicas: 2, pods: [foreign] },
  'two of three Pods are to be deleted': { replicas: 1, pods: [ours('a'), ours('b'), ours('c'), foreign] },
  'one is there, one to adopt and one too many': {
    replicas: 2,
    pods: [ours('a'), orphan('b'), ours('c'), foreign],
  },
} as const;
type Start = keyof typeof START;

function startWith(start: Start, faults: readonly Fault[]): World {
  const { replicas, pods } = START[start];
  return { ...aWorld(replicas, pods), faults: [...faults] };
}

describe('a run whose worker is killed, or that gives up an attempt that still writes', () => {
  it.each<[Start]>([
    ['two Pods are to be created'],
    ['two of three Pods are to be deleted'],
    ['one is there, one to adopt and one too many'],
  ])('creates and deletes as much as if nothing had happened, where %s', (start) => {
    const undisturbed = parse(endOf(textOf(startWith(start, []))));
    hold(explore(startWith(start, ['crash', 'abandon', 'time'])), (world, end) => {
      const { created, deleted } = end;
      const isSame = created === undisturbed.created && deleted === undisturbed.deleted;
      return isSame ? isWell(world, end) : { created, deleted };
    });
  });
});

describe('a PodSet', () => {
  it.each<[Start, Fault[]]>([
    ['two Pods are to be created', ['crash', 'scale']],
    ['two Pods are to be created', ['crash', 'relabel', 'delete']],
    ['two Pods are to be created', ['abandon', 'scale']],
    ['two Pods are to be created', ['abandon', 'relabel']],
    ['two Pods are to be created', ['time', 'fail', 'remove']],
    ['two of three Pods are to be deleted', ['crash', 'scale', 'orphan']],
    ['two of three Pods are to be deleted', ['abandon', 'delete']],
    ['two of three Pods are to be deleted', ['time', 'fail', 'remove']],
    ['one is there, one to adopt and one too many', ['crash', 'relabel', 'delete']],
    ['one is there, one to adopt and one too many', ['abandon', 'orphan']],
  ])('comes to the wanted end, frugally, where %s, whatever comes between: %j', (start, faults) => {
    hold(explore(startWith(start, faults)), (world, end) => isWell(world, end) ?? isFrugal(world, end));
  });
});
