import { describe, expect, it } from '@jest/globals';
import { stateByDecision, stateByStatus, stateOfRun } from '../../src/ask/state.ts';
import { BUILD_FINALIZER } from '../../src/controllers/git-build/resource.ts';
import { converged, stalled, waitFor } from '../../src/contract/decision.ts';

const pending = { step: 'createPods', attempt: 1, failure: undefined, nextTryAtMs: undefined };
const failed = { ...pending, attempt: 4, failure: { type: 'Refused', message: 'exceeded quota' } };
const resting = { runState: undefined, pending: [], workflowTaskAttempt: undefined };

describe('the state of an open run', () => {
  it.each([
    ['Waiting', resting],
    ['Reconciling', { ...resting, pending: [pending] }],
    ['Reconciling', { ...resting, workflowTaskAttempt: 1 }],
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
    ['Stalled', stalled('the name is too long')],
    ['Waiting', waitFor('a Job to end', 1)],
    ['Paused', { do: 'held', by: 'pause', because: 'paused', would: 'addLabel' } as const],
    ['AwaitingApproval', { do: 'held', by: 'approval', because: 'asks', would: 'deletePods' } as const],
    ['Waiting', { do: 'addLabel', because: 'the annotation asks for the label' }],
  ])('is %s by its decision', (state, next) => {
    expect(stateByDecision(next)).toBe(state);
  });

  const ready = {
    type: 'Ready',
    status: 'True',
    message: 'all there',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const web = (status: unknown, metadata: object = {}) => ({
    metadata: { name: 'web', uid: 'u', resourceVersion: '1', generation: 2, ...metadata },
    status,
  });

  it.each([
    ['UpToDate', '', web({ observedGeneration: 2, conditions: [ready] })],
    [
      'UpToDate',
      'some are not Ready',
      web({
        observedGeneration: 2,
        conditions: [{ ...ready, status: 'False', message: 'some are not Ready' }],
      }),
    ],
    ['Waiting', 'no run is open for it yet', web({ observedGeneration: 1, conditions: [ready] })],
    [
      'Paused',
      'paused by the annotation',
      web({
        observedGeneration: 1,
        conditions: [ready, { ...ready, type: 'Paused', message: 'paused by the annotation' }],
      }),
    ],
    [
      'UpToDate',
      '',
      web({ observedGeneration: 2, conditions: [ready, { ...ready, type: 'Paused', status: 'False' }] }),
    ],
    ['Waiting', 'no run is open for it yet', web(undefined)],
    [
      'Waiting',
      'no run is open for it yet',
      web({ observedGeneration: 2 }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    ],
    [
      'UpToDate',
      'held by example.com/theirs, example.com/others',
      web(
        { observedGeneration: 2 },
        {
          deletionTimestamp: '2026-01-01T00:00:00Z',
          finalizers: ['example.com/theirs', 'example.com/others'],
        },
      ),
    ],
    [
      'Waiting',
      'no run is open for it yet',
      web(
        { observedGeneration: 2 },
        { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [BUILD_FINALIZER, 'example.com/theirs'] },
      ),
    ],
    [
      'Stalled',
      'wrong',
      web({
        observedGeneration: 2,
        conditions: [ready, { type: 'Stalled', status: 'True', message: 'wrong' }],
      }),
    ],
    ['UpToDate', '', web({ observedGeneration: 2, conditions: 'written by hand' })],
  ])('is %s by its status: %s', (state, message, object) => {
    expect(stateByStatus(object)).toMatchObject({ state, message });
  });
});
