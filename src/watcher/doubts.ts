import type { Projection } from './known-objects.ts';

/** How long the watch is given to tell of a deletion that a read has met. */
const TOLD_WITHIN_MS = 10_000;
const CHECK_EVERY_MS = 10_000;
const LIST_EVERY_MS = 600_000;

/**
 * When it is worth a request to find out whether the server of a watch has gone back in time without ending it: after reads that
 * contradict what the watch has shown. Everyday deletions cost nothing.
 */
export class Doubts {
  readonly #check: (shown: Projection) => void;
  readonly #deletions = new Map<string, NodeJS.Timeout>();
  #planned: NodeJS.Timeout | undefined;
  #nextMs = -Infinity;
  #nextListMs = -Infinity;

  /** @param check called at most once in ten seconds, with an object that is doubted */
  constructor(check: (shown: Projection) => void) {
    this.#check = check;
  }

  /**
   * Something is gone, as a read has shown.
   *
   * @param isStillShown asked once the watch has had time to tell it
   */
  gone(shown: Projection, isStillShown: () => boolean): void {
    if (this.#deletions.has(shown.key)) return;
    const timer = setTimeout(() => {
      this.#deletions.delete(shown.key);
      if (isStillShown()) this.isBack(shown);
    }, TOLD_WITHIN_MS);
    this.#deletions.set(shown.key, timer.unref());
  }

  /** Something is older than the watch has shown it. */
  isBack(shown: Projection): void {
    if (this.#planned !== undefined) return;
    const afterMs = this.#nextMs - performance.now();
    if (afterMs > 0) this.#planned = setTimeout(() => this.#checkNow(shown), afterMs).unref();
    else this.#checkNow(shown);
  }

  #checkNow(shown: Projection): void {
    this.#planned = undefined;
    this.#nextMs = performance.now() + CHECK_EVERY_MS;
    this.#check(shown);
  }

  /** Asked before all objects are listed because of one. @returns true at most once in ten minutes */
  mayList(): boolean {
    const nowMs = performance.now();
    if (nowMs < this.#nextListMs) return false;
    this.#nextListMs = nowMs + LIST_EVERY_MS;
    return true;
  }

  stop(): void {
    for (const timer of this.#deletions.values()) clearTimeout(timer);
    this.#deletions.clear();
    clearTimeout(this.#planned);
  }
}
