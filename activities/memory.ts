import { LRUCache } from 'lru-cache';

/** An observation, and where it comes from: what the watcher saw may lag behind what is live. */
export interface Known<O = unknown> {
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
  readonly known: Known | undefined;
}

/**
 * What this process knows of runs, so that a step need not read what the watcher or the step before has just seen. To
 * lose it costs a few reads and nothing else: the run may go on in another process.
 */
export class Memory {
  /** By workflow id: what the watcher saw when it started or signalled the run. */
  readonly #views: LRUCache<string, Known>;
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
   * the next signal. The watcher's view counts for a run that begins, or goes on after a rest: of one that works it may
   * lack the latest writes.
   */
  take(execution: Execution): Known | undefined {
    const { workflowId, runId, changes } = execution;
    const view = this.#views.get(workflowId);
    const remembered = this.#runs.get(runId);
    this.#views.delete(workflowId);
    this.#runs.set(runId, { changes, known: undefined });
    if (remembered === undefined) return view;
    return remembered.changes === changes ? remembered.known : undefined;
  }

  /** The run rests: when it goes on, the view counts that has made it do so. */
  rest({ runId }: Execution): void {
    this.#runs.delete(runId);
  }

  keep({ runId, changes }: Execution, known: Known | undefined): void {
    this.#runs.set(runId, { changes, known });
  }
}
