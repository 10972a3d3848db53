import { setTimeout as delay } from 'node:timers/promises';

/** So many requests per second on average, and so many at once after a pause. */
export interface Rate {
  readonly qps: number;
  readonly burst: number;
}

export interface Turn {
  /** Default: as long as it takes. */
  readonly mostMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Lets calls through at a rate, in their order: the generic cell rate algorithm, as token buckets are kept without a timer.
 *
 * @param now milliseconds, on a clock that never goes back
 */
export class RateLimit {
  readonly #rate: Rate;
  readonly #intervalMs: number;
  readonly #toleranceMs: number;
  readonly #now: () => number;
  /** When the bucket will be full again. */
  #fullAtMs = -Infinity;

  constructor(rate: Rate, now = () => performance.now()) {
    const { qps, burst } = rate;
    this.#rate = rate;
    this.#intervalMs = 1_000 / qps;
    this.#toleranceMs = (burst - 1) * this.#intervalMs;
    this.#now = now;
  }

  /**
   * Takes the next turn, unless it comes later than that.
   * @returns how long to wait for it, in whole milliseconds; undefined where it was not taken
   */
  take(mostMs = Infinity): number | undefined {
    const waitMs = this.#nextInMs();
    if (waitMs > mostMs) return undefined;
    this.#fullAtMs = Math.max(this.#fullAtMs, this.#now()) + this.#intervalMs;
    return waitMs;
  }

  /**
   * Resolves when it is the caller's turn, with how long that took. A caller that would wait for longer than `mostMs` fails at
   * once, and takes no turn from those that can still use it. @throws Error, AbortError
   */
  async turn({ mostMs, signal }: Turn): Promise<number> {
    const waitMs = this.take(mostMs);
    if (waitMs === undefined)
      throw new Error(
        `not sent: its turn would come after ${this.#nextInMs()} ms, and it may take ${mostMs} ms; ` +
          `this process sends at most ${this.#rate.qps} requests per second (--kube-api-qps)`,
      );
    if (waitMs > 0) await delay(waitMs, undefined, { ...(signal && { signal }) });
    return waitMs;
  }

  #nextInMs(): number {
    const nowMs = this.#now();
    return Math.ceil(Math.max(0, this.#fullAtMs - this.#toleranceMs - nowMs));
  }
}
