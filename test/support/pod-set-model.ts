import { podSet as controller } from '../../src/controllers/pod-set/controller.ts';
import { decidePodSet, type PodSetStep } from '../../src/controllers/pod-set/decide.ts';
import {
  observed,
  type Observation,
  type SeenPodSet,
  type SeenStatus,
} from '../../src/controllers/pod-set/observation.ts';
import type { PodLife, SeenPod } from '../../src/controllers/pod-set/pod.ts';
import { NAMESPACE, NOW_MS, POD_SET_UID } from './pod-sets.ts';

/*
 * A world so small that all that can happen in it can be tried: one PodSet, a few Pods, the run at work on it,
 * and at most one attempt that was given up and still writes. Every read and every write is a step of its own,
 * between any two of which something may go wrong. What is decided is decided by the product's own code.
 */

export type OwnerOf = 'ours' | 'other' | 'nobody';

export interface ModelPod {
  readonly name: string;
  readonly uid: string;
  owner: OwnerOf;
  matches: boolean;
  life: PodLife;
  version: number;
}

/** A write, or a read by name, that is yet to be made. */
type Operation =
  | { readonly op: 'look' | 'delete' | 'adopt' | 'release'; readonly pod: string; readonly uid: string }
  | { readonly op: 'create' }
  /** The number of it. */
  | { readonly op: 'write status'; readonly status: number };

interface SeenModelPod extends SeenPod {
  readonly version: number;
}

/** Keeps values out of the worlds, which are compared and copied as text: a world has their numbers. */
class Memory<T> {
  readonly #numbers = new Map<string, number>();
  readonly #values: T[] = [];

  numberOf(value: T): number {
    const text = JSON.stringify(value);
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.#values.length);
    return this.#values.push(value) - 1;
  }

  valueOf(number: number): T {
    const value = this.#values[number];
    if (value === undefined) throw new Error(`nothing has the number ${number}`);
    return value;
  }
}

const observations = new Memory<Observation<SeenModelPod>>();
const statuses = new Memory<SeenStatus>();
/** By the number of the observation: the same leads to the same. */
const steps = new Map<number, PodSetStep<SeenModelPod>>();

function stepAfter(observation: number): PodSetStep<SeenModelPod> {
  const known = steps.get(observation);
  if (known !== undefined) return known;
  const step = decidePodSet(observations.valueOf(observation), NOW_MS);
  steps.set(observation, step);
  return step;
}

/** One attempt of the activity, as far as it got. */
interface Attempt {
  at: 'list' | 'get' | 'deciding';
  /** The number of it. */
  observation: number;
  podSetVersion: number;
  doing: Operation[];
  writes: number;
}

export interface World {
  replicas: number;
  generation: number;
  version: number;
  /** The number of it. */
  status: number;
  beingDeleted: boolean;
  pods: ModelPod[];
  /** Which run it is: its names are its own. */
  run: number;
  main: Attempt | null;
  givenUp: (Attempt & { readonly run: number }) | null;
  /** What may still go wrong, each as often as it is here. */
  faults: Fault[];
  uids: number;
  created: number;
  deleted: number;
}

/** A PodSet at rest but for its spec: the status knows its Pods. */
export function aWorld(replicas: number, pods: readonly Omit<ModelPod, 'version' | 'uid'>[]): World {
  const podNames = pods.filter(({ owner }) => owner === 'ours').map(({ name }) => name);
  return {
    replicas,
    generation: 1,
    version: 1,
    status: statuses.numberOf({ podNames, conditions: [] }),
    beingDeleted: false,
    pods: pods.map((pod) => ({ ...pod, uid: `uid-${pod.name}`, version: 1 })),
    run: 0,
    main: null,
    givenUp: null,
    faults: [],
    uids: 0,
    created: 0,
    deleted: 0,
  };
}

const NEW_ATTEMPT: Attempt = {
  at: 'list',
  observation: observations.numberOf(observed<SeenModelPod>('gone', [])),
  podSetVersion: 0,
  doing: [],
  writes: 0,
};

/** What may happen next. It changes the world that it is given. */
export type Move = (world: World) => void;
export type Moves = ReadonlyMap<string, Move>;

function seenPodSet({ replicas, generation, status, beingDeleted }: World): SeenPodSet {
  const identity = { namespace: NAMESPACE, name: 'web', uid: POD_SET_UID };
  return { ...identity, generation, beingDeleted, spec: { replicas }, status: statuses.valueOf(status) };
}

function seen(pod: ModelPod): SeenModelPod {
  const controllerUid = { ours: POD_SET_UID, other: 'uid-of-other', nobody: undefined }[pod.owner];
  const { name, uid, matches, life, version } = pod;
  return { name, uid, controllerUid, matches, life, version, ready: true, createdAtMs: 0 };
}

const verdicts = new Map<string, boolean>();

/** What the watch shows, once it shows everything: only Pods with the labels. */
export function needsWork(world: World): boolean {
  const pods = world.pods.filter(({ matches, owner }) => matches && owner !== 'other');
  const key = JSON.stringify([seenPodSet(world), pods]);
  const known = verdicts.get(key);
  if (known !== undefined) return known;
  const projection = { key: `${NAMESPACE}/web`, uid: POD_SET_UID, resourceVersion: '' };
  const children = pods.map((pod) => ({ ...projection, belongsTo: projection.key, pod: seen(pod) }));
  const verdict = controller.needsWork({ ...projection, podSet: seenPodSet(world) }, children).needsWork;
  verdicts.set(key, verdict);
  return verdict;
}

/** What goes on by itself. The order is that in which it goes on where nothing else happens. */
export function movesByThemselves(world: World): Moves {
  const moves = new Map<string, Move>();
  const { main, givenUp } = world;
  if (givenUp !== null) moves.set('the attempt that was given up goes on', (w) => goOn(w, 'givenUp'));
  if (main !== null) moves.set('the attempt goes on', (w) => goOn(w, 'main'));
  else if (needsWork(world)) moves.set('a run starts', start);
  if (world.pods.some(({ life }) => life === 'being-deleted'))
    moves.set('Pods that are being deleted go', reap);
  return moves;
}

export type Fault =
  'crash' | 'abandon' | 'time' | 'delete' | 'relabel' | 'orphan' | 'fail' | 'scale' | 'remove';

/** What may go wrong, and what somebody else may do. */
export const FAULTS: Readonly<Record<Fault, (world: World) => Moves>> = {
  crash: ({ main }) =>
    single(main?.at === 'deciding', 'the worker is killed', (w) => (w.main = { ...NEW_ATTEMPT })),
  abandon: ({ main, givenUp }) =>
    single(main !== null && givenUp === null, 'the attempt is given up', giveUp),
  time: ({ main }) =>
    single(
      main !== null && main.writes > 0 && !observations.valueOf(main.observation).timeIsUp,
      'the time of the pass is up',
      timeIsUp,
    ),
  delete: (world) =>
    forEachPod(world, 'is deleted by somebody', 'going', (pod) => (pod.life = 'being-deleted')),
  relabel: (world) => forEachPod(world, 'is relabelled', 'known', (pod) => (pod.matches = false)),
  orphan: (world) => forEachPod(world, 'is orphaned', 'owned', (pod) => (pod.owner = 'nobody')),
  fail: (world) => forEachPod(world, 'fails', 'going', (pod) => (pod.life = 'finished')),
  scale: (world) =>
    new Map(
      [0, 2]
        .filter((replicas) => replicas !== world.replicas)
        .map((replicas) => [`scaled to ${replicas}`, (w: World) => scale(w, replicas)] as const),
    ),
  remove: ({ beingDeleted }) =>
    single(!beingDeleted, 'the PodSet is deleted', (w) => {
      w.beingDeleted = true;
      w.version += 1;
    }),
};

function single(isPossible: boolean, name: string, move: Move): Moves {
  return isPossible ? new Map([[name, move]]) : new Map();
}

const CONCERNED: Readonly<Record<string, (pod: ModelPod, world: World) => boolean>> = {
  going: ({ life }) => life === 'available',
  owned: ({ owner }) => owner === 'ours',
  // One that neither the status nor the run at work knows is the documented exception: it is not released.
  known: ({ matches, life, name }, { status, run }) =>
    matches &&
    life === 'available' &&
    (statuses.valueOf(status).podNames.includes(name) || name.startsWith(`run-${run}-`)),
};

function forEachPod(world: World, what: string, which: string, change: (pod: ModelPod) => void): Moves {
  const concerned = world.pods.filter((pod) => pod.owner !== 'other' && CONCERNED[which]?.(pod, world));
  return new Map(
    concerned.map(({ name }) => [
      `${name} ${what}`,
      (w: World) => {
        const pod = podNamed(w, name);
        if (pod === undefined) return;
        change(pod);
        pod.version += 1;
      },
    ]),
  );
}

function start(world: World): void {
  world.run += 1;
  world.main = { ...NEW_ATTEMPT };
}

function giveUp(world: World): void {
  if (world.main !== null) world.givenUp = { ...world.main, run: world.run };
  world.main = { ...NEW_ATTEMPT };
}

function timeIsUp({ main }: World): void {
  if (main === null) return;
  note(main, { timeIsUp: true });
  main.doing = main.doing.filter(({ op }) => op === 'look' || op === 'release');
}

function scale(world: World, replicas: number): void {
  world.replicas = replicas;
  world.generation += 1;
  world.version += 1;
}

function reap(world: World): void {
  world.pods = world.pods.filter(({ life }) => life !== 'being-deleted');
}

function goOn(world: World, who: 'main' | 'givenUp'): void {
  const attempt = world[who];
  if (attempt === null) return;
  switch (attempt.at) {
    case 'list':
      note(attempt, observed('gone', world.pods.filter(({ matches }) => matches).map(seen)));
      attempt.at = 'get';
      return;
    case 'get':
      note(attempt, { podSet: seenPodSet(world) });
      attempt.podSetVersion = world.version;
      attempt.at = 'deciding';
      return;
    case 'deciding':
      decideOrDo(world, who, attempt);
  }
}

/** A decision is no step of its own: nothing can come between it and its first write that could not come before. */
function decideOrDo(world: World, who: 'main' | 'givenUp', attempt: Attempt): void {
  if (attempt.doing.length === 0) {
    const step = stepAfter(attempt.observation);
    if (step.do === 'end') {
      end(world, who, step.because === 'time is up');
      return;
    }
    attempt.doing = operationsOf(step);
  }
  const [operation, ...rest] = attempt.doing;
  attempt.doing = rest;
  if (operation !== undefined) perform(world, attempt, { operation, run: runOf(world, who) });
}

function runOf(world: World, who: 'main' | 'givenUp'): number {
  return who === 'main' ? world.run : (world.givenUp?.run ?? 0);
}

function end(world: World, who: 'main' | 'givenUp', goesOn: boolean): void {
  if (who === 'givenUp') world.givenUp = null;
  else world.main = goesOn ? { ...NEW_ATTEMPT } : null;
}

function operationsOf(step: Exclude<PodSetStep<SeenModelPod>, { do: 'end' }>): Operation[] {
  switch (step.do) {
    case 'look':
      return step.names.map((pod) => ({ op: 'look', pod, uid: '' }));
    case 'release':
    case 'adopt':
      return step.pods.map(({ name: pod, uid }) => ({ op: step.do, pod, uid }));
    case 'tidy':
      return step.pods.map(({ name: pod, uid }) => ({ op: 'delete', pod, uid }));
    case 'shrink':
      return byName(step.available)
        .slice(0, step.by)
        .map(({ name: pod, uid }) => ({ op: 'delete', pod, uid }));
    case 'grow':
      return Array.from({ length: step.by }, () => ({ op: 'create' }));
    case 'write status':
      return [{ op: 'write status', status: statuses.numberOf(step.status) }];
  }
}

function byName(pods: readonly SeenModelPod[]): readonly SeenModelPod[] {
  return [...pods].sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface Performance {
  readonly operation: Operation;
  readonly run: number;
}

function perform(world: World, attempt: Attempt, { operation, run }: Performance): void {
  const { podSet } = observationOf(attempt);
  if (podSet === 'gone' || podSet.beingDeleted)
    throw new Error(`${operation.op} for a PodSet that was seen to go`);
  switch (operation.op) {
    case 'look':
      lookFor(world, attempt, operation.pod);
      return;
    case 'create':
      create(world, attempt, run);
      break;
    case 'delete':
      remove(world, attempt, operation);
      break;
    case 'adopt':
    case 'release':
      setOwner(world, attempt, operation);
      break;
    case 'write status':
      writeStatus(world, attempt, operation.status);
  }
  attempt.writes += 1;
}

function lookFor(world: World, attempt: Attempt, name: string): void {
  const pod = podNamed(world, name);
  note(attempt, { lookedFor: [...observationOf(attempt).lookedFor, name] });
  if (pod !== undefined) fold(attempt, seen(pod));
}

function create(world: World, attempt: Attempt, run: number): void {
  for (let ordinal = 0; ; ordinal += 1) {
    const name = `run-${run}-${ordinal}`;
    if (observationOf(attempt).pods.some((pod) => pod.name === name)) continue;
    const there = podNamed(world, name);
    if (there !== undefined && there.owner !== 'ours') continue;
    fold(attempt, seen(there ?? createNamed(world, name)));
    return;
  }
}

function createNamed(world: World, name: string): ModelPod {
  world.uids += 1;
  world.created += 1;
  const uid = `uid-${world.uids}`;
  const pod: ModelPod = { name, uid, owner: 'ours', matches: true, life: 'available', version: 1 };
  world.pods.push(pod);
  return pod;
}

type OnPod = Extract<Operation, { readonly pod: string }>;

function remove(world: World, attempt: Attempt, { pod: name, uid }: OnPod): void {
  const known = observationOf(attempt).pods.find((pod) => pod.name === name);
  if (known?.controllerUid !== POD_SET_UID) throw new Error(`${name} is deleted, which was not seen as ours`);
  const pod = podNamed(world, name);
  fold(attempt, { ...known, life: 'being-deleted' });
  if (pod?.uid !== uid) return;
  if (pod.owner === 'other') throw new Error(`${name} is deleted, which is another's`);
  if (pod.life === 'available') world.deleted += 1;
  pod.life = 'being-deleted';
}

function setOwner(world: World, attempt: Attempt, { op, pod: name, uid }: OnPod): void {
  const known = observationOf(attempt).pods.find((pod) => pod.name === name);
  const pod = podNamed(world, name);
  if (pod === undefined) {
    const pods = observationOf(attempt).pods.filter((each) => each.name !== name);
    note(attempt, { pods });
    return;
  }
  if (pod.uid !== uid || pod.version !== known?.version) {
    lookAgain(attempt);
    return;
  }
  const from = op === 'adopt' ? 'nobody' : 'ours';
  if (pod.owner !== from) throw new Error(`${op} of ${name}, whose controller is ${pod.owner}`);
  pod.owner = op === 'adopt' ? 'ours' : 'nobody';
  pod.version += 1;
  fold(attempt, seen(pod));
}

function writeStatus(world: World, attempt: Attempt, number: number): void {
  if (world.version !== attempt.podSetVersion) {
    lookAgain(attempt);
    return;
  }
  const status = statuses.valueOf(number);
  if (status.observedGeneration !== world.generation) throw new Error('a status of another generation');
  world.status = number;
  world.version += 1;
  const { podSet } = observationOf(attempt);
  if (podSet !== 'gone') note(attempt, { podSet: { ...podSet, status } });
}

function observationOf({ observation }: Attempt): Observation<SeenModelPod> {
  return observations.valueOf(observation);
}

function note(attempt: Attempt, news: Partial<Observation<SeenModelPod>>): void {
  attempt.observation = observations.numberOf({ ...observationOf(attempt), ...news });
}

/** Of two attempts that rely on what is no more, it does not matter how old that is: they are as one. */
export function textOf(world: World): string {
  const { version, main, givenUp } = world;
  const attemptOf = <A extends Attempt>(attempt: A): A => ({
    ...attempt,
    podSetVersion: attempt.podSetVersion === version ? 1 : 0,
  });
  return JSON.stringify({
    ...world,
    version: 1,
    main: main && attemptOf(main),
    givenUp: givenUp && attemptOf(givenUp),
  });
}

function lookAgain(attempt: Attempt): void {
  Object.assign(attempt, { ...NEW_ATTEMPT, writes: attempt.writes });
}

function fold(attempt: Attempt, pod: SeenModelPod): void {
  const others = observationOf(attempt).pods.filter(({ name }) => name !== pod.name);
  note(attempt, { pods: [...others, pod] });
}

function podNamed(world: World, name: string): ModelPod | undefined {
  return world.pods.find((pod) => pod.name === name);
}

/** What is not as it is to be at the end; none: all is well. */
export function shortcomings(world: World): readonly string[] {
  if (world.beingDeleted) return [];
  const available = world.pods.filter(
    (pod) => pod.owner === 'ours' && pod.matches && pod.life === 'available',
  );
  const names = available.map(({ name }) => name).sort();
  const { generation, replicas } = world;
  const status = statuses.valueOf(world.status);
  const wrong = new Map([
    [`${names.length} Pods instead of ${replicas}`, names.length !== replicas],
    ['the status names other Pods', JSON.stringify(status.podNames) !== JSON.stringify(names)],
    ['the status counts other Pods', status.readyReplicas !== names.length],
    ['the status is of another generation', status.observedGeneration !== generation],
    [
      'it is not said to be Ready',
      !status.conditions.some((each) => each.type === 'Ready' && each.status === 'True'),
    ],
    [
      'a Pod without the labels is still ours',
      world.pods.some((pod) => pod.owner === 'ours' && !pod.matches && pod.life === 'available'),
    ],
    [
      'a Pod with the labels is nobody’s',
      world.pods.some((pod) => pod.owner === 'nobody' && pod.matches && pod.life === 'available'),
    ],
  ]);
  return [...wrong].filter(([, isWrong]) => isWrong).map(([what]) => what);
}
