import type { AnyDefinition } from '../src/engine/definition.ts';
import { exploreSystem as exploreSystem, Unfinished, type Limits } from './explorer/explorer.ts';
import { OperatorModel } from './explorer/operator.ts';
import { Outcomes, type ExploredSubject } from './ends.ts';
import { withFetch } from './fetched.ts';
import { Fake, type CallsOf } from './outside.ts';
import type { Explorable, Scenario } from './scenario.ts';
import { DELETE } from './stage.ts';
import { worldOf } from './world.ts';
import { checked } from './checked.ts';

/** How much is explored. */
export interface ExploreOptions {
  /**
   * How many states may be visited; what is left then is an error. Default: 500,000, and 100,000 for each of
   * {@link Exploration.explored}; without a bound if `seconds` is given.
   */
  readonly states?: number;
  /** How long it may take; what is left then is in {@link Exploration.unexplored}, and no error. Default: as long as it takes. */
  readonly seconds?: number;
  /** Whether it prints how many states each disturbance takes, and the states per second. Default: false. */
  readonly verbose?: boolean;
}

/** What was explored, and found to be well. */
export interface Exploration {
  readonly states: number;
  /** What has disturbed, at any moment: `crash`, `versioning is turned on + crash`. */
  readonly explored: readonly string[];
  /** What was left out when the `seconds` were over. */
  readonly unexplored: readonly string[];
}

/** Those that may happen to any controller. */
const FAULTS = ['crash', 'error', 'linger', 'abandon', 'late', 'restart', 'duplicate', 'outage', 'relist'];
const ASK_FOR_LESS =
  'give each test fewer edits, others and happens, or more states; with seconds, what is left when they are over is no error';

/** In all, and in one row. */
const STATES_MAX = 500_000;
const STATES_OF_ROW_MAX = 100_000;

/**
 * Runs the controller against a small cluster and a fake of its outside system, in every order of events: changes by people and
 * by others, each together with a crash before or after any request, a lost or late answer, an attempt that is repeated or takes
 * effect late, a stale watch, an outage of Temporal. In each order it must come to an end, do nothing twice, and let go of its
 * finalizer once nothing is left; and what fails on the way must make no difference in the end.
 *
 * @param controller what `defineController` has made, or a function that makes it with the clients of its outside systems
 * @throws Error which names the mistake and tells the shortest story that leads to it; or what was left out at the bound of states
 * @example
 * await explore((store) => bucketIn(store), {
 *   resource: { spec: { versioned: false } },
 *   outside: {
 *     buckets: {} as Record<string, { versioned: boolean }>,
 *     find(uid: string) { return this.buckets[uid]; },
 *     create(uid: string) { this.buckets[uid] ??= { versioned: false }; },
 *     remove(uid: string) { delete this.buckets[uid]; },
 *   },
 *   edits: { 'versioning is turned on': ({ spec }) => (spec.versioned = true) },
 *   finally: ({ resource, outside }) => [
 *     resource && outside.buckets[resource.metadata.uid] === undefined && 'there is no bucket',
 *   ],
 * });
 */
export async function explore<D extends AnyDefinition, Outside extends object = object>(
  controller: Explorable<D, Outside>,
  scenario: Scenario<D, Outside>,
  bounds: ExploreOptions = {},
): Promise<Exploration> {
  const fake = new Fake(scenario.outside ?? {});
  const made: unknown =
    typeof controller === 'function' ? controller(fake.calls() as CallsOf<Outside>) : controller;
  const subject = { ...checked(made as D, scenario.options), scenario, fake, outcomes: new Outcomes() };
  const changes = [
    ...Object.keys(scenario.userEdits ?? {}),
    ...Object.keys(scenario.externalChanges ?? {}),
    DELETE,
  ];
  const exploring = new Exploring(subject, limitsOf(bounds));
  const beganMs = performance.now();
  await withFetch(fake, async () => {
    for (const row of rowsOf(changes)) {
      const told = await exploring.explore(row);
      if (bounds.verbose) console.log(told);
    }
    exploring.checkConvergence();
  });
  if (bounds.verbose) console.log(exploring.speed(performance.now() - beganMs));
  return exploring.result;
}

interface RowLimits extends Required<Limits> {
  readonly statesOfRowMax: number;
}

function limitsOf({ states, seconds }: ExploreOptions): RowLimits {
  const isUnbound = states !== undefined || seconds !== undefined;
  return {
    statesMax: states ?? (seconds === undefined ? STATES_MAX : Infinity),
    statesOfRowMax: isUnbound ? Infinity : STATES_OF_ROW_MAX,
    untilMs: seconds === undefined ? Infinity : Date.now() + seconds * 1_000,
  };
}

/** All explorations of one controller, and what came of them. */
class Exploring {
  readonly #subject: ExploredSubject;
  readonly #operator: OperatorModel;
  readonly #limits: RowLimits;
  readonly #explored = new Set<string>();
  /** What was left out when the time was over. */
  readonly #unexplored = new Set<string>();
  /** What was left out at the bound of states, with the story of how far it came. */
  readonly #tooLarge = new Map<string, string>();
  #states = 0;

  constructor(subject: ExploredSubject, limits: RowLimits) {
    this.#subject = subject;
    this.#operator = new OperatorModel(worldOf(subject), {});
    this.#limits = limits;
  }

  /** @throws Error where something was left out at the bound of states */
  get result(): Exploration {
    const [story] = this.#tooLarge.values();
    if (story !== undefined)
      throw told(
        this.#name,
        new Error(`left out: ${[...this.#tooLarge.keys()].join(', ')}; ${ASK_FOR_LESS}\n${story}`),
      );
    return {
      states: this.#states,
      explored: [...this.#explored],
      unexplored: [...this.#unexplored],
    };
  }

  get #name(): string {
    return this.#subject.definition.name;
  }

  /**
   * @returns what it took
   * @throws Error with the story
   */
  async explore({ names, slowness, isCalm }: Row): Promise<string> {
    const { fake, outcomes } = this.#subject;
    fake.isLearning = outcomes.isLearning = isCalm;
    const what = names.length === 0 ? 'nothing' : names.join(' + ');
    const budget = Object.fromEntries(names.map((name) => [name, 1]));
    const system = this.#operator.disturbed({ slowness, budget, readsAtOnce: !isCalm });
    try {
      const { states, disturbances } = await exploreSystem(system, this.#limitsLeft());
      this.#states += states;
      if (disturbances.size === names.length) this.#explored.add(what);
      else if (isCalm && names.length === 1) throw new Error(`"${what}" changes nothing at any moment`);
      return `${this.#name}: ${what}: ${states} states`;
    } catch (error) {
      if (!(error instanceof Unfinished)) throw error instanceof Error ? told(this.#name, error) : error;
      this.#states += error.states;
      if (error.by === 'untilMs') this.#unexplored.add(what);
      else this.#tooLarge.set(what, error.message);
      return `${this.#name}: ${what}: left out after ${error.states} states`;
    }
  }

  /** @throws Error where all stories end in the middle, so that nothing was seen of what comes then */
  checkConvergence(): void {
    const { ends } = this.#operator;
    if (ends.size === 0 || ends.has('nothing')) return;
    throw new Error(`${this.#name}: not one story converges: in the end, ${[...ends].join('; or ')}`);
  }

  /** In words. */
  speed(tookMs: number): string {
    const perSecond = Math.round((this.#states / tookMs) * 1_000);
    return `${this.#name}: ${this.#states} states in ${(tookMs / 1_000).toFixed(1)} s, ${perSecond} states per second`;
  }

  #limitsLeft(): Limits {
    const { statesMax, statesOfRowMax, untilMs } = this.#limits;
    return { untilMs, statesMax: Math.min(statesOfRowMax, statesMax - this.#states) };
  }
}

/** The story is what helps; where the kit noticed it, does not. */
function told(name: string, { message }: Error): Error {
  const error = new Error(`${name}: ${message}`);
  delete error.stack;
  return error;
}

interface Row {
  readonly names: readonly string[];
  /** How often a part falls behind all others. */
  readonly slowness: number;
  /** Nothing fails. Where something does, the reads after it are made at one moment. */
  readonly isCalm: boolean;
}

/** First what happens where nothing fails: what fails must make no difference to that. */
function rowsOf(changes: readonly string[]): readonly Row[] {
  const twoChanges = changes.flatMap((one, place) => changes.slice(place + 1).map((other) => [one, other]));
  const calm = [[], ...changes.map((each) => [each]), ...twoChanges];
  const pairs = changes.flatMap((change) => FAULTS.map((fault) => [change, fault]));
  return [
    ...calm.map((names) => ({ names, slowness: 0, isCalm: true })),
    ...FAULTS.map((fault) => ({ names: [fault], slowness: 1, isCalm: false })),
    ...changes.map((change) => ({ names: [change], slowness: 1, isCalm: true })),
    ...pairs.map((names) => ({ names, slowness: 0, isCalm: false })),
  ];
}
