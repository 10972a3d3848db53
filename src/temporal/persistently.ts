import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../api/logger.ts';

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 10_000;

export interface Persistence {
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called with what an attempt has failed of. */
  readonly onWait?: ((words: string) => void) | undefined;
}

/**
 * Tries until it succeeds, with growing pauses. What it waits for is logged, once for each reason.
 *
 * @param problem says in a line what an attempt has failed of; what it throws ends the attempts
 * @throws AbortError where the signal came first
 */
export async function persistently<T>(
  { log, signal, onWait }: Persistence,
  attempt: () => Promise<T>,
  problem: (message: string, error: unknown) => string,
): Promise<T> {
  let said = '';
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MOST_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      const words = problem(firstLine(error), error);
      if (words !== said) log.warn({}, words);
      said = words;
      onWait?.(words);
      await delay(waitMs, undefined, { signal });
    }
  }
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? '';
}
