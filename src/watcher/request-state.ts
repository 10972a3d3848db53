import type { ResourceRef } from '../api/resource-ref.ts';
import type { ChangeCertainty } from '../runs/run.ts';
import type { OldestRequest, RunsState } from '../runs/telemetry.ts';
import type { Evaluation, Reported } from './evaluation.ts';
import { SPACING_MS, UNCHANGED_IN_BACKOFF_MS, UNCHANGED_MS, YOUNG_MS } from './timing.ts';

/** What is known of the run of a resource. Times are on the clock of `performance.now()`, which nobody sets. */
export type RunKnowledge =
  /** None was started, signalled or listed that has not ended, as far as is known. */
  | { readonly is: 'unknown' }
  /** It was started or signalled, and may have ended since. `isHere`: on the operator's own task queue. */
  | { readonly is: 'started'; readonly touchedAtMs: number; readonly isHere?: boolean }
  /** The last list of the open runs has it, and it was not signalled since. */
  | {
      readonly is: 'open';
      /** When it was last started or signalled; -Infinity: not by this process. */
      readonly touchedAtMs: number;
      /** It waits for a change of its resource. */
      readonly isStalled: boolean;
    };

/**
 * One resource, as far as its runs are concerned. There is no state for a resource that is in its desired state and of
 * which no run is known: an idle watcher remembers nothing but projections.
 */
export interface RequestState {
  readonly ref: ResourceRef;
  readonly phase: Phase;
  readonly run: RunKnowledge;
  /** What the run was last started or signalled with; undefined: it has to be. */
  readonly reported: Reported | undefined;
  /**
   * What the view showed when this process began to lead, until it shows news, or Temporal has answered: as long as it is
   * here, nobody has seen a change, but one is possible.
   */
  readonly firstSeen: Reported | undefined;
  /** The run was signalled that its resource is gone or in its desired state. */
  readonly isEndSignalled: boolean;
  /** What the last run was started or signalled for; undefined once the resource was in its desired state. */
  readonly requestedFor: { readonly fingerprint: string; readonly inputs: string } | undefined;
  /** When the view shows what the last run did, as far as can be told. */
  readonly settledAtMs: number;
  /** Not to be started or signalled before. */
  readonly notBeforeMs: number;
  /** When the run is signalled of a step that the view still calls for by then; undefined: not at all. */
  readonly signalUnlessChangedAtMs: number | undefined;
  /** Since when the resource has needed a run; undefined: it does not. */
  readonly neededSinceMs: number | undefined;
  /** Since when it has needed a step, be it in progress, in backoff or not begun; undefined: it rests. */
  readonly stepSinceMs: number | undefined;
  /** How often in a row it could not be started or signalled. */
  readonly failures: number;
  /** How often in a row a run ended and left its resource as it was. */
  readonly withoutEffect: number;
}

/** Temporal was asked, and has not answered. */
export interface Calling {
  readonly at: 'calling';
  readonly call:
    | 'start'
    /** A run is known to be open. */
    | 'signal'
    | 'signal the end';
  /** What the call was decided from; undefined: the resource is gone. */
  readonly view: Evaluation | undefined;
  readonly change: ChangeCertainty;
  /** Has to be started or signalled again. */
  readonly isDirty: boolean;
}

/** A run was started, and holds its place until the watch shows its effect, or until then. */
export interface Starting {
  readonly at: 'starting';
  readonly untilMs: number;
  readonly isDirty: boolean;
}

export type Phase =
  /** It waits for its time and its turn, to be started or signalled. */
  | { readonly at: 'queued'; readonly dueMs: number }
  | Calling
  | Starting
  /** There is nothing to ask of Temporal. */
  | { readonly at: 'settled' };

export const SETTLED: Phase = { at: 'settled' };

/** What happens to a resource, with what the view of it is by then; undefined: it is gone. */
export type RequestEvent =
  /** It is there as this process begins to lead. */
  | { readonly type: 'first seen'; readonly view: Evaluation }
  /** It has changed, or something of it has. */
  | { readonly type: 'changed'; readonly view: Evaluation | undefined }
  /** Time has passed, and nothing else. */
  | { readonly type: 'resynced'; readonly view: Evaluation }
  /** It is due, and a place is free. */
  | { readonly type: 'turn'; readonly view: Evaluation | undefined }
  /** What `wakeAtMs` has named is due. */
  | { readonly type: 'time' }
  /** Temporal has answered the call in progress. */
  | { readonly type: 'answered'; readonly answer: StartAnswer }
  /** Temporal has not, or has refused; or this process does not lead just now, and has not asked. */
  | { readonly type: 'failed'; readonly because: 'unavailable' | 'refused' | 'not leading' }
  /** A run of it has ended, as far as is known. */
  | { readonly type: 'ended'; readonly view: Evaluation | undefined }
  /** A list of the open runs that was asked for at that time has it, or does not. */
  | {
      readonly type: 'listed';
      readonly isOpen: boolean;
      readonly isStalled: boolean;
      readonly askedAtMs: number;
      readonly view: Evaluation | undefined;
    };

export type StartAnswer = 'started' | 'already-open' | 'already-told' | 'signalled' | 'not-open';

/** What is to be done besides remembering the state. */
export type Effect =
  | { readonly do: 'start'; readonly view: Evaluation }
  | {
      readonly do: 'signal';
      readonly reason: string;
      readonly change: ChangeCertainty;
      readonly view: Evaluation | undefined;
    }
  /** The resource needs a run no more. */
  | { readonly do: 'report'; readonly neededForMs: number };

export interface RequestOutcome {
  /** Undefined: nothing of the resource has to be remembered. */
  readonly state: RequestState | undefined;
  readonly effects: readonly Effect[];
}

export interface RequestClock {
  /** On the clock of `performance.now()`. */
  readonly nowMs: number;
  /** The longest that a run without effect waits before it is started anew. */
  readonly longestMs: number;
}

/** As of a resource whose run nothing is known of. @param firstSeen where the resource itself was not known before, either */
export function newState(ref: ResourceRef, firstSeen?: Reported): RequestState {
  return {
    ref,
    phase: SETTLED,
    run: { is: 'unknown' },
    reported: undefined,
    firstSeen,
    isEndSignalled: false,
    requestedFor: undefined,
    settledAtMs: 0,
    notBeforeMs: 0,
    signalUnlessChangedAtMs: undefined,
    neededSinceMs: undefined,
    stepSinceMs: undefined,
    failures: 0,
    withoutEffect: 0,
  };
}

/** Whether it holds a place among the starts and signals in progress. */
export function isInProgress(state: RequestState | undefined): boolean {
  return isCalling(state) || state?.phase.at === 'starting';
}

/** Whether Temporal is being asked. */
export function isCalling(state: RequestState | undefined): boolean {
  return state?.phase.at === 'calling';
}

/** Whether a run is known that has not ended and is on the operator's own task queue. */
export function isKnownHere({ run }: RequestState): boolean {
  return run.is === 'open' || (run.is === 'started' && run.isHere === true);
}

/** Whether it is to be started or signalled, be it now or later. */
export function isDirty({ phase }: RequestState): boolean {
  return phase.at === 'queued' || (phase.at !== 'settled' && phase.isDirty);
}

/** When its run was last started or signalled; -Infinity where no run is known that has not ended. */
export function touchedAtMs({ run }: RequestState): number {
  return run.is === 'unknown' ? -Infinity : run.touchedAtMs;
}

/** The earliest time wins where it is queued already; while Temporal is being asked, it is queued afterwards. */
export function queued(state: RequestState): RequestState {
  const { phase, notBeforeMs } = state;
  const dueMs = Math.max(notBeforeMs, touchedAtMs(state) + SPACING_MS);
  switch (phase.at) {
    case 'settled':
      return { ...state, phase: { at: 'queued', dueMs } };
    case 'queued':
      return { ...state, phase: { at: 'queued', dueMs: Math.min(phase.dueMs, dueMs) } };
    case 'calling':
    case 'starting':
      return { ...state, phase: { ...phase, isDirty: true } };
  }
}

/** When something is due in it by itself: it then gets the event `time`. */
export function wakeAtMs(state: RequestState | undefined): number | undefined {
  const effectMs = state?.phase.at === 'starting' ? state.phase.untilMs : Infinity;
  const atMs = Math.min(effectMs, state?.signalUnlessChangedAtMs ?? Infinity);
  return atMs === Infinity ? undefined : atMs;
}

/** For how long the view has to call for the same step before that is news to the run. */
export function unchangedForMs(state: RequestState, nowMs: number): number {
  return nowMs - touchedAtMs(state) > YOUNG_MS ? UNCHANGED_IN_BACKOFF_MS : UNCHANGED_MS;
}

/** Whether a list of the open runs would tell something: the run is not known to be open, and not about to be called. */
export function isRunUnknown(state: RequestState): boolean {
  return !isDirty(state) && state.run.is !== 'open';
}

/** How many runs are open, as far as is known. */
export function runsByController(all: readonly RequestState[]): RunsState[] {
  const open = all.filter(({ run }) => run.is !== 'unknown');
  return [...new Set(open.map(({ ref }) => ref.controller))].map((controller) => {
    const runs = open.filter(({ ref }) => ref.controller === controller).map(({ run }) => run);
    const stalled = runs.filter((run) => run.is === 'open' && run.isStalled);
    return { controller, open: runs.length, stalled: stalled.length };
  });
}

/** The longest waits, by controller. */
export function oldestByController(all: readonly RequestState[], nowMs: number): OldestRequest[] {
  const oldest = new Map<string, OldestRequest>();
  for (const { ref, stepSinceMs = nowMs, neededSinceMs = nowMs } of all) {
    const { controller } = ref;
    const { seconds = 0, waitSeconds = 0 } = oldest.get(controller) ?? {};
    oldest.set(controller, {
      controller,
      seconds: Math.max(seconds, (nowMs - stepSinceMs) / 1_000),
      waitSeconds: Math.max(waitSeconds, (nowMs - neededSinceMs) / 1_000),
    });
  }
  return [...oldest.values()];
}
