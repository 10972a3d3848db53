import { setTimeout as delay } from 'node:timers/promises';

/** So many requests per second on average, and so many at once after a pause. */
export interface Rate {
  readonly qps: number;
  readonly burst: number;
}

/**
 * Lets calls through at a rate, in their order: the generic cell rate algorithm, as token buckets are kept without a timer.
 *
 * @param now milliseconds, on a clock that never goes back
 */
export class RateLimit {
  readonly #intervalMs: number;
  readonly #toleranceMs: number;
  readonly #now: () => number;
  /** When the bucket will be full again. */
  #fullAtMs = -Infinity;

  constructor({ qps, burst }: Rate, now = () => performance.now()) {
    this.#intervalMs = 1_000 / qps;
    this.#toleranceMs = (burst - 1) * this.#intervalMs;
    this.#now = now;
  }

  /** Takes the next turn. @returns how long to wait for it, in milliseconds */
  take(): number {
    const nowMs = this.#now();
    const fullAtMs = Math.max(this.#fullAtMs, nowMs);
    this.#fullAtMs = fullAtMs + this.#intervalMs;
    return Math.max(0, fullAtMs - this.#toleranceMs - nowMs);
  }

  /** Resolves when it is the caller's turn. @throws AbortError */
  async turn(signal?: AbortSignal): Promise<void> {
    const waitMs = this.take();
    if (waitMs > 0) await delay(waitMs, undefined, { ...(signal && { signal }) });
  }
}
