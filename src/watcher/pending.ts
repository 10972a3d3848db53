import type { ResourceRef } from '../contract/resource.ts';
import type { RunsState } from '../contract/telemetry.ts';
import { fingerprintOf, type Evaluation } from './evaluation.ts';
import type { Reported } from './news.ts';
import { AGAIN_FIRST_MS, ENDED_AFTER_MS, STANDING_IN_BACKOFF_MS, STANDING_MS, YOUNG_MS } from './timing.ts';

/** What the watcher knows of the run of a resource: whether it was open when it was last signalled, or listed. */
export type RunState = 'unknown' | 'open';

/**
 * A resource that may have an open run or is to get one. Converged resources have no entry, so an idle
 * watcher remembers nothing but projections. Times are on the clock of `performance.now()`, which nobody sets.
 */
export interface Pending {
  readonly ref: ResourceRef;
  run: RunState;
  /** A list of the open runs has shown it, some time after it was last started or signalled. */
  listed: boolean;
  /** When it was last listed, it waited for a change of its resource. */
  stalled: boolean;
  /** The run is to be started or signalled. */
  dirty: boolean;
  /** A start or signal is under way. */
  busy: boolean;
  /** What the run was last started or signalled with; undefined: it has to be. */
  reported: Reported | undefined;
  /** The run was signalled that its resource is gone or in its desired state. */
  notNeeded: boolean;
  /** What the last run was started or signalled for; undefined once the resource was in its desired state. */
  requestedFor: { readonly fingerprint: string; readonly inputs: string } | undefined;
  /** When the view shows what the last run did, as far as can be told. */
  settledAtMs: number;
  /** When it was last started or signalled; {@link NEVER} where no run is known that has not ended. */
  touchedAtMs: number;
  /** Not to be started or signalled before. */
  notBeforeMs: number;
  /** Since when the resource has needed a run; undefined: it does not. */
  requestedAtMs: number | undefined;
  /** How often in a row it could not be started or signalled. */
  failures: number;
  /** How often in a row a run ended and left its resource as it was. */
  withoutEffect: number;
}

const NEVER = -Infinity;

export function pendingFor(ref: ResourceRef): Pending {
  return {
    ref,
    run: 'unknown',
    listed: false,
    stalled: false,
    dirty: false,
    busy: false,
    reported: undefined,
    notNeeded: false,
    requestedFor: undefined,
    settledAtMs: 0,
    touchedAtMs: NEVER,
    notBeforeMs: 0,
    requestedAtMs: undefined,
    failures: 0,
    withoutEffect: 0,
  };
}

/** Its run was just started or signalled. */
export function touched(pending: Pending, run: RunState): void {
  pending.run = run;
  pending.listed = false;
  pending.stalled = false;
  pending.touchedAtMs = performance.now();
}

/** Its run has ended, as far as is known. */
export function forgetRun(pending: Pending): void {
  pending.run = 'unknown';
  pending.reported = undefined;
  pending.listed = false;
  pending.touchedAtMs = NEVER;
}

/** How long a step has to stand in the view to be news to the run. */
export function standingMs({ touchedAtMs }: Pending): number {
  return performance.now() - touchedAtMs > YOUNG_MS ? STANDING_IN_BACKOFF_MS : STANDING_MS;
}

/** Whether a run was started or signalled that has not ended, as far as is known. */
export function hasRun({ touchedAtMs }: Pending): boolean {
  return touchedAtMs !== NEVER;
}

/** Its run has ended, and the view still calls for one: the next one waits. */
export function pauseAfterEnd(pending: Pending, evaluation: Evaluation, mostMs: number): void {
  const nowMs = performance.now();
  const isSame = pending.requestedFor?.fingerprint === fingerprintOf(evaluation);
  // Where run after run ends and leaves the view as it was, watcher and live state disagree: ever less often.
  pending.withoutEffect = isSame ? pending.withoutEffect + 1 : 0;
  pending.settledAtMs = nowMs + ENDED_AFTER_MS;
  pending.notBeforeMs = nowMs + backoffMs(pending.withoutEffect + 1, ENDED_AFTER_MS, mostMs);
}

/** Its run is not among the open ones although it is needed: it is started again, at once the first time. */
export function pauseAfterLoss(pending: Pending, mostMs: number): void {
  pending.withoutEffect += 1;
  const pauseMs = backoffMs(pending.withoutEffect, AGAIN_FIRST_MS, mostMs) - AGAIN_FIRST_MS;
  pending.notBeforeMs = performance.now() + pauseMs;
}

/** Its run could not be started or signalled. */
export function pauseAfterFailure(pending: Pending, firstMs: number, mostMs: number): void {
  pending.failures += 1;
  pending.notBeforeMs = performance.now() + backoffMs(pending.failures, firstMs, mostMs);
}

/**
 * After a run has ended, the view may not show its last writes yet; but what somebody edited is acted on at once. A run
 * without effect is not repeated any sooner where nothing is different.
 */
export function earliestStart(pending: Pending, evaluation: Evaluation): number {
  const { settledAtMs, requestedFor, notBeforeMs } = pending;
  if (requestedFor?.inputs !== evaluation.inputs) return 0;
  const isSame = requestedFor.fingerprint === fingerprintOf(evaluation);
  return isSame ? Math.max(notBeforeMs, settledAtMs) : settledAtMs;
}

/** How many runs are open, as far as is known. */
export function runsByController(all: readonly Pending[]): RunsState[] {
  const open = all.filter((pending) => pending.run === 'open' || hasRun(pending));
  return [...new Set(open.map(({ ref }) => ref.controller))].map((controller) => {
    const runs = open.filter(({ ref }) => ref.controller === controller);
    return { controller, open: runs.length, stalled: runs.filter(({ stalled }) => stalled).length };
  });
}

/** Exponential, without jitter: keys already spread, since each counts for itself. */
export function backoffMs(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 20), mostMs);
}
