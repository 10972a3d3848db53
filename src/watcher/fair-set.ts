/** Keys that take turns by their groups: however many keys one group has, those of another wait for one of them at most. */
export class FairSet {
  readonly #groupOf: (key: string) => string;
  /** Those whose turn it is first, first. */
  readonly #groups = new Map<string, Set<string>>();
  #size = 0;

  constructor(groupOf: (key: string) => string) {
    this.#groupOf = groupOf;
  }

  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    return this.#groups.get(this.#groupOf(key))?.has(key) ?? false;
  }

  add(key: string): void {
    if (this.has(key)) return;
    const group = this.#groupOf(key);
    this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(key));
    this.#size += 1;
  }

  /** Removes the key that is next. */
  take(): string | undefined {
    for (const [group, keys] of this.#groups) {
      for (const key of keys) {
        keys.delete(key);
        // It is the turn of the others.
        this.#groups.delete(group);
        if (keys.size > 0) this.#groups.set(group, keys);
        this.#size -= 1;
        return key;
      }
    }
    return undefined;
  }

  clear(): void {
    this.#groups.clear();
    this.#size = 0;
  }
}
