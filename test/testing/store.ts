import type { Stored } from '../support/bucket.ts';

/** The store of test/support/bucket.ts, as plain state with functions on it. */
export function aStore() {
  return {
    buckets: {} as Record<string, Stored>,
    find(uid: string): Stored | undefined {
      return this.buckets[uid];
    },
    list(from: number): { readonly items: readonly (readonly [string, Stored])[]; readonly next?: number } {
      const all = Object.entries(this.buckets);
      return { items: all.slice(from, from + 1), ...(from + 1 < all.length && { next: from + 1 }) };
    },
    create(uid: string): void {
      this.buckets[uid] ??= { versioned: false };
    },
    setVersioning(uid: string, versioned: boolean): void {
      if (this.buckets[uid] !== undefined) this.buckets[uid] = { versioned };
    },
    remove(uid: string): void {
      Reflect.deleteProperty(this.buckets, uid);
    },
  };
}
