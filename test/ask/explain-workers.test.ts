import { describe, expect, it } from '@jest/globals';
import { converged } from '../../src/runs/decision.ts';
import type { LiveDecision } from '../../src/ask/cluster/live.ts';
import type { Reached } from '../../src/ask/why/findings.ts';
import { ago, FINDINGS, reached, RUN, textFor } from '../support/findings.ts';

describe('why, of an open run,', () => {
  const none = { pollers: [], lastPollMs: undefined, current: '' };

  it.each([
    [{ ...RUN, workflowTaskAttempt: 1 }, none, 'no worker has polled task queue "durable-operator"'],
    [{ ...RUN, workflowTaskAttempt: 1, taskQueue: 'old' }, none, 'start a worker with --task-queue old'],
    [
      { ...RUN, workflowTaskAttempt: 1 },
      { ...none, pollers: ['op:1'] },
      'durable-operator promote --worker-deployment op',
    ],
    [
      { ...RUN, workflowTaskAttempt: 1, version: 'op:1' },
      { ...none, pollers: ['op:2'] },
      'the run stays with op:1',
    ],
    [
      { ...RUN, workflowTaskAttempt: 1 },
      { ...none, pollers: ['op:2'], current: 'op:1' },
      'op:1 is the current version',
    ],
  ])('that nobody works on, says why (%#)', (run, workers, words) => {
    const text = textFor({ temporal: reached({ run, workers }) });
    expect(text).toContain('is waiting for a worker');
    expect(text).toContain(words);
  });

  it('that nobody works on, names the objects and the commands of its own program', () => {
    const waiting = { ...RUN, workflowTaskAttempt: 1 };
    const textOf = (workers: Reached['workers']) =>
      textFor({ temporal: reached({ program: 'shop-operator', run: waiting, workers }) });
    expect(textOf(none)).toContain('kubectl get pods -A -l app.kubernetes.io/name=shop-operator');
    expect(textOf({ ...none, pollers: ['op:1'] })).toContain('shop-operator promote --worker-deployment op');
  });

  const failure = { type: 'Refused', message: 'exceeded quota: compute' };
  const pending = { step: 'createPods', attempt: 6, failure, nextTryAtMs: ago(3_600) };
  const withoutWorkers = (run: typeof RUN, live = FINDINGS.live) =>
    textFor({ temporal: reached({ run, workers: none }), live });

  it.each([
    ['an attempt is overdue', pending],
    ['the first attempt was never begun', { ...pending, attempt: 1, failure: undefined }],
  ])('that nobody works on, says so where %s', (_, step) => {
    const text = withoutWorkers({ ...RUN, pending: [step] });
    expect(text).toContain('is waiting for a worker');
    expect(text).toContain(`  step      createPods, attempt ${step.attempt}, due, not started\n`);
    expect(text).toContain('  because   no worker has polled');
    expect(text).not.toContain('raise the quota');
  });

  it.each([ago(-21), undefined])('that is retrying while no worker is there, says so, too (%#)', (next) => {
    const text = withoutWorkers({ ...RUN, pending: [{ ...pending, nextTryAtMs: next }] });
    expect(text).toContain('is retrying');
    expect(text).toContain('  but       no worker has polled task queue "durable-operator" for five minutes');
    expect(text).toContain('  you can   start the operator');
  });

  it('whose attempt is due while a worker is there, says that it has not begun', () => {
    const text = textFor({ temporal: reached({ run: { ...RUN, pending: [pending] } }) });
    expect(text).toContain('  step      createPods, attempt 6, due, not started\n');
  });

  const held = { do: 'held', by: 'pause', because: 'paused', would: 'createPods' } as const;
  const decided = (next: LiveDecision['next']) => ({ ...(FINDINGS.live as LiveDecision), next });

  it.each([
    ['Stalled', 'is stalled', { do: 'stalled', because: 'wrong' }],
    ['Paused', 'is paused', held],
    ['AwaitingApproval', 'is awaiting approval', { ...held, by: 'approval' }],
    [undefined, 'is waiting', { do: 'createPods', because: 'there is 1 Pod' }],
  ] as const)('that rests as %s while no worker is there, says so, too', (runState, headline, next) => {
    const text = withoutWorkers({ ...RUN, runState }, decided(next));
    expect(text).toContain(headline);
    expect(text).toContain('  but       no worker has polled');
  });

  it('whose pause has ended while no worker was there, does not ask anybody to end it', () => {
    const run = { ...RUN, runState: 'Paused' as const };
    for (const next of [converged('up to date'), decided({ do: 'createPods', because: 'x' }).next]) {
      const text = withoutWorkers(run, decided(next));
      expect(text).toContain('is waiting for a worker');
      expect(text).not.toContain('durable resume');
    }
  });
});
