import type { Deed } from './decision.ts';

/** How many names of created or deleted objects a sentence or a result holds. */
const NAMES_MAX = 5;

/** Adds up deeds of the same words: a whole run is summed up in one sentence. */
export function addedUp(deeds: readonly Deed[]): readonly Deed[] {
  const sums = new Map<string, Deed>();
  for (const deed of deeds) {
    const key = `${deed.did} ${deed.what}`;
    const before = sums.get(key);
    sums.set(key, before === undefined ? deed : sumOf(before, deed));
  }
  return [...sums.values()];
}

function sumOf(one: Deed, other: Deed): Deed {
  if (one.isOnce) return one;
  const names = [...(one.names ?? []), ...(other.names ?? [])].slice(0, NAMES_MAX);
  return {
    did: one.did,
    what: one.what,
    count: (one.count ?? 1) + (other.count ?? 1),
    ...(names.length > 0 && { names }),
  };
}

/** `created 300 Pods, updated the status 3 times`; empty where nothing was done. */
export function sentenceOf(deeds: readonly Deed[]): string {
  return addedUp(deeds).map(phraseOf).join(', ');
}

function phraseOf({ did, what, count, names = [] }: Deed): string {
  if (names.length === 0 && count !== undefined && !isCountable(what)) {
    return count === 1 ? `${did} ${what}` : `${did} ${what} ${count} times`;
  }
  if (count === undefined) return `${did} ${what}`;
  const named = count <= names.length ? ` ${names.join(', ')}` : '';
  return count === 1 ? `${did} ${what}${named}` : `${did} ${count} ${what}s${named}`;
}

/** A kind, such as `Pod` or `failed Pod`, can be counted; `the status` or `label a=b` happen so many times. */
function isCountable(what: string): boolean {
  return /^(?:[a-z]+ )?[A-Z][A-Za-z]*$/.test(what);
}
