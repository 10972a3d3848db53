import type { ResourceRef } from '../contract/resource.ts';
import { backoffMs } from './backoff.ts';
import { fingerprintOf, isNeeded, type Evaluation } from './evaluation.ts';
import { reportedWith } from './news.ts';
import type { Clock, RequestEvent } from './request-events.ts';
import { isDirty, isInProgress, newState, queued, touchedAtMs, type RequestState } from './request-state.ts';
import * as timing from './timing.ts';

/* What follows when a run has ended, and when a list of the open runs has come. */

/**
 * What is still needed a moment after a run has ended is needed anew: it came up while the run was about to end, or the run
 * saw something else than the watcher does.
 */
export function ended(
  before: RequestState,
  view: Evaluation | undefined,
  clock: Clock,
): RequestState | undefined {
  const { isEndSignalled } = before;
  const state = isEndSignalled ? before : withoutRun(before);
  if (isEndSignalled || !isNeeded(view)) return isInProgress(state) || isDirty(state) ? state : undefined;
  const isSame = state.requestedFor?.fingerprint === fingerprintOf(view);
  // Where run after run ends and leaves the view as it was, watcher and live state disagree: ever less often.
  const withoutEffect = isSame ? state.withoutEffect + 1 : 0;
  const pauseMs = backoffMs(withoutEffect + 1, timing.ENDED_AFTER_MS, clock.longestMs);
  const settledAtMs = clock.nowMs + timing.ENDED_AFTER_MS;
  return queued({ ...state, withoutEffect, settledAtMs, notBeforeMs: clock.nowMs + pauseMs });
}

function withoutRun(state: RequestState): RequestState {
  return { ...state, run: { is: 'unknown' }, reported: undefined, signalUnlessChangedAtMs: undefined };
}

type Listed = Extract<RequestEvent, { type: 'listed' }>;

/** It is signalled where nobody needs it: its resource vanished, or converged, while nobody watched. */
export function found(known: RequestState | undefined, ref: ResourceRef, listed: Listed): RequestState {
  const { view, isStalled, again, askedAtMs } = listed;
  const before = known ?? newState(ref);
  const touchedAt = touchedAtMs(before);
  if (isInProgress(before) || touchedAt > askedAtMs - timing.YOUNG_MS) return before;
  const run = { is: 'open', touchedAtMs: touchedAt, isListed: true, isStalled } as const;
  const state: RequestState = { ...before, run };
  if (isNeeded(view)) return known === undefined ? { ...state, reported: reportedWith(view) } : state;
  return state.isEndSignalled && !again ? state : queued(state);
}

/** It has ended, unless it is too young to be in the list; where it is needed, it is started again. */
export function notFound(
  before: RequestState,
  { view, askedAtMs }: Listed,
  clock: Clock,
): RequestState | undefined {
  const isYoung = touchedAtMs(before) > askedAtMs - timing.VISIBILITY_LAG_MS;
  if (isDirty(before) || isInProgress(before) || isYoung) return before;
  if (!isNeeded(view)) return undefined;
  const withoutEffect = before.withoutEffect + 1;
  // At once the first time.
  const pauseMs = backoffMs(withoutEffect, timing.AGAIN_FIRST_MS, clock.longestMs) - timing.AGAIN_FIRST_MS;
  return queued({ ...withoutRun(before), withoutEffect, notBeforeMs: clock.nowMs + pauseMs });
}
