import type { Outcome } from '../src/contract/run.ts';
import { ApiError, type ApiErrorClass } from '../src/kubernetes/errors.ts';

/** How often a pass reads again at once; beyond it, the conflict is left to the retry's backoff. */
const READS_MAX = 4;

/**
 * Acts on what was seen, or reads first where nothing was; where the world has changed in between, reads and
 * decides again, at once.
 *
 * @throws ApiError the last conflict, where somebody always writes in between
 */
export async function rereadingOnConflict<State>(
  seen: State | undefined,
  read: () => Promise<State>,
  act: (state: State) => Promise<Outcome>,
): Promise<Outcome> {
  let state = seen ?? (await read());
  for (let reads = 1; ; reads += 1) {
    try {
      return await act(state);
    } catch (error) {
      if (!isStale(error) || reads >= READS_MAX) throw error;
      state = await read();
    }
  }
}

/** A target that is not there is as much a changed world as one that somebody else wrote. */
function isStale(error: unknown): boolean {
  return error instanceof ApiError && STALE.has(error.classification);
}

const STALE = new Set<ApiErrorClass>(['conflict', 'already-exists', 'not-found']);
