/** Calls in progress at a time, at most. */
const LARGEST_BATCH = 16;

export interface Batching {
  /** How many are begun with; each batch then has twice as many as the one before, up to 16. */
  readonly firstSize: number;
  /** Asked before each batch but the first: a step always makes progress. */
  readonly isTimeUp: () => boolean;
  /** Called before each batch; if it fails, nothing more is begun. */
  readonly prepare?: (() => Promise<void>) | undefined;
}

/** What was done, and the first failure, which ended it. */
export interface BatchesEnd<R> {
  readonly done: readonly R[];
  readonly failure: { readonly error: unknown } | undefined;
}

/**
 * Acts on items in batches that grow, until one fails or the time is up: where all of them are refused, that
 * costs one call, and not thousands. Source: the ReplicaSet controller, `slowStartBatch`.
 */
export async function inBatches<T, R>(
  items: readonly T[],
  act: (item: T) => Promise<R>,
  { firstSize, isTimeUp, prepare }: Batching,
): Promise<BatchesEnd<R>> {
  const done: R[] = [];
  let size = Math.min(firstSize, LARGEST_BATCH);
  for (let begun = 0; begun < items.length && (begun === 0 || !isTimeUp());) {
    const batch = items.slice(begun, begun + size);
    try {
      await prepare?.();
    } catch (error) {
      return { done, failure: { error } };
    }
    const ends = await Promise.allSettled(batch.map(act));
    for (const end of ends) if (end.status === 'fulfilled') done.push(end.value);
    const rejected = ends.find((end) => end.status === 'rejected');
    if (rejected !== undefined) return { done, failure: { error: rejected.reason } };
    begun += batch.length;
    size = Math.min(size * 2, LARGEST_BATCH);
  }
  return { done, failure: undefined };
}

/** The first batch is already as large as any: what is deleted is not refused for being too much. */
export const AT_ONCE = LARGEST_BATCH;
/** One call finds out whether it is refused. */
export const SLOWLY = 1;
