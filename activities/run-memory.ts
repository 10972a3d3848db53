import { LRUCache } from 'lru-cache';
import { addedUp, type Action } from '../src/runs/decision.ts';
import { setTimeout as delay } from 'node:timers/promises';

/** An observation, and where it comes from: what the watcher saw may lag behind what is live. */
export interface KnownObservation<O = unknown> {
  readonly observation: O;
  readonly source: 'watch' | 'live';
}

/** The execution of a step, as far as it decides what may still be known. */
export interface Execution {
  readonly workflowId: string;
  readonly runId: string;
  /** How many signals the run had seen. */
  readonly changes: number;
}

/** Longer than a step takes, shorter than a person notices: what is older is observed again. */
const KEPT_MS = 10_000;
const VIEWS_MAX = 2_000;
const RUNS_MAX = 500;

interface Remembered {
  readonly changes: number;
  /** Undefined: a step is in progress with it, or has failed, or has nothing to leave. */
  readonly known: KnownObservation | undefined;
}

/**
 * What this process knows of runs, so that a step need not read what the watcher or the step before has just seen. To
 * lose it costs a few reads and nothing else: the run may go on in another process.
 */
export class Memory {
  /** By workflow id: what the watcher saw when it started or signalled the run. */
  readonly #views: LRUCache<string, KnownObservation>;
  /** By run id: what the last step left. */
  readonly #runs: LRUCache<string, Remembered>;

  /** @param clock in milliseconds, from whenever */
  constructor(clock: { readonly now: () => number } = performance) {
    const kept = { ttl: KEPT_MS, ttlAutopurge: true, perf: clock };
    this.#views = new LRUCache({ ...kept, max: VIEWS_MAX });
    this.#runs = new LRUCache({ ...kept, max: RUNS_MAX });
  }

  /** The watcher is about to start or to signal the run because of this view. */
  seed(workflowId: string, view: unknown): void {
    this.#views.set(workflowId, { observation: view, source: 'watch' });
  }

  /**
   * Hands over what is known, once: whoever fails with it leaves nothing behind. What the last step left counts until
   * the next signal. The watcher's view counts for a run that begins, or goes on after a rest. That of one that works may
   * lack the latest writes.
   *
   * @param shownSince what the watcher shows by now, if that has what the run has written
   */
  take(
    { workflowId, runId, changes }: Execution,
    shownSince?: (written: unknown) => unknown,
  ): KnownObservation | undefined {
    const view = this.#views.get(workflowId);
    const remembered = this.#runs.get(runId);
    this.#runs.set(runId, { changes, known: undefined });
    // The view came with a signal that the run has not seen yet.
    if (remembered?.changes === changes) return remembered.known;
    this.#views.delete(workflowId);
    if (remembered === undefined || view === undefined) return view;
    const shown = remembered.known && shownSince?.(remembered.known.observation);
    return shown === undefined ? undefined : { observation: shown, source: 'watch' };
  }

  /** The run rests: when it goes on, the view counts that has made it do so. */
  rest({ runId }: Execution): void {
    this.#runs.delete(runId);
  }

  keep({ runId, changes }: Execution, known: KnownObservation | undefined): void {
    this.#runs.set(runId, { changes, known });
  }
}

/** What one step did. */
interface Kept {
  /** How many results the run had got when the step was called. */
  readonly results: number;
  readonly did: readonly Action[];
}

interface KeptOfRun {
  /** How many steps have begun in this process. */
  begun: number;
  steps: readonly Kept[];
}

/** Longer than a step may take, and than Temporal then waits before it tries again. */
const DEEDS_KEPT_MS = 60_000;
const RUNS_WITH_DEEDS_MAX = 2_000;
/** More than the steps of one workflow task. */
const STEPS_MAX = 10;

/**
 * What steps did whose results the run may never get. A signal that comes while local steps are in progress makes Temporal
 * refuse the workflow task, and they are all done again; a step that was interrupted goes on for a moment; an answer to
 * Temporal gets lost. The next attempt finds the work done, and would report that there was nothing to do.
 *
 * A crash forgets this, and a run may go on in another process: then the last heartbeat of an attempt has what it did, but for the
 * last second, and of a local attempt nothing has. What a run does never depends on it.
 */
export class Undelivered {
  readonly #runs = new LRUCache<string, KeptOfRun>({ max: RUNS_WITH_DEEDS_MAX, ttl: DEEDS_KEPT_MS });

  /**
   * A step begins.
   *
   * @param results how many the run had got when it was called: if there have been more, these are lost
   * @param before what its earlier attempts did, in whichever process, as their last heartbeat says it
   * @returns to be called at its end: adds to what it did what has not reached the run
   */
  begin(
    runId: string,
    results: number,
    before?: readonly Action[],
  ): (did: readonly Action[]) => readonly Action[] {
    const run = this.#runs.get(runId) ?? { begun: 0, steps: [] };
    this.#runs.set(runId, run);
    if (before !== undefined)
      run.steps = [...run.steps.filter((step) => step.results < results), { results, did: before }];
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

  /** What has not reached the run by now. */
  of(runId: string, results: number): readonly Action[] {
    const { steps = [] } = this.#runs.get(runId) ?? {};
    return steps.filter((step) => step.results >= results).flatMap(({ did }) => did);
  }
}

/** A step that hangs must not hold up for long the one that a change has called for. */
const PATIENCE_MS = 300;

interface Turn {
  readonly superseded: AbortController;
  readonly ended: Promise<unknown>;
}

/**
 * Lets a run, or its next step, ask the one that still goes on in this process to come to its end, and the next step waits for
 * that: Temporal tells an attempt only with the answer to a heartbeat, and abandons one that hangs, but cannot stop it. It saves work,
 * and is not what makes steps safe: attempts in other processes overlap as they like.
 */
export class Superseding {
  readonly #turns = new Map<string, Turn>();

  /** Asks the step that is in progress to come to its end. */
  end(run: string): void {
    this.#turns.get(run)?.superseded.abort();
  }

  /**
   * @param run its workflow id
   * @param step is given a signal that is aborted once it is asked to end
   */
  async run<T>(run: string, step: (superseded: AbortSignal) => Promise<T>): Promise<T> {
    const before = this.#turns.get(run);
    const superseded = new AbortController();
    const work = this.#after(before, () => step(superseded.signal));
    const turn = { superseded, ended: work.catch(() => undefined) };
    this.#turns.set(run, turn);
    try {
      return await work;
    } finally {
      if (this.#turns.get(run) === turn) this.#turns.delete(run);
    }
  }

  async #after<T>(before: Turn | undefined, work: () => Promise<T>): Promise<T> {
    if (before !== undefined) {
      before.superseded.abort();
      // Stryker disable next-line ObjectLiteral,BooleanLiteral: only a process that ends would notice.
      await Promise.race([before.ended, delay(PATIENCE_MS, undefined, { ref: false })]);
    }
    return work();
  }
}
