import { isRest, reasonOf, type NextInHistory, type Stalled, type Wait } from '../../src/runs/decision.ts';
import { observedLater, isMoreToDo } from './asked-again.ts';
import { START_MS } from './cluster.ts';
import { Violation } from './explorer.ts';
import type { Machine } from './machine.ts';
import { copyOf, type WorldState } from './state.ts';
import { renumbered, valueOf, type Datum } from './values.ts';

/** How long nothing comes of a wait before it counts as endless. */
const HORIZON_MS = 31 * 86_400_000;
/** So often a run looks at its own pace; then ever less often, or waits of seconds would take a month of looks. */
const LOOKS_AT_PACE = 10;
/** So often time goes on in one story. */
const RESTS_MAX = 20;
/** When a poll looks, after the last change. */
const POLLS_MS = [0, 60_000, 3_600_000, 86_400_000, 2_592_000_000];

/**
 * When an author's controller comes to something else although nothing happens. It is found out in a copy: time in which nothing comes of
 * a look makes no state.
 */
export class Ahead {
  readonly #machine: Machine;
  /** The numbers of what {@link agesIn} says. */
  readonly #rests = new Map<string, number>();

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** For how long the run waits until a look comes to something else; undefined: none does. */
  async ofWait(state: WorldState, uid: string, rest: Wait | Stalled): Promise<number | undefined> {
    const ahead = copyOf(state);
    let passedMs = 0;
    for (let looks = 0; passedMs < HORIZON_MS; looks += 1) {
      const ms = this.#paceOf(ahead, uid, rest);
      const isAtPace = looks < LOOKS_AT_PACE;
      passedMs += isAtPace ? ms : Math.max(ms, passedMs);
      ahead.clockMs = state.clockMs + passedMs;
      if (!(await this.#restsAgain(ahead, uid, rest))) return this.#allowed(state, passedMs);
      // Whether the clock is read, the first look shows.
      if (ms === 0 && (looks > 0 || !this.#readsClock)) return undefined;
    }
    return undefined;
  }

  /** After how long a poll finds something to do; undefined: never. */
  async ofPolls(state: WorldState): Promise<number | undefined> {
    const ref = this.#machine.watching.evaluate(state)?.ref;
    const [run] = Object.values(state.runs);
    if (ref === undefined || (run !== undefined && run.attempt !== null)) return undefined;
    const rest = run && valueOf<NextInHistory>(run.next);
    // It looks by itself.
    if (rest !== undefined && 'recheckMs' in rest) return undefined;
    for (const afterMs of run === undefined && this.#readsClock ? POLLS_MS : [0]) {
      const progress = await observedLater(this.#machine, state, { ref, afterMs });
      if (progress.at === 'failure' || isMoreToDo(progress, rest)) return this.#allowed(state, afterMs);
    }
    return undefined;
  }

  /** Time goes on: a rest that comes back later, and is as it was, is an end. */
  pass(state: WorldState, ms: number): void {
    if (ms > 0 && this.#readsClock)
      state.rested = [...state.rested, this.#numberOf(state)].sort((a, b) => a - b);
    state.clockMs += ms;
  }

  get #readsClock(): boolean {
    return this.#machine.world.outside?.readsClock() !== false;
  }

  /** It would go on like that for ever. */
  isBack(state: WorldState): boolean {
    const { length } = state.rested;
    return length >= RESTS_MAX || (length > 0 && state.rested.includes(this.#numberOf(state)));
  }

  #allowed(state: WorldState, ms: number): number | undefined {
    return ms > 0 && this.#readsClock && this.isBack(state) ? undefined : ms;
  }

  /** A clock that nobody reads need not go on. */
  #paceOf(ahead: WorldState, uid: string, rest: Wait | Stalled): number {
    const run = ahead.runs[uid];
    if (run === undefined) return 0;
    const next = valueOf<NextInHistory>(run.next);
    const current = isSame(next, rest) ? (next as Wait | Stalled) : rest;
    const isTimed = this.#readsClock || this.#machine.isAboutTime(ahead, run, current);
    return isTimed ? (current.recheckMs ?? 0) : 0;
  }

  /** Whether a look comes to the same. */
  async #restsAgain(ahead: WorldState, uid: string, rest: Wait | Stalled): Promise<boolean> {
    const { running } = this.#machine;
    try {
      await this.#machine.waited(ahead, uid, rest, 0);
      for (let run = ahead.runs[uid]; run !== undefined; run = ahead.runs[uid]) {
        const { attempt, backoff, ref } = run;
        if (attempt === null) return isSame(valueOf<NextInHistory>(run.next), rest);
        if (backoff !== 'no') return false;
        const progress = await this.#machine.attempts.progressOf(ref, attempt);
        if (progress.at !== 'request' || this.#machine.isWrite(ahead, progress.request)) return false;
        this.#machine.answer(ahead, uid, progress.request, {});
        await running.goOn(ahead, uid);
      }
      return false;
    } catch (error) {
      // It is found again, with its story.
      if (error instanceof Violation) return false;
      throw error;
    }
  }

  #numberOf(state: WorldState): number {
    const ages = agesIn(state);
    const number = this.#rests.get(ages) ?? this.#rests.size;
    this.#rests.set(ages, number);
    return number;
  }
}

function isSame(next: NextInHistory, rest: Wait | Stalled): boolean {
  if (!isRest(next) || next.do !== rest.do) return false;
  if (next.do === 'wait') return rest.do === 'wait' && next.for === rest.for;
  return rest.do === 'stalled' && reasonOf(next) === rest.message;
}

const SINCE_WHEN = /"(?:lastTransitionTime|creationTimestamp)":"[^"]*"/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\b\d{13}\b/g;

/** The same text for states in which all is the same, and equally old. What the watcher has still to find out does not count. */
function agesIn(state: WorldState): string {
  const nowMs = START_MS + state.clockMs;
  const objects = Object.entries(state.cluster).sort(([a], [b]) => (a < b ? -1 : 1));
  const runs = Object.values(state.runs).map(({ next }) => next);
  const data: readonly Datum[] = [...objects.flatMap(([, datum]) => datum), ...runs];
  return renumbered(
    JSON.stringify([objects.map(([key]) => key), ...data.map((datum) => valueOf<unknown>(datum))]),
  )
    .replace(SINCE_WHEN, '')
    .replace(TIME, (time) => String((time.includes('T') ? Date.parse(time) : Number(time)) - nowMs));
}
