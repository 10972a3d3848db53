import { PassedOn } from '../../src/engine/failing.ts';

/** Something that may happen next. */
export interface Transition {
  /** In words, for a trace. */
  readonly what: string;
  /** What disturbs, by its name; undefined: it belongs to what goes on where nobody does. */
  readonly disturbance?: string | undefined;
  /** The step of the controller that it belongs to, if any. */
  readonly step?: string | undefined;
  /** The state after it, as text. @throws Violation */
  apply(): Promise<string>;
}

/** What can be explored: states as texts, and what may happen in each. */
export interface System {
  readonly start: () => Promise<string>;
  next(state: string): Promise<readonly Transition[]>;
  /** What is wrong with a state in which nothing happens any more, unless somebody disturbs. */
  shortcomings(state: string): readonly string[] | Promise<readonly string[]>;
}

/** A rule is broken. */
export class Violation extends PassedOn {
  override readonly name = 'Violation';
}

/** There is more than may be visited. */
export class Unfinished extends Error {
  readonly by: keyof Limits;
  /** So many were visited. */
  readonly states: number;

  constructor(message: string, { by, states }: Pick<Unfinished, 'by' | 'states'>) {
    super(message);
    this.by = by;
    this.states = states;
  }
}

/** How far an exploration may go. */
export interface Limits {
  readonly statesMax?: number;
  /** Milliseconds since the epoch. */
  readonly untilMs?: number;
}

export interface Explored {
  readonly states: number;
  readonly transitions: number;
  /** How many of them are an end. */
  readonly ends: number;
  /** What has disturbed at least once. */
  readonly disturbances: ReadonlySet<string>;
}

/** So that a mistake in a bound ends the test, and not the machine. */
const STATES_MAX = 400_000;

/**
 * Tries whatever may happen next, from every state that can come about, the nearest first. From each of them, and in
 * whatever order things go on, an end is reached once nobody disturbs any more, and all is well there.
 *
 * @throws Violation with the way to where that is not so
 * @throws Unfinished where there is more than that
 */
export async function exploreSystem(system: System, limits: Limits = {}): Promise<Explored> {
  return new Exploration(system, limits).run();
}

/** How a state was come to first, and where it leads where nobody disturbs. */
interface Visit {
  readonly from: number;
  readonly what: string;
  readonly step: string | undefined;
  calm: readonly number[];
}

class Exploration {
  readonly #system: System;
  readonly #limits: Required<Limits>;
  readonly #numbers = new Map<string, number>();
  readonly #visits: Visit[] = [];
  readonly #disturbances = new Set<string>();
  #transitions = 0;
  #ends = 0;

  constructor(system: System, { statesMax = STATES_MAX, untilMs = Infinity }: Limits) {
    this.#system = system;
    this.#limits = { statesMax, untilMs };
  }

  async run(): Promise<Explored> {
    const start = await this.#system.start();
    this.#visit(start, { from: -1, what: 'it begins', step: undefined, calm: [] });
    // A Map is iterated in the order of insertion, and what is inserted meanwhile is visited, too.
    for (const [state, number] of this.#numbers) await this.#expand(state, number);
    this.#findCycle();
    return {
      states: this.#visits.length,
      transitions: this.#transitions,
      ends: this.#ends,
      disturbances: this.#disturbances,
    };
  }

  async #expand(state: string, number: number): Promise<void> {
    const calm: number[] = [];
    for (const transition of await this.#system.next(state)) {
      this.#transitions += 1;
      const next = await this.#after(number, transition);
      if (transition.disturbance === undefined) calm.push(next);
      else this.#disturbances.add(transition.disturbance);
    }
    const visit = this.#visits[number];
    if (visit !== undefined) visit.calm = calm;
    if (calm.length > 0) return;
    this.#ends += 1;
    const wrong = await this.#system.shortcomings(state);
    if (wrong.length > 0) throw this.#violation(`in the end, ${wrong.join('; ')}`, number);
  }

  // eslint-disable-next-line @typescript-eslint/unbound-method -- it uses no `this`
  async #after(from: number, { what, step, apply }: Transition): Promise<number> {
    try {
      return this.#visit(await apply(), { from, what, step, calm: [] });
    } catch (error) {
      if (error instanceof Violation) throw this.#violation(error.message, from, [what]);
      throw error;
    }
  }

  #visit(state: string, visit: Visit): number {
    const known = this.#numbers.get(state);
    if (known !== undefined) return known;
    const number = this.#visits.push(visit) - 1;
    this.#numbers.set(state, number);
    const { statesMax, untilMs } = this.#limits;
    if (number >= statesMax) throw this.#unfinished(`there are more than ${statesMax} states`, 'statesMax');
    if (untilMs <= Date.now()) throw this.#unfinished('its time was over', 'untilMs');
    return number;
  }

  /** A run that never ends, though nothing disturbs it, comes back to a state that it had before. */
  #findCycle(): void {
    const done = new Set<number>();
    for (let first = 0; first < this.#visits.length; first += 1) {
      const way = [{ number: first, tried: 0 }];
      const onWay = new Set([first]);
      for (let here = way.at(-1); here !== undefined && !done.has(first); here = way.at(-1)) {
        const next = this.#visits[here.number]?.calm[here.tried];
        here.tried += 1;
        if (next === undefined) {
          done.add(here.number);
          onWay.delete(here.number);
          way.pop();
        } else if (onWay.has(next)) {
          throw this.#cycle(
            next,
            way.map(({ number }) => number),
          );
        } else if (!done.has(next)) {
          onWay.add(next);
          way.push({ number: next, tried: 0 });
        }
      }
    }
  }

  #cycle(to: number, way: readonly number[]): Violation {
    const visits = way.slice(way.indexOf(to) + 1).flatMap((number) => this.#visits[number] ?? []);
    const steps = new Set(visits.flatMap(({ step }) => step ?? []));
    const round = visits.map(({ what }) => what);
    return this.#violation(`it never ends${endlessly([...steps])}`, to, [
      '── and then, again and again:',
      ...round,
    ]);
  }

  #unfinished(why: string, by: keyof Limits): Unfinished {
    const states = this.#visits.length - 1;
    return new Unfinished(this.#story(why, states), { by, states });
  }

  #violation(rule: string, number: number, then?: readonly string[]): Violation {
    return new Violation(this.#story(rule, number, then));
  }

  #story(rule: string, number: number, then: readonly string[] = []): string {
    const way: string[] = [];
    for (let visit = this.#visits[number]; visit !== undefined; visit = this.#visits[visit.from])
      way.unshift(visit.what);
    const steps = [...way, ...then].map((what, place) => `${String(place + 1).padStart(4)}. ${what}`);
    return `${rule}\n${steps.join('\n')}`;
  }
}

function endlessly([one, ...others]: readonly string[]): string {
  if (one === undefined) return ', round and round';
  if (others.length > 0) return `: ${[one, ...others].join(' and ')} undo each other`;
  return `: ${one} runs again and again, and what it does never shows in what the controller observes`;
}
