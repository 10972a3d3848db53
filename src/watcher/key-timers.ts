/** One timer a key; each is called once. */
export class KeyTimers {
  readonly #timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly onTime: () => void }>();

  /** In the stead of the one that the key has. */
  set(key: string, ms: number, onTime: () => void): void {
    this.cancel(key);
    const timer = setTimeout(() => this.fire(key), ms);
    this.#timers.set(key, { timer: timer.unref(), onTime });
  }

  /** Calls it now, if the key has one. */
  fire(key: string): void {
    const found = this.#timers.get(key);
    this.cancel(key);
    found?.onTime();
  }

  cancel(key: string): void {
    clearTimeout(this.#timers.get(key)?.timer);
    this.#timers.delete(key);
  }

  cancelAll(): void {
    for (const key of [...this.#timers.keys()]) this.cancel(key);
  }
}
