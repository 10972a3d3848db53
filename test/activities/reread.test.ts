import { describe, expect, it } from '@jest/globals';
import { rereadingOnConflict } from '../../activities/reread.ts';
import { converged, type Outcome } from '../../src/contract/run.ts';
import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';

const failing = (classification: ApiErrorClass) => new ApiError(classification, { classification });

/** A world that is read as `live-1`, `live-2` …, and whose writes fail as told, one after the other. */
function aWorld(...failures: readonly Error[]) {
  const calls: string[] = [];
  let reads = 0;
  return {
    calls,
    read: () => {
      calls.push('read');
      return Promise.resolve(`live-${(reads += 1)}`);
    },
    act: (state: string): Promise<Outcome> => {
      const failure = failures[calls.filter((call) => call.startsWith('act')).length];
      calls.push(`act on ${state}`);
      return failure ? Promise.reject(failure) : Promise.resolve(converged(`acted on ${state}`));
    },
  };
}

describe('rereadingOnConflict', () => {
  it('acts on what was seen without reading', async () => {
    const { read, act, calls } = aWorld();
    expect(await rereadingOnConflict('seen', read, act)).toEqual(converged('acted on seen'));
    expect(calls).toEqual(['act on seen']);
  });

  it('reads first where nothing was seen', async () => {
    const { read, act, calls } = aWorld();
    expect(await rereadingOnConflict(undefined, read, act)).toEqual(converged('acted on live-1'));
    expect(calls).toEqual(['read', 'act on live-1']);
  });

  it.each(['conflict', 'already-exists', 'not-found'] as const)(
    'reads again, at once, after %s',
    async (kind) => {
      const { read, act, calls } = aWorld(failing(kind));
      expect(await rereadingOnConflict('seen', read, act)).toEqual(converged('acted on live-1'));
      expect(calls).toEqual(['act on seen', 'read', 'act on live-1']);
    },
  );

  it('leaves it to the backoff where somebody always writes in between', async () => {
    const conflicts = Array.from({ length: 9 }, () => failing('conflict'));
    const { read, act, calls } = aWorld(...conflicts);
    await expect(rereadingOnConflict('seen', read, act)).rejects.toBe(conflicts[3]);
    expect(calls).toEqual([
      'act on seen',
      'read',
      'act on live-1',
      'read',
      'act on live-2',
      'read',
      'act on live-3',
    ]);
  });

  it.each(['retry-after', 'unavailable', 'access-denied', 'refused', 'api-missing'] as const)(
    'does not read again after %s',
    async (kind) => {
      const failure = failing(kind);
      const { read, act, calls } = aWorld(failure);
      await expect(rereadingOnConflict('seen', read, act)).rejects.toBe(failure);
      expect(calls).toEqual(['act on seen']);
    },
  );
});
