import { setTimeout as delay } from 'node:timers/promises';

type Found<T> = NonNullable<Exclude<Awaited<T>, false>>;

/**
 * Resolves with what `look` finds, once it finds something other than undefined or false; a look that throws
 * has found nothing yet, so it may end in `expect`.
 *
 * @throws after `withinMs` (5 s), with the last error of `look` where there was one
 */
export async function eventually<T>(look: () => T, withinMs = 5_000): Promise<Found<T>> {
  for (const deadline = Date.now() + withinMs; ;) {
    const [found, error] = await attempt(look);
    if (isFound(found)) return found;
    if (Date.now() > deadline)
      throw error instanceof Error ? error : new Error(`never came true: ${String(look)}`);
    await delay(withinMs > 5_000 ? 50 : 2);
  }
}

async function attempt<T>(look: () => T): Promise<[Awaited<T> | undefined, unknown]> {
  try {
    return [await look(), undefined];
  } catch (error) {
    return [undefined, error];
  }
}

function isFound<T>(found: T): found is Found<T> & T {
  return found !== undefined && found !== null && found !== false;
}
