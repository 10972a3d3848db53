import { describe, expect, it } from '@jest/globals';
import type { Control } from '../../../src/engine/holds/control.ts';
import { stalled, type Step } from '../../../src/runs/decision.ts';
import {
  CREATE,
  decided,
  deletePods,
  DONE,
  LIVE,
  plain,
  REPORT,
  reporting,
  WATCHED,
} from '../../support/controlled-decisions.ts';
import { aCause } from '../../support/causes.ts';
import { controlled, type Decides } from '../../../src/engine/holds/holds.ts';
import { statusIn } from '../../support/status-write.ts';

describe('a resource that asks for nothing', () => {
  it.each([CREATE, REPORT, DONE, deletePods(500)])(
    'is decided on by its controller alone: %j',
    (decision) => {
      expect(decided(decision, plain({}))).toBe(decision);
      expect(decided(decision, reporting({}))).toBe(decision);
    },
  );
});

describe('a paused resource', () => {
  it('is held before a step that writes, and says what is held', () => {
    expect(decided(CREATE, plain({ paused: 'true' }))).toMatchObject({
      do: 'held',
      by: 'pause',
      message: 'paused by the annotation durable-operator.dev/paused',
      would: 'createPods: there is 1 Pod, and spec.replicas is 3',
      event: { type: 'Normal', reason: 'Paused' },
    });
  });

  it('may write its status, and be in its desired state', () => {
    expect(decided(REPORT, plain({ paused: 'true' }))).toBe(REPORT);
    expect(decided(DONE, plain({ paused: 'true' }))).toBe(DONE);
  });

  it('says so in its status first, once', () => {
    const step = decided(CREATE, reporting({ paused: 'true' }));
    expect(step).toMatchObject({
      do: 'updateStatus',
      resourceVersion: '7',
      status: {
        conditions: [
          {
            type: 'Paused',
            status: 'True',
            reason: 'Paused',
            observedGeneration: 2,
            lastTransitionTime: '2026-11-22T10:00:00Z',
            message:
              'paused by the annotation durable-operator.dev/paused; on hold: createPods: there is 1 Pod, and spec.replicas is 3',
          },
        ],
      },
    });
    const status = statusIn(step);
    expect(decided(CREATE, reporting({ paused: 'true' }, status))).toMatchObject({ do: 'held' });
  });

  it('has its status kept up to date, once it says what is held', () => {
    const how = { statusStep: REPORT };
    const step = decided(CREATE, reporting({ paused: 'true' }), how);
    expect(step).toMatchObject({ status: { conditions: [{ type: 'Paused', status: 'True' }] } });
    const reported = reporting({ paused: 'true' }, statusIn(step));
    expect(decided(CREATE, reported, how)).toBe(REPORT);
    expect(decided(CREATE, reported)).toMatchObject({ do: 'held' });
  });

  it('is still said to be paused while its status is written', () => {
    const at = { observedGeneration: 2, lastTransitionTime: '2026-11-22T09:00:00Z', message: '' };
    const conditions = [{ type: 'Paused', status: 'True', reason: 'Paused', ...at }];
    expect(decided(REPORT, reporting({ paused: 'true' }, { conditions }))).toBe(REPORT);
  });

  it('says that nothing is held any more, behind the conditions of its controller', () => {
    const at = { observedGeneration: 2, lastTransitionTime: '2026-11-22T09:00:00Z', message: '' };
    const conditions = [
      { type: 'Paused', status: 'True', reason: 'Paused', ...at },
      { type: 'Ready', status: 'True', reason: 'PodsReady', ...at },
    ];
    expect(decided(CREATE, reporting({}, { conditions }))).toMatchObject({
      do: 'updateStatus',
      status: {
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'Paused', status: 'False', reason: 'NotPaused' },
        ],
      },
    });
  });

  it('is not held once it is being deleted: a pause holds no finalizer', () => {
    const deleted = { deletionTimestamp: '2026-11-22T09:00:00Z' };
    const remove: Step = { do: 'removeFinalizer', because: 'every node is clean' };
    expect(decided(remove, plain({ paused: 'true' }, deleted))).toBe(remove);
    const both = { isLive: true, isNamespacePaused: true };
    expect(decided(remove, plain({ paused: 'true' }, deleted), { circumstances: both })).toBe(remove);
  });

  it.each([undefined, plain({ approval: 'required' })])('is any in a paused Namespace: %j', (control) => {
    const circumstances = { ...LIVE, isNamespacePaused: true };
    expect(decided(CREATE, control, { circumstances })).toMatchObject({
      do: 'held',
      by: 'pause',
      message: 'paused by the annotation durable-operator.dev/paused of its Namespace',
    });
    expect(decided(REPORT, control, { circumstances })).toBe(REPORT);
  });
});

describe('a requested reconcile', () => {
  const asked = { 'reconcile-requested-at': '2026-11-22T09:59:00.123Z' };

  it('reads what is there, and repeats the request in the status', () => {
    expect(decided(DONE, reporting(asked), { circumstances: WATCHED })).toMatchObject({ do: 'observe' });
    expect(decided(DONE, reporting(asked))).toMatchObject({
      do: 'updateStatus',
      status: { lastHandledReconcileAt: '2026-11-22T09:59:00.123Z' },
    });
  });

  it('is met once', () => {
    const met = { lastHandledReconcileAt: '2026-11-22T09:59:00.123Z' };
    expect(decided(DONE, reporting(asked, met))).toBe(DONE);
  });

  it('does not wait for a pause to end, nor end it', () => {
    const control = reporting({ ...asked, paused: 'true' });
    expect(decided(CREATE, control)).toMatchObject({
      do: 'updateStatus',
      status: { lastHandledReconcileAt: '2026-11-22T09:59:00.123Z' },
    });
  });

  it('of any length fits into the status', () => {
    const long = reporting({ 'reconcile-requested-at': 'x'.repeat(10_000) });
    expect(decided(DONE, long)).toMatchObject({ status: { lastHandledReconcileAt: 'x'.repeat(253) } });
    const met = { lastHandledReconcileAt: 'x'.repeat(253) };
    expect(decided(DONE, reporting({ 'reconcile-requested-at': 'x'.repeat(10_000) }, met))).toBe(DONE);
  });
});

describe('an annotation that cannot be followed', () => {
  it.each([
    [
      { paused: 'True' },
      'annotation durable-operator.dev/paused is "True"; write "true" or "false", or remove it',
    ],
    [
      { approval: 'yes' },
      'annotation durable-operator.dev/approval is "yes"; write "required", or remove it',
    ],
    [
      { 'poll-interval': '10' },
      'annotation durable-operator.dev/poll-interval is "10"; write a duration such as 10m, or remove it',
    ],
  ])('is an Event, and holds nothing: %j', (asked, note) => {
    expect(decided(DONE, plain(asked))).toMatchObject({
      do: 'converged',
      event: { type: 'Warning', reason: 'InvalidAnnotation', note },
    });
    expect(decided(CREATE, plain(asked))).toBe(CREATE);
  });

  it('does not take the place of another Event', () => {
    const event = { type: 'Warning', reason: 'NameTooLong', action: 'AddLabel', note: 'too long' } as const;
    expect(decided(stalled(aCause('too long'), { event }), plain({ paused: 'True' }))).toMatchObject({
      event,
    });
  });

  it.each(['0m', '0.0s', '-1m', '1w', '', '10 m'])('is an interval of %j', (text) => {
    expect(plain({ 'poll-interval': text })).toMatchObject({
      problems: [expect.stringContaining('poll-interval')],
    });
  });
});

describe('an interval that an annotation asks for', () => {
  const NOTHING: Control = {
    ...{ uid: 'u', isBeingDeleted: false, isPaused: false, isApprovalRequired: false, problems: [] },
  };
  const polled = (annotations: Readonly<Record<string, string>>, ownPollInterval?: string) => {
    const own = ownPollInterval === undefined ? {} : { pollInterval: ownPollInterval, ownPollInterval };
    const control: Control = { ...NOTHING, ...own, ...plain(annotations) };
    const minPollIntervalMs = 60_000;
    const its: Decides<undefined> = { decide: () => DONE, control: () => control };
    const controller = controlled(its, { minPollIntervalMs });
    const { pollInterval, intervalNotice, problems } = controller.control?.(undefined) ?? NOTHING;
    const { event } = controller.decide(undefined, 0) as { readonly event?: { readonly note: string } };
    return { pollInterval, intervalNotice, problems, note: event?.note };
  };
  const notice = (least: string) =>
    `annotation durable-operator.dev/poll-interval is "10s", and counts as ${least}, the shortest that --min-poll-interval allows`;

  it('counts as --min-poll-interval where it is shorter, which why and the next Event say', () => {
    expect(polled({ 'poll-interval': '10s' })).toEqual({
      ...{ pollInterval: '1m', problems: [], intervalNotice: notice('1m'), note: notice('1m') },
    });
  });

  it.each([
    ['is long enough', { 'poll-interval': '1m' }, undefined, '1m'],
    ['is none', {}, '10s', '10s'],
    ["is the controller's own", { 'poll-interval': '30s' }, '30s', '30s'],
  ])('counts as it is where it %s', (_, annotations, own, expected) => {
    expect(polled(annotations, own)).toEqual({ pollInterval: expected, problems: [] });
  });
});
