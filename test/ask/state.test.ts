import { describe, expect, it } from '@jest/globals';
import { stateByDecision, stateByStatus, stateOfRun } from '../../src/ask/state.ts';
import { BUILD_FINALIZER } from '../../src/controllers/git-build/kind.ts';
import { converged, stalled, waitFor } from '../../src/runs/decision.ts';
import { aCause } from '../support/causes.ts';

const pending = { step: 'createPods', attempt: 1, failure: undefined, nextTryAtMs: undefined };
const failed = { ...pending, attempt: 4, failure: { type: 'Refused', message: 'exceeded quota' } };
const resting = { runState: undefined, pending: [], workflowTaskAttempt: undefined };

describe('the state of an open run', () => {
  it.each([
    ['Waiting', resting],
    ['Reconciling', { ...resting, pending: [pending] }],
    ['Reconciling', { ...resting, workflowTaskAttempt: 2 }],
    ['Retrying', { ...resting, workflowTaskAttempt: 3 }],
    ['Retrying', { ...resting, runState: 'Paused' as const, workflowTaskAttempt: 3 }],
    ['Retrying', { ...resting, pending: [failed] }],
    ['Stalled', { ...resting, runState: 'Stalled' as const }],
    ['Paused', { ...resting, runState: 'Paused' as const }],
    ['AwaitingApproval', { ...resting, runState: 'AwaitingApproval' as const }],
  ])('is %s', (state, run) => {
    expect(stateOfRun(run)).toBe(state);
  });
});

describe('the state of a resource without an open run', () => {
  it.each([
    ['UpToDate', converged('no update required')],
    ['NotReady', converged('nothing to do', { notReady: aCause('no node has room') })],
    ['Stalled', stalled(aCause('the name is too long'))],
    ['Waiting', waitFor('a Job to end', 1)],
    ['Paused', { do: 'held', by: 'pause', because: 'paused', would: 'addLabel' } as const],
    ['AwaitingApproval', { do: 'held', by: 'approval', because: 'asks', would: 'deletePods' } as const],
    ['Waiting', { do: 'addLabel', because: 'the annotation asks for the label' }],
  ])('is %s by its decision', (state, next) => {
    expect(stateByDecision(next)).toBe(state);
  });

  const atTime = '2026-01-01T00:00:00Z';
  const ready = { type: 'Ready', status: 'True', message: 'all there', lastTransitionTime: atTime };
  const notReady = { ...ready, status: 'False', reason: 'Unschedulable', message: 'some are not' };
  const paused = { ...ready, type: 'Paused', message: 'by the annotation' };
  const stalledCondition = { type: 'Stalled', status: 'True', message: 'wrong' };
  const web = (status: unknown, metadata: object = {}) => ({
    metadata: { name: 'web', uid: 'u', resourceVersion: '1', generation: 2, ...metadata },
    status,
  });
  const current = (...conditions: readonly object[]) => web({ observedGeneration: 2, conditions });
  const going = (finalizers?: readonly string[]) =>
    web({ observedGeneration: 2 }, { deletionTimestamp: atTime, finalizers });

  it.each([
    ['UpToDate', '', current(ready)],
    ['NotReady', 'some are not', current(notReady)],
    ['Reconciling', 'some are not', current(notReady, { ...ready, type: 'Reconciling' })],
    ['Stalled', 'wrong', current(notReady, stalledCondition)],
    ['Waiting', 'no run is open for it yet', web({ observedGeneration: 1, conditions: [ready] })],
    ['Paused', 'by the annotation', web({ observedGeneration: 1, conditions: [ready, paused] })],
    ['UpToDate', '', current(ready, { ...paused, status: 'False' })],
    ['Waiting', 'no run is open for it yet', web(undefined)],
    ['Waiting', 'no run is open for it yet', going()],
    ['Waiting', 'held by example.com/theirs', going(['example.com/theirs'])],
    ['Waiting', 'no run is open for it yet', going([BUILD_FINALIZER, 'example.com/theirs'])],
    ['Stalled', 'wrong', current(ready, stalledCondition)],
    ['UpToDate', '', web({ observedGeneration: 2, conditions: 'written by hand' })],
  ])('is %s by its status: %s', (state, message, object) => {
    expect(stateByStatus({ finalizer: BUILD_FINALIZER }, object)).toMatchObject({ state, message });
  });

  it('waits for another controller of the operator that holds it, and blames nobody', () => {
    const controller = { finalizer: BUILD_FINALIZER, otherFinalizers: ['example.com/beside'] };
    const { state, message, cause } = stateByStatus(controller, going(['example.com/beside']));
    expect([state, message, cause]).toEqual(['Waiting', 'it is being deleted', undefined]);
  });

  it('has the reason and the message of its condition as the cause', () => {
    const cause = { reason: 'Unschedulable', message: 'some are not', advice: [] };
    expect(stateByStatus({ finalizer: BUILD_FINALIZER }, current(notReady)).cause).toEqual(cause);
  });
});
