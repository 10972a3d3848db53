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
