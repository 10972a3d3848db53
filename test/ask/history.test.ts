import { afterEach, describe, expect, it } from '@jest/globals';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Client } from '@temporalio/client';
import type { TemporalAccess } from '../../src/ask/session.ts';
import { RunReader } from '../../src/temporal/run-reader.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { asked, aTemporal } from '../support/ask-session.ts';

const HOUR_S = 3_600;
const fields = { Controller: 'pod-set', ResourceNamespace: 'shop', ResourceName: 'web', ResourceUid: 'u' };
const indexedFields = Object.fromEntries(
  Object.entries(fields).map(([name, value]) => [name, defaultPayloadConverter.toPayload(value)]),
);

/** The latest first. */
const runs = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    execution: { workflowId: 'pod-set/shop/web/u', runId: `run-${count - index}` },
    status: 2,
    startTime: { seconds: (count - index) * HOUR_S },
    closeTime: { seconds: (count - index) * HOUR_S + 1 },
    searchAttributes: { indexedFields },
  }));

interface Page {
  readonly pageSize: number;
  readonly nextPageToken: Uint8Array;
}

/** A page after the other. */
function temporalWith(count: number): TemporalAccess {
  const all = runs(count);
  const workflowService = {
    listWorkflowExecutions: ({ pageSize, nextPageToken }: Page) => {
      const from = Number(Buffer.from(nextPageToken).toString() || 0);
      const to = from + pageSize;
      const token = Buffer.from(to < all.length ? String(to) : '');
      return Promise.resolve({ executions: all.slice(from, to), nextPageToken: token });
    },
    getWorkflowExecutionHistory: () =>
      Promise.resolve({
        nextPageToken: new Uint8Array(),
        history: { events: [{ eventId: 1, workflowExecutionTerminatedEventAttributes: { reason: 'so' } }] },
      }),
  };
  // All that it takes of a client.
  const client = {
    workflowService,
    options: { loadedDataConverter: { payloadCodecs: [] } },
  } as unknown as Client;
  const call = <T>(work: (client: Client) => Promise<T>) => work(client);
  return aTemporal({ call, runs: new RunReader({ namespace: 'default', call }) });
}

/** An Event in the middle of each of these hours. */
const eventsAt = (hours: readonly number[]) =>
  hours.map((hour) => ({
    ...{ type: 'Normal', reason: `Hour${hour}`, note: 'n', reportingController: 'durable-operator/pod-set' },
    eventTime: new Date((hour + 0.5) * HOUR_S * 1000).toISOString(),
    ...{ metadata: { uid: `event-${hour}` }, regarding: { uid: 'u' } },
  }));
let events: readonly object[] = [];

function history(count: number, ...words: readonly string[]) {
  return asked(['history', 'podset/web', ...words], {
    temporal: () => Promise.resolve(temporalWith(count)),
    // There is no PodSet any more.
    answerTo: ({ path }) =>
      path.endsWith('/events')
        ? { metadata: {}, items: events }
        : new ApiError('gone', { classification: 'not-found', status: 404 }),
  });
}

const NOTE = 'only the last 1000 reconciles are shown; for more: --tail 10000\n';
const reconcilesIn = (text: string) => text.match(/run run-\d+/g) ?? [];

describe('a long history', () => {
  it('has the last 1000 reconciles, and says how to see more', async () => {
    const { status, stdout, stderr } = await history(1_001);
    expect({ status, stderr }).toEqual({ status: 0, stderr: NOTE });
    expect(reconcilesIn(stdout)).toHaveLength(1_000);
    expect(stdout).not.toContain('run run-1)');
  });

  it('leaves nothing out where there are no more', async () => {
    const { stdout, stderr } = await history(1_000);
    expect(stderr).toBe('');
    expect(reconcilesIn(stdout)).toHaveLength(1_000);
  });

  it.each([3, 1_001])('has as many as --tail %i asks for, without a note', async (tail) => {
    const { stdout, stderr } = await history(2_500, '--tail', String(tail));
    expect(stderr).toBe('');
    expect(reconcilesIn(stdout)).toHaveLength(tail);
    expect(stdout).toContain('run run-2500)');
  });
});

describe('the Events of a history', () => {
  afterEach(() => {
    events = [];
  });

  it.each([
    ['1', [3]],
    ['2', [2, 3]],
    ['3', [0, 1, 2, 3]],
  ])('are those of the runs that are shown: --tail %s', async (tail, hours) => {
    events = eventsAt([0, 1, 2, 3]);
    const { stdout } = await history(3, '--tail', tail);
    expect(stdout.match(/(?<=Hour)\d/g)?.map(Number)).toEqual(hours);
  });
});

describe('the history of what nobody knows', () => {
  it('says so, and fails', async () => {
    const { status, stderr } = await history(0);
    expect(status).toBe(1);
    expect(stderr).toBe('there is no PodSet shop/web, and Temporal has no reconcile of it\n');
  });
});

describe('--follow', () => {
  it('is refused with a format for programs, which has an end', async () => {
    const { status, stderr } = await history(1, '--follow', '-o', 'yaml');
    expect([status, stderr]).toEqual([2, expect.stringContaining('-o and --follow exclude each other')]);
  });
});
