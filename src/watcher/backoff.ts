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
