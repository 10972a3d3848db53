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
        // It is the turn of the others.
        this.#groups.delete(group);
        this.#groups.set(group, keys);
        this.#remove(group, key);
        return key;
      }
    }
    return undefined;
  }

  /** Removes the key that was added last to the group with most of them. */
  dropLast(): string | undefined {
    let most: ReadonlySet<string> = new Set();
    for (const keys of this.#groups.values()) if (keys.size > most.size) most = keys;
    const last = [...most].at(-1);
    if (last !== undefined) this.#remove(this.#groupOf(last), last);
    return last;
  }

  clear(): void {
    this.#groups.clear();
    this.#size = 0;
  }

  #remove(group: string, key: string): void {
    const keys = this.#groups.get(group);
    if (keys?.delete(key) !== true) return;
    if (keys.size === 0) this.#groups.delete(group);
    this.#size -= 1;
  }
}
