import {
  isRest,
  type Held,
  type NextInHistory,
  type Rest,
  type Stalled,
  type Wait,
} from '../../src/runs/decision.ts';
import type { Ahead } from './ahead.ts';
import type { Machine } from './machine.ts';
import { isStillHeld } from './people.ts';
import type { DispatcherEntry, SimulatedRun, WorldState } from './state.ts';
import { disturbing, dispatch, step, type PossibleStep } from './step.ts';
import { valueOf } from './values.ts';

/** What waits for a moment to pass. */
export class SlowSteps {
  readonly #machine: Machine;
  readonly #ahead: Ahead;

  constructor(machine: Machine, ahead: Ahead) {
    this.#machine = machine;
    this.#ahead = ahead;
  }

  /** @param isQuiet nothing goes on at once */
  async in(state: WorldState, isQuiet: boolean): Promise<PossibleStep[]> {
    const steps: PossibleStep[] = [];
    for (const [uid, entry] of Object.entries(state.entries)) steps.push(...this.#slowFor(uid, entry));
    for (const run of Object.values(state.runs)) steps.push(...this.#slowIn(state, run));
    if (this.#machine.dispatching.wouldSweep(state)) {
      steps.push(step('the watcher lists the open runs', (it) => this.#machine.dispatching.sweep(it)));
    }
    if (isQuiet && steps.length === 0) steps.push(...(await this.#inTime(state)));
    return steps.map((slow) => ({ ...slow, apply: (it) => slow.apply(settled(it)) }));
  }

  /** Of an author's controller: what nothing but time brings about. */
  async #inTime(state: WorldState): Promise<readonly PossibleStep[]> {
    const { outside } = this.#machine.world;
    if (outside === undefined) return [];
    const waits = await Promise.all(Object.values(state.runs).map((run) => this.#waits(state, run)));
    return [...waits.flat(), ...(outside.polls ? await this.#polls(state) : [])];
  }

  /** As if somebody asked for a look: src/watcher/looks.ts. One that finds nothing to do changes nothing. */
  async #polls(now: WorldState): Promise<PossibleStep[]> {
    if (now.look.count > now.look.done) return [];
    const ms = await this.#ahead.ofPolls(now);
    if (ms === undefined) return [];
    return [
      step('the poll is due', (state) => {
        this.#ahead.pass(state, ms);
        state.look.count += 1;
        state.isViewNew = true;
      }),
    ];
  }

  #slowFor(uid: string, { standing, queued }: DispatcherEntry): PossibleStep[] {
    const steps: PossibleStep[] = [];
    if (queued === 'later') steps.push(dispatch(this.#machine, uid));
    if (standing) {
      steps.push(
        step('the step still stands in the view', (state) => {
          const entry = state.entries[uid];
          if (entry !== undefined) this.#machine.dispatching.standsStill(entry);
        }),
      );
    }
    return steps;
  }

  #slowIn(now: WorldState, run: SimulatedRun): PossibleStep[] {
    const {
      ref: { uid },
      next,
      attempt,
      backoff,
    } = run;
    if (backoff === 'changed')
      return [step('the step is tried again', (state) => this.#machine.tryAgain(state, uid))];
    const rest = valueOf<NextInHistory>(next);
    if (attempt !== null || !isRest(rest)) return [];
    if (rest.do === 'held') return this.#rechecks(now, uid, rest);
    if (!isTimed(rest) || this.#machine.world.outside !== undefined) return [];
    const isAboutTime = this.#machine.isAboutTime(now, run, rest);
    const over = step(isOver(rest), (state) => this.#machine.waited(state, uid, rest));
    if (isAboutTime) return now.lingering === null ? [over] : [];
    if (now.missed === 0) return [disturbing('timer', over)];
    return [
      step(over.what, (state) => {
        state.missed -= 1;
        return over.apply(state);
      }),
    ];
  }

  /** It looks again and again until that comes to something else. No request takes so long. */
  async #waits(now: WorldState, { ref: { uid }, next, attempt }: SimulatedRun): Promise<PossibleStep[]> {
    const rest = valueOf<NextInHistory>(next);
    if (attempt !== null || !isRest(rest) || !isTimed(rest)) return [];
    const ms = await this.#ahead.ofWait(now, uid, rest);
    if (ms === undefined || (ms > 0 && now.lingering !== null)) return [];
    return [
      step(isOver(rest), (state) => {
        this.#ahead.pass(state, ms);
        return this.#machine.waited(state, uid, rest, 0);
      }),
    ];
  }

  /** It finds the same again and again, until it is not so any more. */
  #rechecks(now: WorldState, uid: string, held: Held): PossibleStep[] {
    if (!this.#machine.running.rechecksWhileHeld) return [];
    const recheck = step('the run that is held looks by itself', (state) =>
      this.#machine.waited(state, uid, held),
    );
    const [cluster, isNamespacePaused] = [this.#machine.clusterOf(now), this.#machine.isNamespacePaused(now)];
    const isStill = isStillHeld(held, { cluster, key: this.#machine.key, isNamespacePaused });
    return [isStill ? disturbing('timer', recheck) : recheck];
  }
}

function isOver(rest: Wait | Stalled): string {
  return `${rest.do === 'wait' ? `the wait for ${rest.for}` : `the stall by ${rest.reason}`} is over`;
}

/** The run checks again by itself. */
function isTimed(rest: Rest): rest is Wait | Stalled {
  return rest.do === 'wait' || (rest.do === 'stalled' && rest.recheckMs !== undefined);
}

/** A moment has passed: what a run wrote before is shown by now. */
function settled(state: WorldState): WorldState {
  for (const entry of Object.values(state.entries)) entry.settling = false;
  return state;
}
