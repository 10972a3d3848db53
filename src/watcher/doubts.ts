/** How long the watch is given to tell of a deletion that a read has met. */
const TOLD_WITHIN_MS = 10_000;
const CHECK_EVERY_MS = 10_000;

/**
 * When it is worth a request to find out whether the server of a watch has gone back in time without ending it: after reads that
 * contradict what the watch has shown. Everyday deletions cost nothing.
 */
export class Doubts {
  readonly #check: () => void;
  readonly #deletions = new Map<string, NodeJS.Timeout>();
  #planned: NodeJS.Timeout | undefined;
  #nextMs = -Infinity;

  /** @param check called at most once in ten seconds */
  constructor(check: () => void) {
    this.#check = check;
  }

  /**
   * Something is gone, as a read has shown.
   *
   * @param isStillShown asked once the watch has had time to tell it
   */
  gone(key: string, isStillShown: () => boolean): void {
    if (this.#deletions.has(key)) return;
    const timer = setTimeout(() => {
      this.#deletions.delete(key);
      if (isStillShown()) this.isBack();
    }, TOLD_WITHIN_MS);
    this.#deletions.set(key, timer.unref());
  }

  /** Something is older than the watch has shown it. */
  isBack(): void {
    if (this.#planned !== undefined) return;
    const afterMs = this.#nextMs - performance.now();
    if (afterMs > 0) this.#planned = setTimeout(() => this.#checkNow(), afterMs).unref();
    else this.#checkNow();
  }

  #checkNow(): void {
    this.#planned = undefined;
    this.#nextMs = performance.now() + CHECK_EVERY_MS;
    this.#check();
  }

  stop(): void {
    for (const timer of this.#deletions.values()) clearTimeout(timer);
    this.#deletions.clear();
    clearTimeout(this.#planned);
  }
}
