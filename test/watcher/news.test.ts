import { describe, expect, it } from '@jest/globals';
import { converged, stalled, waitFor, type NextStep } from '../../src/runs/decision.ts';
import {
  afterChange,
  newsIn,
  reportedWith,
  type Reported,
  type ViewState,
} from '../../src/watcher/evaluation.ts';
import { aCause } from '../support/causes.ts';

const CREATE: NextStep = { do: 'createJob', because: 'no Job' };
const REPORT: NextStep = { do: 'updateStatus', because: 'the status is out of date' };
const WAIT = waitFor('Job build-web to end', 60_000);
const held = (plan: string): NextStep => ({
  ...{
    do: 'held',
    by: 'approval',
    reason: 'AwaitingApproval',
    message: 'awaiting approval',
    would: 'deletePods: too many',
    plan,
  },
});
const view = (decision: NextStep, inputs = 'generation 1'): ViewState => ({ decision, inputs });

/** What a run knows that was started with the first view, after the watcher saw the others. */
const after = (first: ViewState, ...others: readonly ViewState[]): Reported =>
  others.reduce(afterChange, reportedWith(first));
/** The news in the last view. */
const newsAfter = (first: ViewState, ...others: readonly ViewState[]) =>
  newsIn(others.at(-1) ?? first, after(first, ...others));

describe('news to an open run', () => {
  it('is everything where nothing was reported', () => {
    expect(newsIn(view(CREATE), undefined)).toBe('now');
    expect(newsIn(view(WAIT), undefined)).toBe('now');
  });

  it('is a change of the inputs, whatever the view calls for', () => {
    expect(newsAfter(view(CREATE), view(CREATE, 'generation 2'))).toBe('now');
    expect(newsAfter(view(WAIT), view(WAIT, 'generation 2'))).toBe('now');
    expect(newsAfter(view(CREATE), view(stalled(aCause('invalid')), 'generation 2'))).toBe('now');
  });

  it('is not what it was started for', () => {
    expect(newsAfter(view(CREATE))).toBe('none');
    expect(newsAfter(view(WAIT))).toBe('none');
  });

  it('is not its own writes, unless the step that follows stands', () => {
    expect(newsAfter(view(CREATE), view(REPORT))).toBe('if unchanged');
    expect(newsAfter(view(CREATE), view(REPORT), view(WAIT))).toBe('none');
  });

  it('is not that its status says in other words what a server refuses', () => {
    const saying = (message: string, more: object = {}): ViewState => {
      const ready = { type: 'Ready', status: 'False', reason: 'Refused', observedGeneration: 1, ...more };
      const conditions = [{ ...ready, message, lastTransitionTime: '2026-11-28T10:00:00Z' }];
      return { ...view(CREATE), observation: { view: { resourceVersion: message, conditions } } };
    };
    expect(newsAfter(saying('used: pods=7'), saying('used: pods=8'), saying('pods=9'))).toBe('none');
    expect(newsAfter(saying('no'), saying('no', { reason: 'AccessDenied' }))).toBe('if unchanged');
    expect(newsAfter(saying('no'), saying('no', { type: 'Available' }))).toBe('if unchanged');
    expect(newsAfter(saying('no'), saying('no', { reason: 'AccessDenied' }), saying('yes'))).toBe(
      'if unchanged',
    );
    // What has come and gone shows in no words.
    expect(newsAfter(saying('no'), saying('no'))).toBe('if unchanged');
  });

  it('is not a view that rests', () => {
    expect(newsAfter(view(CREATE), view(WAIT))).toBe('none');
    expect(newsAfter(view(CREATE), view(stalled(aCause('refused'))))).toBe('none');
    expect(newsAfter(view(CREATE), view(converged('up to date')))).toBe('none');
  });

  it('is a step that follows a rest', () => {
    expect(newsAfter(view(CREATE), view(WAIT), view(REPORT))).toBe('now');
    expect(newsAfter(view(WAIT), view(REPORT))).toBe('now');
  });

  it('is that a person holds it, though it rests already; and that nobody does any more', () => {
    expect(newsAfter(view(stalled(aCause('refused'))), view(held('1-a')))).toBe('now');
    expect(newsAfter(view(CREATE), view(WAIT), view(held('1-a')))).toBe('now');
    expect(newsAfter(view(held('1-a')), view(WAIT))).toBe('now');
    expect(newsAfter(view(held('1-a')), view(CREATE))).toBe('now');
  });

  it('is another plan than the one that it waits for', () => {
    expect(newsAfter(view(held('1-a')), view(held('2-a')))).toBe('now');
    expect(newsAfter(view(CREATE), view(held('1-a')), view(held('2-a')))).toBe('now');
  });

  it('is not that it is held as it is already, or comes to be by itself', () => {
    expect(newsAfter(view(held('1-a')), view(held('1-a')))).toBe('none');
    expect(newsAfter(view(CREATE), view(held('1-a')))).toBe('none');
  });

  it('is such a step once: what the run does after it is its own again', () => {
    const reported = afterChange(reportedWith(view(REPORT)), view(CREATE));
    expect(newsIn(view(CREATE), reported)).toBe('if unchanged');
  });
});
