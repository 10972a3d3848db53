import { Context } from '@temporalio/activity';
import { addedUp, type Action } from '../src/runs/decision.ts';
import { HEARTBEAT_EVERY_MS, type Heartbeat } from '../src/runs/run.ts';

/** What an attempt says of itself as it goes on. */
export interface Progress {
  /** What it has done so far. */
  readonly did: (did: readonly Action[]) => void;
  /** It may take effect since then, in milliseconds since the epoch. */
  readonly begins: (atMs: number) => void;
}

/**
 * Sends heartbeats during a durable attempt. So Temporal notices a killed or frozen worker long before the step times out, and the next
 * attempt knows what this one has done.
 *
 * @param before what is to be reported with it
 */
export async function withHeartbeats<T>(
  before: readonly Action[],
  attempt: (progress: Progress) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  if (context.info.isLocal) return attempt({ did: () => undefined, begins: () => undefined });
  let soFar: readonly Action[] = [];
  let begunMs: number | undefined;
  const beat = () =>
    context.heartbeat({ did: addedUp([...before, ...soFar]), ...(begunMs !== undefined && { begunMs }) });
  const beating = setInterval(beat, HEARTBEAT_EVERY_MS);
  try {
    // The next heartbeat says it: an attempt that is lost before that counts as begun when its loss is noticed, which is later.
    return await attempt({ did: (did) => (soFar = did), begins: (atMs) => (begunMs = atMs) });
  } catch (error) {
    if (soFar.length > 0 || begunMs !== undefined) beat();
    throw error;
  } finally {
    clearInterval(beating);
  }
}

/** What the last heartbeat of earlier attempts says. An attempt of an older version says only what it did. */
export function lastHeartbeat(): Partial<Heartbeat> {
  const details: unknown = Context.current().info.heartbeatDetails;
  return Array.isArray(details) ? { did: details as readonly Action[] } : (details ?? {});
}
