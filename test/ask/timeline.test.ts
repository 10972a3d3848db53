import { describe, expect, it } from '@jest/globals';
import { randomBytes, createSecretKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import {
  causeOf,
  converged,
  nextInHistory,
  stalled,
  waitFor,
  type Rest,
  type StepReport,
} from '../../src/runs/decision.ts';
import { decoded } from '../../src/temporal/payloads.ts';
import { stepFailureOf, timelineOf, type HistoryEvent } from '../../src/temporal/timeline-builder.ts';
import { withPending, type RunTimeline } from '../../src/temporal/timeline.ts';
import { aCause } from '../support/causes.ts';
import { payloadEncryption } from '../../src/temporal/data-converter.ts';

const JSON_PLAIN = { encoding: Buffer.from('json/plain').toString('base64') };
const HISTORIES = new URL('./histories/', import.meta.url);

async function eventsOf(name: string): Promise<readonly HistoryEvent[]> {
  const json: unknown = JSON.parse(await readFile(new URL(`${name}.json`, HISTORIES), 'utf8'));
  return historyFromJSON(json).events ?? [];
}

async function timelineIn(name: string): Promise<RunTimeline> {
  return timelineOf(await eventsOf(name));
}

/** The entry of a durable step with this result. */
function endOfStep(result: StepReport) {
  const payloads = [{ data: Buffer.from(JSON.stringify(result)).toString('base64'), metadata: JSON_PLAIN }];
  const events = [
    {
      eventId: '5',
      eventType: 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED',
      activityTaskScheduledEventAttributes: { activityType: { name: 'createJob' } },
    },
    {
      eventId: '6',
      eventType: 'EVENT_TYPE_ACTIVITY_TASK_COMPLETED',
      activityTaskCompletedEventAttributes: { scheduledEventId: '5', result: { payloads } },
    },
  ];
  const [entry] = timelineOf(historyFromJSON({ events }).events ?? []).entries;
  if (entry?.kind !== 'step') throw new Error('there is no step');
  return entry;
}

describe('the timeline of a run', () => {
  it('has local steps one after the other, with the time that each took', async () => {
    const { entries } = await timelineIn('gitBuild/several-steps');
    const steps = entries.filter((entry) => entry.kind === 'step');
    expect(steps.map(({ step, isLocal, end }) => [step, isLocal, end])).toMatchObject([
      ['createJob', true, { how: 'done', tookMs: 1 }],
      ['updateStatus', true, { how: 'done', tookMs: 1 }],
    ]);
    const [first, second] = steps;
    expect(first?.atMs).toBe(Date.parse('2026-11-28T06:19:57.592Z'));
    expect(second?.atMs).toBe((first?.atMs ?? 0) + 1);
  });

  it.each<[what: string, next: Rest]>([
    ['stalls', stalled(aCause('the name is taken'), { recheckMs: 7 })],
    ['waits', waitFor('the Job to end', 7, aCause('the image is missing'))],
    ['has nothing to do', converged('2 of 2 Pods', { notReady: aCause('no node has room') })],
  ])('has the cause why a run %s', (_, next) => {
    const entry = endOfStep({ did: [], next: nextInHistory(next) });
    expect(entry.end).toMatchObject({ next: { do: next.do, cause: causeOf(next) } });
  });

  it('has the cause of a failure', () => {
    const cause = aCause('no permission');
    const details = { payloads: [defaultPayloadConverter.toPayload(cause)] };
    const failure = {
      message: 'PATCH /x: 403 no permission',
      applicationFailureInfo: { type: 'AccessDenied', details },
    };
    expect(stepFailureOf(failure)).toEqual({ type: 'AccessDenied', message: failure.message, cause });
  });

  it('is read from its cause where the server has cut it', () => {
    const cause = { message: 'exceeded quota', applicationFailureInfo: { type: 'Refused' } };
    const cut = { message: 'Failure exceeds size limit.', serverFailureInfo: {}, cause };
    expect(stepFailureOf(cut)).toEqual({ type: 'Refused', message: 'exceeded quota' });
  });

  it('of a step that did something before it was told to come back later has that, too', () => {
    const did = [{ did: 'created', what: 'the bucket' }];
    const payloads = [7_000, did].map((value) => defaultPayloadConverter.toPayload(value));
    const applicationFailureInfo = { type: 'RetryAfter', details: { payloads } };
    expect(stepFailureOf({ message: 'too many', applicationFailureInfo })).toEqual({
      type: 'RetryAfter',
      message: 'too many',
      did,
    });
  });

  it('has the failure of its last workflow task, until one is completed', () => {
    const failed = { workflowTaskFailedEventAttributes: { failure: { message: 'Nondeterminism error' } } };
    expect(timelineOf([failed]).taskFailure?.message).toBe('Nondeterminism error');
    expect(timelineOf([failed, { workflowTaskCompletedEventAttributes: {} }])).not.toHaveProperty(
      'taskFailure',
    );
  });

  const SCHEDULED = {
    eventId: 5,
    activityTaskScheduledEventAttributes: { activityType: { name: 'createPods' } },
  };
  const LOST = { message: 'activity Heartbeat timeout', timeoutFailureInfo: {} };
  const STARTED = { scheduledEventId: 5, attempt: 2 };
  const COMPLETED = { activityTaskCompletedEventAttributes: { scheduledEventId: 5 } };
  const DROPPED = { activityTaskCancelRequestedEventAttributes: { scheduledEventId: 5 } };
  const TASK_LOST = { workflowTaskTimedOutEventAttributes: { timeoutType: 1 } };
  const STICKY_LOST = { workflowTaskTimedOutEventAttributes: { timeoutType: 2 } };

  it.each<[what: string, mayLack: boolean | undefined, events: readonly object[]]>([
    [
      'after an attempt whose worker is gone',
      true,
      [SCHEDULED, { activityTaskStartedEventAttributes: { ...STARTED, lastFailure: LOST } }, COMPLETED],
    ],
    [
      'after one that has said how it failed',
      undefined,
      [
        SCHEDULED,
        { activityTaskStartedEventAttributes: { ...STARTED, lastFailure: { message: 'no' } } },
        COMPLETED,
      ],
    ],
    ['that a change has ended', true, [SCHEDULED, DROPPED]],
    [
      'that has come to its end after all',
      undefined,
      [SCHEDULED, DROPPED, { activityTaskStartedEventAttributes: STARTED }, COMPLETED],
    ],
    [
      'whose last attempt did not come to its end',
      true,
      [SCHEDULED, { activityTaskTimedOutEventAttributes: { scheduledEventId: 5, failure: LOST } }],
    ],
    ['after a workflow task whose worker is gone', true, [TASK_LOST, SCHEDULED]],
    ['after one that another worker has taken', undefined, [STICKY_LOST, SCHEDULED]],
  ])('says whether writes of a step may be missing: %s', (_, mayLack, events) => {
    const [step] = timelineOf(events).entries;
    expect(step).toHaveProperty('step', 'createPods');
    expect(step?.kind === 'step' && step.mayLackWrites).toBe(mayLack);
  });

  it('says it once of a workflow task, and of a step that is tried again', () => {
    const [, second] = timelineOf([
      TASK_LOST,
      SCHEDULED,
      { ...SCHEDULED, eventId: 6 },
    ] as readonly HistoryEvent[]).entries;
    expect(second).not.toHaveProperty('mayLackWrites');
    const timeline = timelineOf([SCHEDULED] as unknown as readonly HistoryEvent[]);
    const pending = { step: 'createPods', attempt: 2, nextTryAtMs: undefined, failure: stepFailureOf(LOST) };
    expect(withPending(timeline, [pending]).entries).toMatchObject([{ mayLackWrites: true }]);
  });

  it('takes a second for a local step that timed out', async () => {
    const { entries } = await timelineIn('podSet/local-step-times-out');
    const failure = { type: 'Timeout', message: 'Activity timed out' };
    expect(entries[0]).toMatchObject({ failure, end: { how: 'failed', tookMs: 1001 } });
  });

  it('has a wait that a change ended, and one that took its time', async () => {
    const signalled = await timelineIn('podSet/wait-is-signalled');
    expect(signalled.entries.find(({ kind }) => kind === 'wait')).toMatchObject({
      summary: 'recheck: waiting for Job build-web to end',
      timeoutMs: 3_600_000,
      end: { how: 'something changed', tookMs: 66 },
    });
    const timed = await timelineIn('podSet/retry-after');
    expect(timed.entries.find(({ kind }) => kind === 'wait')).toMatchObject({
      summary: 'Retry-After, as the server asked',
      timeoutMs: 1_000,
      end: { how: 'time passed', tookMs: 1_002 },
    });
  });

  it('has the time in which the run was stalled', async () => {
    const { entries } = await timelineIn('podSet/stalled-then-changed');
    const atMs = Date.parse('2026-11-28T06:19:56.483Z');
    const untilMs = Date.parse('2026-11-28T06:19:56.542Z');
    expect(entries[1]).toEqual({ kind: 'state', state: 'Stalled', atMs, untilMs });
    const { entries: still } = await timelineIn('podSet/stalled-waits');
    expect(still.at(-1)).toMatchObject({ kind: 'state', state: 'Stalled', untilMs: undefined });
  });
});

describe('an encrypted history', () => {
  const key = createSecretKey(randomBytes(32));
  const codec = payloadEncryption({ encryptWith: { id: 'k', key }, decryptWith: new Map([['k', key]]) });
  const other = payloadEncryption({ encryptWith: undefined, decryptWith: new Map() });

  async function encryptedEvents() {
    const encrypting = {
      encode: (payloads: Payload[]) => codec.encode(payloads),
      decode: (payloads: Payload[]) => codec.encode(payloads),
    };
    return decoded(await eventsOf('podSet/durable-step-retries'), [encrypting]);
  }

  it('is read with its key, as it was before', async () => {
    const events = await decoded(await encryptedEvents(), [codec]);
    expect(timelineOf(events)).toEqual(await timelineIn('podSet/durable-step-retries'));
  });

  it.each([
    { case: 'without keys', codecs: [] },
    { case: 'with other keys', codecs: [other] },
  ])('says what cannot be read, and the rest, $case', async ({ codecs }) => {
    const timeline = timelineOf(await decoded(await encryptedEvents(), codecs));
    expect(timeline).toMatchObject({
      reason: '(encrypted)',
      end: { how: 'completed', words: '(encrypted)' },
    });
    expect(timeline.entries).toMatchObject([
      {
        step: 'createPods',
        attempts: 2,
        summary: '(encrypted)',
        end: { how: 'done', did: 'encrypted', tookMs: 1011 },
      },
    ]);
  });
});
