import type { EventObject } from './event-object.ts';

/** An Event that keeps occurring is sent again, as a series, after so long. */
const RESEND_AFTER_MS = 10 * 60_000;
const REMEMBERED_MAX = 4_096;

interface Met {
  /** When it was last sent to the server; in milliseconds since the epoch. */
  readonly sentMs: number;
  readonly count: number;
}

/** The Events that this process has met lately; of too many, those are forgotten that were not met for longest. */
export class RecentEvents {
  readonly #met = new Map<string, Met>();

  /** @returns how often it has occurred by now, or undefined if it does not have to be sent again yet */
  met(object: EventObject, nowMs: number): number | undefined {
    const key = keyOf(object);
    const before = this.#met.get(key);
    const wasSent = before !== undefined && this.isRecent(before.sentMs, nowMs);
    const count = (before?.count ?? 0) + 1;
    this.#remember(key, { sentMs: wasSent ? before.sentMs : nowMs, count });
    return wasSent ? undefined : count;
  }

  /** The count that the server has, whichever process sent it. */
  counted(object: EventObject, count: number): void {
    const key = keyOf(object);
    const met = this.#met.get(key);
    if (met !== undefined) this.#met.set(key, { ...met, count });
  }

  /** It was not recorded after all. */
  forget(object: EventObject): void {
    this.#met.delete(keyOf(object));
  }

  isRecent(sentMs: number, nowMs: number): boolean {
    return nowMs - sentMs < RESEND_AFTER_MS;
  }

  #remember(key: string, met: Met): void {
    this.#met.delete(key);
    this.#met.set(key, met);
    const [oldest] = this.#met.keys();
    if (this.#met.size > REMEMBERED_MAX && oldest !== undefined) this.#met.delete(oldest);
  }
}

function keyOf({ metadata }: EventObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
