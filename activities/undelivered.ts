import { LRUCache } from 'lru-cache';
import type { Deed } from '../src/contract/decision.ts';
import { addedUp } from '../src/contract/deeds.ts';

/** What one step did. */
interface Kept {
  /** How many results the run had got when the step was called. */
  readonly results: number;
  readonly did: readonly Deed[];
}

interface KeptOfRun {
  /** How many steps have begun in this process. */
  begun: number;
  steps: readonly Kept[];
}

/** Longer than a step may take, and than Temporal then waits before it tries again. */
const KEPT_MS = 60_000;
const RUNS_MAX = 2_000;
/** More than the steps of one workflow task. */
const STEPS_MAX = 10;

/**
 * What steps did whose results the run may never get. A signal that comes while local steps are in progress makes Temporal
 * refuse the workflow task, and they are all done again; a step that was interrupted goes on for a moment; an answer to
 * Temporal gets lost. The next attempt finds the work done, and would report that there was nothing to do.
 *
 * A crash forgets this, and a run may go on in another process: then its result says less than was done. What a run
 * does never depends on it.
 */
export class Undelivered {
  readonly #runs = new LRUCache<string, KeptOfRun>({ max: RUNS_MAX, ttl: KEPT_MS });

  /**
   * A step begins.
   *
   * @param results how many the run had got when it was called: if there have been more, these are lost
   * @returns to be called at its end: adds to what it did what has not reached the run
   */
  begin(runId: string, results: number): (did: readonly Deed[]) => readonly Deed[] {
    const run = this.#runs.get(runId) ?? { begun: 0, steps: [] };
    this.#runs.set(runId, run);
    const turn = (run.begun += 1);
    return (did) => {
      // Was it interrupted, then the step that came after it reports this, if it is not at its end yet.
      const lost = run.begun === turn ? run.steps.filter((step) => step.results >= results) : [];
      const all = addedUp([...lost.flatMap((step) => step.did), ...did]);
      const others = run.steps.filter((step) => !lost.includes(step));
      run.steps = [...others, { results, did: all }].slice(-STEPS_MAX);
      return all;
    };
  }
}
