import { setTimeout as pause } from 'node:timers/promises';

/** What the demonstration shows did not happen. The message says what was expected, and what there was. */
export class DemoFailed extends Error {
  override readonly name = 'DemoFailed';
}

/** @throws DemoFailed */
export function expectThat(isSo: boolean, expected: string, found: unknown): void {
  if (!isSo) throw new DemoFailed(`expected ${expected}; found ${JSON.stringify(found)}`);
}

const WITHIN_MS = 90_000;
const INTERVAL_MS = 50;

/**
 * Asks until there is an answer.
 *
 * @throws DemoFailed after 90 s, or the signal's reason
 */
export async function until<T>(
  expected: string,
  signal: AbortSignal,
  probe: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    signal.throwIfAborted();
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > deadline) {
      throw new DemoFailed(`expected within ${WITHIN_MS / 1000} s: ${expected}`);
    }
    await pause(INTERVAL_MS, undefined, { signal });
  }
}
