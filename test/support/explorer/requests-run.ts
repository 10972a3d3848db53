import { converged, stalled, waitFor } from '../../../src/runs/decision.ts';
import type { Evaluation } from '../../../src/watcher/evaluation.ts';
import { move, type Move } from './requests-move.ts';
import {
  at,
  changed,
  opennessChanged,
  type Live,
  type Run,
  type Scenario,
  type State,
} from './requests-state.ts';
import { aCause } from '../causes.ts';

/** The run of the resource, as far as it matters to those who start and signal it. */
export class RequestedRun {
  readonly #scenario: Scenario;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  moves({ run }: State): Move[] {
    if (run === null) return [];
    if (run.doing === 'wait' && !run.hasSignal) return [];
    if (run.doing === 'end') return [move('the run ends', (it) => this.#runEnds(it))];
    return [move('the run looks, and does what is to be done', (it) => this.#runLooks(it))];
  }

  /** A signal that comes before the end is recorded has the run look again. */
  #runEnds(state: State): void {
    const { run } = state;
    if (run === null) return;
    if (run.hasSignal) {
      run.doing = 'look';
      return;
    }
    state.run = null;
    opennessChanged(state);
  }

  #runLooks(state: State): void {
    const { run, live } = state;
    if (run === null) return;
    run.hasSignal = false;
    run.seen = live?.generation ?? 0;
    if (state.inVain > 0 && live !== null && this.decision(live).do !== 'converged') {
      state.inVain -= 1;
      const [atMs, of, inVain] = state.lastStart ?? [0, '', 0];
      state.lastStart = [atMs, of, inVain + 1];
      this.#runIsDone(state, run);
      return;
    }
    if (live !== null) this.#act(state, live);
    const after = state.live === null ? undefined : this.decision(state.live);
    if (after === undefined || after.do === 'converged') this.#runIsDone(state, run);
    else run.doing = after.do === 'wait' || after.do === 'stalled' ? 'wait' : 'look';
  }

  #runIsDone(state: State, run: Run): void {
    run.doing = 'end';
    if (this.#scenario.endsAreSeen === true) at(state, 0).endsToSee = Math.min(at(state, 0).endsToSee + 1, 2);
  }

  #act(state: State, live: Live): void {
    const { generation } = live;
    switch (this.decision(live).do) {
      case 'createJob':
        changed(state, { job: [generation, false] });
        return;
      case 'finish':
        changed(state, { done: generation });
    }
  }

  /** What the controller would say. */
  decision({ generation, done, job: [jobOf, hasEnded] }: Live): Evaluation['decision'] {
    const { kind = 'one step' } = this.#scenario;
    if (kind === 'stalls at even generations' && generation % 2 === 0) return stalled(aCause('it cannot be'));
    if (done === generation) return converged('no update required');
    if (kind !== 'a Job') return { do: 'finish', because: `generation ${generation}` };
    if (jobOf !== generation) return { do: 'createJob', because: 'no Job' };
    return hasEnded ? { do: 'finish', because: 'the Job has ended' } : waitFor('the Job to end', 60_000);
  }
}
