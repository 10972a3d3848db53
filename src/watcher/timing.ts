/* How long the dispatcher waits for what; all in milliseconds. */

/** A run is not signalled while younger than this, nor more often: see docs/adr/0003-local-first.md. */
export const SPACING_MS = 200;
/**
 * A start holds its place until the watch shows its effect, or for this long: under load, work then waits
 * here, where it costs nothing, and not in the workers' queues.
 */
export const EFFECT_MS = 300;
/** A resource that is in its desired state most often says so because its run is just ending. */
export const NOT_NEEDED_AFTER_MS = 1_000;
/** If the view still calls for a step after so long without a change, the run is signalled once. */
export const UNCHANGED_MS = 2_000;
/** The same of a run that was not touched for {@link YOUNG_MS}: it is most likely in backoff, and changes nothing itself. */
export const UNCHANGED_IN_BACKOFF_MS = 500;
/** How long the end of a run, and the watch of its last writes, may take. */
export const ENDED_AFTER_MS = 500;
/** A run that was touched since is most likely about to end by itself, and best left alone. */
export const YOUNG_MS = 5_000;
/** How long visibility may lag behind the truth before it is believed. */
export const VISIBILITY_LAG_MS = 3_000;
/** How long nothing is started while Temporal is away: at first, and at most, as it doubles. */
export const PAUSE_FIRST_MS = 100;
export const PAUSE_MOST_MS = 5_000;
/** How long one run whose start or signal failed waits until it is tried again: at first, and at most, as it doubles. */
export const RETRY_FIRST_MS = 1_000;
export const RETRY_MOST_MS = 30_000;
/** A run that ended and left its resource unconverged, as far as the watch shows, is started again after this. */
export const AGAIN_FIRST_MS = 5_000;

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  /** From 0 to 1, as Math.random. */
  readonly random: () => number;
}

const HEALTHY_MS = 1000;

/** Waits that double up to a cap, each shortened by up to a half by chance so that many clients do not knock at once. */
export class Backoff {
  readonly #options: BackoffOptions;
  #attempts = 0;
  #lastMs = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** How long to wait now, in milliseconds. */
  next(): number {
    const { firstMs, maxMs, random } = this.#options;
    const fullMs = Math.min(maxMs, firstMs * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#lastMs = fullMs * (0.5 + random() / 2);
    return this.#lastMs;
  }

  /**
   * Starts over after something has worked for longer than the last wait, and than a second: so what breaks
   * now and then is soon repaired, and what breaks at once is left in peace.
   */
  workedFor(ms: number): void {
    if (ms > Math.max(this.#lastMs, HEALTHY_MS)) this.#attempts = 0;
  }
}

/** Exponential, in milliseconds; without jitter, for keys that spread by themselves since each counts for itself. */
export function backoffMs(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 20), mostMs);
}

/** One timer a key; each is called once. */
export class KeyTimers {
  readonly #timers = new Map<string, NodeJS.Timeout>();

  /** In the stead of the one that the key has. @param ms negative: it is overdue, and called as soon as possible */
  set(key: string, ms: number, onTime: () => void): void {
    this.cancel(key);
    // Node warns of a negative time.
    const timer = setTimeout(
      () => {
        this.cancel(key);
        onTime();
      },
      Math.max(0, ms),
    );
    this.#timers.set(key, timer.unref());
  }

  cancel(key: string): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
  }

  cancelAll(): void {
    for (const key of this.#timers.keys()) this.cancel(key);
  }
}
