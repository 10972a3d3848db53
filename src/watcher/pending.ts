import type { ResourceRef } from '../contract/resource.ts';

/** What the watcher knows of the run of a resource: whether it was open when it was last told, or listed. */
export type RunState = 'unknown' | 'open';

/**
 * A resource that may have an open run or is to get one. Converged resources have no entry, so an idle
 * watcher remembers nothing but projections.
 */
export interface Pending {
  readonly ref: ResourceRef;
  run: RunState;
  /** A list of the open runs has shown it, some time after it was last started or told. */
  listed: boolean;
  /** When it was last listed, it waited for a change of its resource. */
  stalled: boolean;
  /** The run is to be started or told. */
  dirty: boolean;
  /** A start or signal is under way. */
  busy: boolean;
  /** What the run was last told of; undefined: it has to be told. */
  told: string | undefined;
  /** When it was last started or told, in milliseconds since the epoch; 0 where no run is known that has not ended. */
  touchedAtMs: number;
  /** Not to be started or told before; milliseconds since the epoch. */
  notBeforeMs: number;
  /** Since when the resource has needed something, in milliseconds since the epoch; undefined: it does not. */
  neededSinceMs: number | undefined;
  /** How often in a row it could not be started or told. */
  failures: number;
  /** How often in a row a run ended and left its resource as it was. */
  fruitless: number;
}

export function pendingFor(ref: ResourceRef): Pending {
  return {
    ref,
    run: 'unknown',
    listed: false,
    stalled: false,
    dirty: false,
    busy: false,
    told: undefined,
    touchedAtMs: 0,
    notBeforeMs: 0,
    neededSinceMs: undefined,
    failures: 0,
    fruitless: 0,
  };
}

/** Exponential, without jitter: keys already spread, since each counts for itself. */
export function backoffMs(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 20), mostMs);
}
