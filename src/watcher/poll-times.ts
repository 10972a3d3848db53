import { hash } from 'node:crypto';
import { millisecondsIn } from '../api/duration.ts';
import { KeyTimers } from './timing.ts';

/** Nothing is stored, so nobody knows when a resource was polled before this process began. */
const FIRST_MOST_MS = 3_600_000;
/** A timer of Node cannot be longer. */
const MOST_MS = 2 ** 31 - 1;
/** A timer may fire before the clock has come so far. */
const EARLY_MS = 1_000;

interface Polled {
  readonly uid: string;
  /** As somebody wrote it. */
  readonly interval: string;
  readonly everyMs: number;
}

/**
 * When resources are to be polled. The clock and the UID say it, so that polls are spread over the interval, and a process that starts often
 * leaves none out.
 */
export class PollTimes {
  readonly #polled = new Map<string, Polled>();
  readonly #timers = new KeyTimers();
  readonly #onDue: (key: string, interval: string) => void;

  constructor(onDue: (key: string, interval: string) => void) {
    this.#onDue = onDue;
  }

  /** The resource as the watch shows it. @param interval a duration; undefined: it is not polled */
  seen(key: string, uid: string, interval: string | undefined): void {
    const everyMs = interval === undefined ? undefined : millisecondsIn(interval);
    if (interval === undefined || everyMs === undefined) {
      this.forget(key);
      return;
    }
    const before = this.#polled.get(key);
    if (before?.uid === uid && before.interval === interval) return;
    const polled = { uid, interval, everyMs: Math.min(everyMs, MOST_MS) };
    this.#polled.set(key, polled);
    this.#schedule(key, polled, Math.min(polled.everyMs, FIRST_MOST_MS));
  }

  /** This process begins to lead: when another one has polled last is not known. */
  lead(): void {
    for (const [key, polled] of this.#polled)
      this.#schedule(key, polled, Math.min(polled.everyMs, FIRST_MOST_MS));
  }

  forget(key: string): void {
    this.#polled.delete(key);
    this.#timers.cancel(key);
  }

  stop(): void {
    this.#polled.clear();
    this.#timers.cancelAll();
  }

  #schedule(key: string, polled: Polled, everyMs: number): void {
    this.#timers.set(key, untilPhaseMs(polled.uid, everyMs, Date.now()), () => {
      this.#schedule(key, polled, polled.everyMs);
      this.#onDue(key, polled.interval);
    });
  }
}

/** How long until its time comes, in each interval the same one. Longer than {@link EARLY_MS}. */
export function untilPhaseMs(uid: string, everyMs: number, nowMs: number): number {
  const sinceMs = (nowMs - fractionOf(uid) * everyMs) % everyMs;
  return EARLY_MS + everyMs - sinceMs;
}

const DIGITS = 12;

/** From 0 to 1, of all UIDs evenly spread. */
function fractionOf(uid: string): number {
  return Number.parseInt(hash('sha256', uid).slice(0, DIGITS), 16) / 16 ** DIGITS;
}
