import {
  isRest,
  type Held,
  type Next,
  type Rest,
  type Stalled,
  type Wait,
} from '../../src/contract/decision.ts';
import type { Machine } from './machine.ts';
import { isStillHeld } from './people.ts';
import type { Entry, Run, State } from './state.ts';
import { disturbing, dispatch, step, type Step } from './step.ts';
import { valueOf } from './values.ts';

/** What waits for a moment to pass. */
export class SlowSteps {
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  in(state: State): Step[] {
    const steps: Step[] = [];
    for (const [uid, entry] of Object.entries(state.entries)) steps.push(...this.#slowFor(uid, entry));
    for (const run of Object.values(state.runs)) steps.push(...this.#slowIn(state, run));
    if (this.#machine.dispatching.wouldSweep(state)) {
      steps.push(step('the watcher lists the open runs', (it) => this.#machine.dispatching.sweep(it)));
    }
    if (state.pollDue) steps.push(this.#poll());
    return steps.map((slow) => ({ ...slow, apply: (it) => slow.apply(settled(it)) }));
  }

  /** As if somebody asked for a look: src/watcher/looks.ts. */
  #poll(): Step {
    return step('the poll is due', (state) => {
      state.pollDue = false;
      if (Object.keys(state.watches['primary']?.known ?? {}).length === 0) return;
      state.look.count += 1;
      state.isViewNew = true;
    });
  }

  #slowFor(uid: string, { standing, queued }: Entry): Step[] {
    const steps: Step[] = [];
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

  #slowIn(now: State, run: Run): Step[] {
    const {
      ref: { uid },
      next,
      attempt,
      backoff,
    } = run;
    if (backoff === 'changed')
      return [step('the step is tried again', (state) => this.#machine.tryAgain(state, uid))];
    const rest = valueOf<Next>(next);
    if (attempt !== null || !isRest(rest)) return [];
    if (rest.do === 'held') return this.#rechecks(now, uid, rest);
    if (!isTimed(rest)) return [];
    const isAboutTime = this.#machine.isAboutTime(now, run, rest);
    const over = step(
      `${rest.do === 'wait' ? `the wait for ${rest.for}` : `the stall by ${rest.code}`} is over`,
      (state) => this.#machine.waited(state, uid, rest),
    );
    if (isAboutTime) return now.lingering === null ? [over] : [];
    if (now.missed === 0) return [disturbing('timer', over)];
    return [
      step(over.what, (state) => {
        state.missed -= 1;
        return over.apply(state);
      }),
    ];
  }

  /** It finds the same again and again, until it is not so any more. */
  #rechecks(now: State, uid: string, held: Held): Step[] {
    if (!this.#machine.running.rechecksWhileHeld) return [];
    const recheck = step('the run that is held looks by itself', (state) =>
      this.#machine.waited(state, uid, held),
    );
    const [cluster, isNamespacePaused] = [this.#machine.clusterOf(now), this.#machine.isNamespacePaused(now)];
    const isStill = isStillHeld(held, { cluster, key: this.#machine.key, isNamespacePaused });
    return [isStill ? disturbing('timer', recheck) : recheck];
  }
}

/** The run checks again by itself. */
function isTimed(rest: Rest): rest is Wait | Stalled {
  return rest.do === 'wait' || (rest.do === 'stalled' && rest.atMostMs !== undefined);
}

/** A moment has passed: what a run wrote before is shown by now. */
function settled(state: State): State {
  for (const entry of Object.values(state.entries)) entry.settling = false;
  return state;
}
