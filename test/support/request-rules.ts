import { expect, it } from '@jest/globals';
import { converged, waitFor, type Decision } from '../../src/contract/decision.ts';
import { fingerprintOf, type Evaluation } from '../../src/watcher/evaluation.ts';
import { reportedWith } from '../../src/watcher/news.ts';
import type { Effect, RequestEvent } from '../../src/watcher/request-events.ts';
import { next } from '../../src/watcher/request-machine.ts';
import {
  newState,
  type Calling,
  type Phase,
  type RequestState,
  type RunKnowledge,
} from '../../src/watcher/request-state.ts';

export const NOW = 1_000_000;
export const LONG_AGO = NOW - 60_000;
export const REF = { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'uid-1' } as const;

const viewWith = (decision: Decision, inputs = 'generation 1'): Evaluation => ({
  ref: REF,
  decision,
  inputs,
  resourceVersion: '1',
  observation: {},
});
export const STEP = viewWith({ do: 'addLabel', because: 'no label' });
export const ANOTHER_STEP = viewWith({ do: 'addLabel', because: 'a second label' });
export const EDITED = viewWith({ do: 'addLabel', because: 'another label' }, 'generation 2');
export const WAITING = viewWith(waitFor('Job build-web to end', 60_000));
export const CONVERGED = viewWith(converged('no update required'));

// States ------------------------------------------------------------------------------------------------

export const STARTED: RunKnowledge = { is: 'started', touchedAtMs: LONG_AGO };
export const OPEN: RunKnowledge = { is: 'open', touchedAtMs: LONG_AGO, isListed: true, isStalled: true };
/** As after a signal, or a change that shows that the run rests. */
export const openSince = (touchedAtMs: number): RunKnowledge => ({
  is: 'open',
  touchedAtMs,
  isListed: false,
  isStalled: false,
});
export const startedAt = (touchedAtMs: number): RunKnowledge => ({ is: 'started', touchedAtMs });

export const queuedFor = (dueMs: number): Phase => ({ at: 'queued', dueMs });
export const calling = (call: Calling['call'], more: Partial<Calling> = {}): Phase => ({
  at: 'calling',
  call,
  view: STEP,
  change: 'seen',
  isDirty: false,
  ...more,
});
export const startingUntil = (untilMs: number, more: { isDirty?: boolean } = {}): Phase => ({
  at: 'starting',
  untilMs,
  isDirty: false,
  ...more,
});

export const aState = (state: Partial<RequestState> = {}): RequestState => ({ ...newState(REF), ...state });
/** Needed for a minute, with a run that was started or signalled of this view. */
export const reported = (view: Evaluation, state: Partial<RequestState> = {}) =>
  aState({ run: OPEN, neededSinceMs: LONG_AGO, reported: reportedWith(view), ...state });
export const changedSince = (view: Evaluation) => ({ ...reportedWith(view), current: false });
export const requestFor = (view: Evaluation) => ({ fingerprint: fingerprintOf(view), inputs: view.inputs });

// Events ------------------------------------------------------------------------------------------------

export const firstSeen = (view: Evaluation): RequestEvent => ({ type: 'first seen', view });
export const changed = (view: Evaluation | undefined): RequestEvent => ({ type: 'changed', view });
export const resynced = (view: Evaluation): RequestEvent => ({ type: 'resynced', view });
export const turn = (view: Evaluation | undefined): RequestEvent => ({ type: 'turn', view });
export const ended = (view: Evaluation | undefined): RequestEvent => ({ type: 'ended', view });
export const TIME: RequestEvent = { type: 'time' };
export const UNAVAILABLE: RequestEvent = { type: 'failed', because: 'unavailable' };
export const REFUSED: RequestEvent = { type: 'failed', because: 'refused' };
export const NOT_LEADING: RequestEvent = { type: 'failed', because: 'not leading' };
export const ANSWERED = {
  started: { type: 'answered', answer: 'started' },
  alreadyOpen: { type: 'answered', answer: 'already-open' },
  signalled: { type: 'answered', answer: 'signalled' },
  notOpen: { type: 'answered', answer: 'not-open' },
} as const;
export const listed = (
  isOpen: boolean,
  view: Evaluation | undefined,
  more: { again?: boolean } = {},
): RequestEvent => ({
  type: 'listed',
  isOpen,
  isStalled: isOpen,
  askedAtMs: NOW,
  again: false,
  view,
  ...more,
});

// Rules -------------------------------------------------------------------------------------------------

/** What of the state is different afterwards; undefined: nothing has to be remembered. */
export type Change = Partial<RequestState> | undefined;
type Rule = readonly [
  title: string,
  before: RequestState | undefined,
  event: RequestEvent,
  change: Change,
  effects?: readonly Effect[],
];
export const UNCHANGED = {};

export function follows(rules: readonly Rule[]): void {
  it.each(rules)('%s', (_, before, event, change, effects = []) => {
    const outcome = next(before, REF, event, { nowMs: NOW, longestMs: 180_000 });
    expect(outcome.state).toEqual(change && { ...aState(before), ...change });
    expect(outcome.effects).toEqual(effects);
  });
}
