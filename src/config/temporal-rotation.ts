import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { temporalFrom, type TemporalTarget } from './temporal.ts';

const EVERY_MS = 30_000;

/**
 * Resolves once the files of Temporal's configuration say something else than at the start: a certificate, a key or an API
 * key was rotated, which an open connection does not notice. What is just being written, or cannot be read, does not
 * count yet.
 *
 * @throws AbortError where the signal came first
 */
export async function temporalConfigRotated(
  started: TemporalTarget,
  env: NodeJS.ProcessEnv,
  { signal, everyMs = EVERY_MS }: { readonly signal: AbortSignal; readonly everyMs?: number },
): Promise<void> {
  let last: TemporalTarget | undefined = started;
  for (;;) {
    await delay(everyMs, undefined, { signal, ref: false });
    const now = targetNow(env);
    const isSettled = now !== undefined && isDeepStrictEqual(now, last);
    if (isSettled && !isDeepStrictEqual(now, started)) return;
    last = now;
  }
}

function targetNow(env: NodeJS.ProcessEnv): TemporalTarget | undefined {
  const problems: string[] = [];
  const target = temporalFrom(env, (problem) => problems.push(problem));
  return problems.length === 0 ? target : undefined;
}
