import { Context } from '@temporalio/activity';
import { addedUp, type Action } from '../src/contract/decision.ts';
import { HEARTBEAT_EVERY_MS } from '../src/contract/run.ts';

/** What an attempt has done so far. */
export type Progress = (did: readonly Action[]) => void;

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
  if (context.info.isLocal) return attempt(() => undefined);
  let soFar: readonly Action[] = [];
  const beat = () => context.heartbeat(addedUp([...before, ...soFar]));
  const beating = setInterval(beat, HEARTBEAT_EVERY_MS);
  try {
    return await attempt((did) => (soFar = did));
  } catch (error) {
    if (soFar.length > 0) beat();
    throw error;
  } finally {
    clearInterval(beating);
  }
}

/** What earlier attempts have done, as far as the last heartbeat says it. Undefined: there was none. */
export function doneBefore(): readonly Action[] | undefined {
  const details: unknown = Context.current().info.heartbeatDetails;
  return Array.isArray(details) ? (details as readonly Action[]) : undefined;
}
