import { setTimeout as delay } from 'node:timers/promises';

/** A step that hangs must not hold up for long the one that a change has called for. */
const PATIENCE_MS = 300;

interface Turn {
  readonly superseded: AbortController;
  readonly ended: Promise<unknown>;
}

/**
 * Lets a newer step of a resource ask the one that still goes on in this process to come to its end, and waits for
 * that: Temporal abandons an attempt that a change has made obsolete, but cannot stop it. It saves work, and is not
 * what makes steps safe: attempts in other processes overlap as they like.
 */
export class Superseding {
  readonly #turns = new Map<string, Turn>();

  /**
   * @param resource its UID
   * @param step is given a signal that is aborted once a newer step waits
   */
  async run<T>(resource: string, step: (superseded: AbortSignal) => Promise<T>): Promise<T> {
    const before = this.#turns.get(resource);
    const superseded = new AbortController();
    const work = this.#after(before, () => step(superseded.signal));
    const turn = { superseded, ended: work.catch(() => undefined) };
    this.#turns.set(resource, turn);
    try {
      return await work;
    } finally {
      if (this.#turns.get(resource) === turn) this.#turns.delete(resource);
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
