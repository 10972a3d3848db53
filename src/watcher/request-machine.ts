import { isRest, reasonOf } from '../runs/decision.ts';
import type { ResourceRef } from '../api/resource-ref.ts';
import {
  afterChange,
  type Evaluation,
  fingerprintOf,
  isNeeded,
  newsIn,
  reportedWith,
  unlessNews,
} from './evaluation.ts';
import {
  isDirty,
  isInProgress,
  isKnownHere,
  newState,
  queued,
  SETTLED,
  touchedAtMs,
  unchangedForMs,
  type StartAnswer,
  type Calling,
  type RequestClock,
  type Effect,
  type RequestOutcome,
  type RequestEvent,
  type RequestState,
} from './request-state.ts';
import * as timing from './timing.ts';

/**
 * What comes of an event. A change of a resource is never forgotten: until Temporal has taken it, it is in the state, be the
 * call refused, its answer lost, or the run at its end meanwhile.
 */
export function next(
  state: RequestState | undefined,
  ref: ResourceRef,
  event: RequestEvent,
  clock: RequestClock,
): RequestOutcome {
  switch (event.type) {
    case 'first seen':
      return only(
        isNeeded(event.view)
          ? needed(state ?? newState(ref, reportedWith(event.view)), event.view, clock)
          : state,
      );
    case 'changed':
      if (isNeeded(event.view)) return only(needed(state ?? newState(ref), event.view, clock));
      return state === undefined ? NOTHING : notNeeded(state, clock);
    case 'resynced': {
      const isNews = isNeeded(event.view) && newsIn(event.view, state?.reported) === 'now';
      return only(
        isNews ? needed(state ?? newState(ref, reportedWith(event.view)), event.view, clock) : state,
      );
    }
    case 'listed':
      if (event.isOpen) return only(found(state, ref, event));
      return only(state && notFound(state, event, clock));
    case 'ended':
      return only(state && ended(state, event.view, clock));
    case 'time':
      return only(state && timeOver(state));
    case 'turn':
      return state?.phase.at === 'queued' ? turn(state, event.view) : only(state);
    case 'answered':
      return state?.phase.at === 'calling' ? answered(state, state.phase, event.answer, clock) : only(state);
    case 'failed':
      return only(state?.phase.at === 'calling' ? failed(state, event.because, clock) : state);
  }
}

const NOTHING: RequestOutcome = { state: undefined, effects: [] };

function only(state: RequestState | undefined): RequestOutcome {
  return { state, effects: [] };
}

// The view has changed -----------------------------------------------------------------------------------

function needed(before: RequestState, view: Evaluation, clock: RequestClock): RequestState {
  const state: RequestState = {
    ...(isRest(view.decision) ? effectSeen(before) : before),
    neededSinceMs: before.neededSinceMs ?? clock.nowMs,
    stepSinceMs: isRest(view.decision) ? undefined : (before.stepSinceMs ?? clock.nowMs),
    isEndSignalled: false,
    signalUnlessChangedAtMs: undefined,
    reported: before.reported && afterChange(before.reported, view),
    firstSeen: before.firstSeen && unlessNews(before.firstSeen, view),
  };
  switch (newsIn(view, state.reported)) {
    case 'none':
      return state;
    case 'now': {
      const isFirst = state.reported === undefined && state.failures === 0;
      return queued(isFirst ? { ...state, notBeforeMs: earliestStartMs(state, view) } : state);
    }
    case 'if unchanged':
      return { ...state, signalUnlessChangedAtMs: clock.nowMs + unchangedForMs(state, clock.nowMs) };
  }
}

/** The watch shows what the run that was started did: it gives its place to others. */
function effectSeen(state: RequestState): RequestState {
  return state.phase.at === 'starting' ? afterCall(state, state.phase.isDirty) : state;
}

function notNeeded(before: RequestState, { nowMs }: RequestClock): RequestOutcome {
  const { neededSinceMs, isEndSignalled } = before;
  const effects: Effect[] =
    neededSinceMs === undefined ? [] : [{ do: 'report', neededForMs: nowMs - neededSinceMs }];
  const state = {
    ...before,
    neededSinceMs: undefined,
    stepSinceMs: undefined,
    signalUnlessChangedAtMs: undefined,
  };
  return { state: isEndSignalled ? state : toEnd(state, nowMs), effects };
}

function toEnd(before: RequestState, nowMs: number): RequestState | undefined {
  const state = effectSeen({
    ...before,
    // Most often a resource is in its desired state because its run is just ending.
    run: before.run.is === 'started' ? { ...before.run, isHere: false } : before.run,
    reported: undefined,
    firstSeen: undefined,
    requestedFor: undefined,
    withoutEffect: 0,
    notBeforeMs: nowMs + timing.NOT_NEEDED_AFTER_MS,
  });
  if (state.run.is !== 'unknown') return queued(state);
  return state.phase.at === 'settled' ? undefined : state;
}

/**
 * After a run has ended, the view may not show its last writes yet; but what somebody edited is acted on at once. A run
 * without effect is not repeated any sooner where nothing is different.
 */
function earliestStartMs({ settledAtMs, requestedFor, notBeforeMs }: RequestState, view: Evaluation): number {
  if (requestedFor?.inputs !== view.inputs) return 0;
  const isSame = requestedFor.fingerprint === fingerprintOf(view);
  return isSame ? Math.max(notBeforeMs, settledAtMs) : settledAtMs;
}

// Temporal is asked, and answers -------------------------------------------------------------------------

function turn(state: RequestState, view: Evaluation | undefined): RequestOutcome {
  if (!isNeeded(view)) return signalTheEnd(state, view);
  if (newsIn(view, state.reported) !== 'now') return only({ ...state, phase: SETTLED });
  const asked: RequestState = {
    ...state,
    signalUnlessChangedAtMs: undefined,
    // Before the call, since the watch may show the effect, and the next change, before it is answered.
    reported: reportedWith(view),
    requestedFor: { fingerprint: fingerprintOf(view), inputs: view.inputs },
  };
  const change = state.firstSeen === undefined ? 'seen' : 'possible';
  // A start would only find the run that is open.
  return call(asked, { call: isKnownHere(state) ? 'signal' : 'start', view, change });
}

function signalTheEnd(state: RequestState, view: Evaluation | undefined): RequestOutcome {
  if (state.run.is === 'unknown') return NOTHING;
  return call({ ...state, isEndSignalled: true }, { call: 'signal the end', view, change: 'seen' });
}

type Call = Pick<Calling, 'call' | 'view' | 'change'>;

function call(state: RequestState, { call: kind, view, change }: Call, isDirtyStill = false): RequestOutcome {
  const calling: RequestState = {
    ...state,
    phase: { at: 'calling', call: kind, view, change, isDirty: isDirtyStill },
  };
  if (kind === 'start' && view !== undefined) return { state: calling, effects: [{ do: 'start', view }] };
  return { state: calling, effects: [{ do: 'signal', reason: reasonFor(kind, view), change, view }] };
}

function reasonFor(kind: Calling['call'], view: Evaluation | undefined): string {
  if (view === undefined) return 'the resource is gone';
  return kind === 'signal the end' ? 'the resource is in its desired state' : reasonOf(view.decision);
}

function answered(
  state: RequestState,
  phase: Calling,
  answer: StartAnswer,
  { nowMs }: RequestClock,
): RequestOutcome {
  switch (answer) {
    case 'started': {
      const { isDirty: isDirtyStill } = phase;
      const starting = { at: 'starting', untilMs: nowMs + timing.EFFECT_MS, isDirty: isDirtyStill } as const;
      const run = { is: 'started', touchedAtMs: nowMs, isHere: true } as const;
      return only({ ...state, run, firstSeen: undefined, failures: 0, phase: starting });
    }
    case 'already-open':
      return call(state, { ...phase, call: 'signal' }, phase.isDirty);
    case 'already-told':
    case 'signalled': {
      const run = { is: 'started', touchedAtMs: nowMs, isHere: isKnownHere(state) } as const;
      return only(afterCall({ ...state, run }, phase.isDirty));
    }
    case 'not-open':
      return notOpen(state, phase, nowMs);
  }
}

/** A run that was open a moment ago has ended before it was signalled. */
function notOpen(state: RequestState, phase: Calling, nowMs: number): RequestOutcome {
  const { call: kind, isDirty: isDirtyStill } = phase;
  if (kind === 'signal the end')
    return isDirtyStill ? only(afterCall({ ...state, run: { is: 'unknown' } }, true)) : NOTHING;
  if (isKnownHere(state))
    return call({ ...state, run: { is: 'unknown' } }, { ...phase, call: 'start' }, isDirtyStill);
  const run = { is: 'started', touchedAtMs: nowMs } as const;
  return only(afterCall({ ...state, run, reported: undefined }, true));
}

/** The call is over, and Temporal has taken what it was about. */
function afterCall(state: RequestState, isDirtyStill: boolean): RequestState {
  const settled: RequestState = { ...state, firstSeen: undefined, failures: 0, phase: SETTLED };
  return isDirtyStill ? queued(settled) : settled;
}

function failed(
  before: RequestState,
  because: Extract<RequestEvent, { type: 'failed' }>['because'],
  { nowMs }: RequestClock,
): RequestState {
  const state: RequestState = { ...before, phase: SETTLED, reported: undefined, isEndSignalled: false };
  // A process that leads again in a moment, as after it was frozen, has lost nothing.
  if (because === 'not leading') return queued({ ...state, notBeforeMs: nowMs + timing.RETRY_FIRST_MS });
  const failures = state.failures + 1;
  // A call that was not answered may have been made: until a list of the open runs says otherwise, there is a run.
  const run: RequestState['run'] =
    state.run.is === 'open' ? state.run : { is: 'started', touchedAtMs: nowMs };
  const [firstMs, mostMs] =
    because === 'unavailable'
      ? [timing.PAUSE_FIRST_MS, timing.PAUSE_MOST_MS]
      : [timing.RETRY_FIRST_MS, timing.RETRY_MOST_MS];
  return queued({
    ...state,
    run,
    failures,
    notBeforeMs: nowMs + timing.backoffMs(failures, firstMs, mostMs),
  });
}

function timeOver(state: RequestState): RequestState {
  const { phase, signalUnlessChangedAtMs } = state;
  if (phase.at === 'starting' && phase.untilMs <= (signalUnlessChangedAtMs ?? Infinity))
    return effectSeen(state);
  if (signalUnlessChangedAtMs === undefined) return state;
  return queued({ ...state, signalUnlessChangedAtMs: undefined, reported: undefined });
}

// A run has ended, or a list of the open runs has come ----------------------------------------------------

/**
 * What is still needed a moment after a run has ended is needed anew: it came up while the run was about to end, or the run
 * saw something else than the watcher does.
 */
function ended(
  before: RequestState,
  view: Evaluation | undefined,
  clock: RequestClock,
): RequestState | undefined {
  const { isEndSignalled } = before;
  const state = isEndSignalled ? before : withoutRun(effectSeen(before));
  if (isEndSignalled || !isNeeded(view)) return isInProgress(state) ? state : undefined;
  const isSame = state.requestedFor?.fingerprint === fingerprintOf(view);
  // Where run after run ends and leaves the view as it was, watcher and live state disagree: ever less often.
  const withoutEffect = isSame ? state.withoutEffect + 1 : 0;
  const pauseMs = timing.backoffMs(withoutEffect + 1, timing.ENDED_AFTER_MS, clock.longestMs);
  const settledAtMs = clock.nowMs + timing.ENDED_AFTER_MS;
  return queued({ ...state, withoutEffect, settledAtMs, notBeforeMs: clock.nowMs + pauseMs });
}

function withoutRun(state: RequestState): RequestState {
  return { ...state, run: { is: 'unknown' }, reported: undefined, signalUnlessChangedAtMs: undefined };
}

type Listed = Extract<RequestEvent, { type: 'listed' }>;

/** It is signalled where nobody needs it: its resource vanished, or converged, while nobody watched. */
function found(known: RequestState | undefined, ref: ResourceRef, listed: Listed): RequestState {
  const { view, isStalled, askedAtMs } = listed;
  const before = known ?? newState(ref);
  const touchedAt = touchedAtMs(before);
  if (isInProgress(before) || touchedAt > askedAtMs - timing.YOUNG_MS) return before;
  const run = { is: 'open', touchedAtMs: touchedAt, isStalled } as const;
  const state: RequestState = { ...before, run };
  if (!isNeeded(view)) return queued(state);
  return known === undefined ? { ...state, reported: reportedWith(view) } : state;
}

/** It has ended, unless it is too young to be in the list; where it is needed, it is started again. */
function notFound(
  before: RequestState,
  { view, askedAtMs }: Listed,
  clock: RequestClock,
): RequestState | undefined {
  const isYoung = touchedAtMs(before) > askedAtMs - timing.VISIBILITY_LAG_MS;
  if (isDirty(before) || isInProgress(before) || isYoung) return before;
  if (!isNeeded(view)) return undefined;
  const withoutEffect = before.withoutEffect + 1;
  // At once the first time.
  const pauseMs =
    timing.backoffMs(withoutEffect, timing.AGAIN_FIRST_MS, clock.longestMs) - timing.AGAIN_FIRST_MS;
  return queued({ ...withoutRun(before), withoutEffect, notBeforeMs: clock.nowMs + pauseMs });
}
