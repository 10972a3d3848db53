import { setTimeout as delay } from 'node:timers/promises';

type Found<T> = NonNullable<Exclude<Awaited<T>, false>>;

/**
 * Resolves with what `look` finds, once it finds something other than undefined or false; a look that throws
 * has found nothing yet, so it may end in `expect`.
 *
 * @param withinMs Default: 20,000, for what is in this process and can be looked at without pause.
 * @throws after that time, with the last error of `look` where there was one
 */
export async function eventually<T>(look: () => T, withinMs?: number): Promise<Found<T>> {
  const [mostMs, pauseMs] = withinMs === undefined ? [20_000, 2] : [withinMs, 50];
  for (const deadline = Date.now() + mostMs; ;) {
    const [found, error] = await attempt(look);
    if (isFound(found)) return found;
    if (Date.now() > deadline)
      throw error instanceof Error ? error : new Error(`never came true: ${String(look)}`);
    await delay(pauseMs);
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
