import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  eventRecorder,
  recordFailure,
  regardingNamespace,
  type Event,
  type EventRecorder,
  type RecorderSettings,
} from '../../activities/events/events.ts';
import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';
import { eventually } from '../../testing/eventually.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { answerJson, aStatus, neverAnswer, reset } from '../support/fake-api-server.ts';
import { FakeEvents } from '../support/fake-events.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { aCause } from '../support/causes.ts';

const REF = { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'uid-1' };
const POD = { apiVersion: 'v1', kind: 'Pod' };
const TOO_LONG: Event = {
  type: 'Warning',
  reason: 'NameTooLong',
  action: 'AddLabel',
  note: 'it is too long',
};
const MINUTE_MS = 60_000;
const NOON_MS = Date.parse('2026-01-01T12:00:00Z');

const WHY = '; see: kubectl durable why pod/web -n shop';

let events: FakeEvents;
let nowMs: number;
let log: ReturnType<typeof aRecordingLogger>;
let recorder: EventRecorder;

afterEach(() => recorder.close());

const api = aFakeApi();

beforeEach(() => {
  events = new FakeEvents();
  api.server.handle(events.handler);
  nowMs = NOON_MS;
  log = aRecordingLogger();
  recorder = aRecorder();
});

/** Another process, as it were. */
function aRecorder(settings: Partial<RecorderSettings> = {}): EventRecorder {
  const usual = { firstWaitMs: 1, closeWithinMs: MINUTE_MS, now: () => nowMs };
  return eventRecorder(api.client, log, { ...usual, ...settings });
}

const record = (event: Partial<Event> = {}, ref = REF) =>
  recorder.record(ref, POD, { ...TOO_LONG, ...event }, log);
const asked = () => api.server.requests.map(({ method, body }) => (body === '{}' ? 'READ' : method));
const eventuallyAsked = (...methods: readonly string[]) =>
  eventually(() => {
    expect(asked()).toEqual(methods);
    return true as const;
  });
const warnings = () => log.lines.filter(({ level }) => level === 'warn');

/** Later than this, what was recorded before counts as told of long ago. */
function tenMinutesPass(): void {
  nowMs += 10 * MINUTE_MS;
}

describe('an Event', () => {
  it('is reported by the operator of its program, which explains it', async () => {
    recorder = aRecorder({ program: 'shop-operator' });
    record();
    const [stored] = await eventually(() => events.stored.length > 0 && events.stored);
    expect(stored).toMatchObject({
      reportingController: 'shop-operator/pod-label',
      note: 'it is too long; see: shop-operator why pod/web -n shop',
    });
  });

  it('says of what it is, who tells it, and lives in the namespace of its object', async () => {
    record();
    const [stored] = await eventually(() => events.stored.length > 0 && events.stored);
    expect(stored).toEqual({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: expect.stringMatching(/^web\.[0-9a-f]{16}$/), namespace: 'shop' },
      eventTime: '2026-01-01T12:00:00.000000Z',
      reportingController: 'durable-operator/pod-label',
      reportingInstance: expect.any(String),
      ...TOO_LONG,
      note: `it is too long${WHY}`,
      regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web', uid: 'uid-1' },
    });
  });

  it('about a cluster-scoped resource lives in "default", and its command names no namespace', async () => {
    const place = { ...REF, namespace: REF.name };
    recorder.record(place, { ...POD, isClusterScoped: true }, TOO_LONG, log);
    const [stored] = await eventually(() => events.stored.length === 1 && events.stored);
    expect(stored).toMatchObject({
      metadata: { namespace: 'default' },
      regarding: { kind: 'Pod', name: 'web', uid: 'uid-1' },
      note: expect.stringMatching(/why pod\/web$/),
    });
    expect(stored).not.toHaveProperty('regarding.namespace');
  });

  it('about a namespace that takes none lives in "default"', async () => {
    recorder.record(REF, regardingNamespace(REF, POD), TOO_LONG, log);
    const [stored] = await eventually(() => events.stored.length > 0 && events.stored);
    expect(stored).toMatchObject({ metadata: { namespace: 'default' } });
    expect(stored?.['regarding']).toEqual({ apiVersion: 'v1', kind: 'Namespace', name: 'shop' });
    expect(stored?.note).toBe(`it is too long${WHY}`);
  });

  it('of a failure names the command that explains it, and survives where the note is too long', async () => {
    record({ note: '€'.repeat(400) });
    const [stored] = await eventually(() => events.stored.length > 0 && events.stored);
    expect(stored?.note).toBe(`${'€'.repeat(327)}${WHY}`);
    expect(Buffer.byteLength(stored?.note ?? '')).toBeLessThanOrEqual(1024);
  });

  it.each([
    ['Namespace', { namespace: 'team-1', name: 'team-1' }, 'why namespace/team-1'],
    ['PodSet', { namespace: 'shop', name: 'shop' }, 'why podset/shop -n shop'],
    ['Xxx', { namespace: 'shop', name: 'sample' }, 'why xxx/sample -n shop'],
  ])('about a %s names it as kubectl takes it', async (kind, named, command) => {
    recorder.record({ ...REF, ...named }, { apiVersion: 'v1', kind }, TOO_LONG, log);
    const [stored] = await eventually(() => events.stored.length > 0 && events.stored);
    expect(stored?.note).toBe(`it is too long; see: kubectl durable ${command}`);
  });

  it('has a name that the server takes, however the name of its object ends where it is cut', async () => {
    record({}, { ...REF, name: `${'a'.repeat(199)}.${'b'.repeat(40)}` });
    const [stored] = await eventually(() => events.stored.length > 0 && events.stored);
    expect(stored?.metadata.name).toMatch(/^a{199}\.[0-9a-f]{16}$/);
  });
});

describe('a repeat of an Event', () => {
  it.each<[string, Partial<Event>, typeof REF]>([
    ['another note', { note: 'another' }, REF],
    ['another reason', { reason: 'Another' }, REF],
    ['another occasion', { occasion: 'job-2' }, REF],
    ['another object of the same name', {}, { ...REF, uid: 'uid-2' }],
  ])('with %s is an Event of its own', async (_, event, ref) => {
    record();
    record(event, ref);
    await eventually(() => events.stored.length === 2);
  });

  it('after ten minutes is counted in its series, with those that were not sent', async () => {
    record();
    record();
    await eventuallyAsked('POST');
    tenMinutesPass();
    record();
    record();
    await eventuallyAsked('POST', 'PATCH');
    tenMinutesPass();
    record();
    await eventuallyAsked('POST', 'PATCH', 'PATCH');
    expect(events.stored.map(({ series }) => series)).toEqual([
      { count: 5, lastObservedTime: '2026-01-01T12:20:00.000000Z' },
    ]);
  });

  it('is told of every ten minutes, and not only once nobody has repeated it for so long', async () => {
    for (const minutes of [0, 6, 12]) {
      nowMs = NOON_MS + minutes * MINUTE_MS;
      record();
    }
    await recorder.close();
    expect(asked()).toEqual(['POST', 'PATCH']);
  });
});

describe('an Event that another process has recorded', () => {
  beforeEach(async () => {
    record();
    await eventuallyAsked('POST');
    recorder = aRecorder();
  });

  it('is left alone for ten minutes', async () => {
    record();
    await recorder.close();
    expect(asked()).toEqual(['POST', 'POST', 'READ']);
  });

  it('is counted on from there after ten minutes', async () => {
    tenMinutesPass();
    record();
    await eventuallyAsked('POST', 'POST', 'READ', 'PATCH');
    expect(events.stored[0]?.series).toEqual({ count: 2, lastObservedTime: '2026-01-01T12:10:00.000000Z' });
  });
});

describe('a server that fails', () => {
  const unavailable = answerJson(500, aStatus(500, { message: 'out of order' }));
  const busy = (retryAfter: string) =>
    answerJson(429, aStatus(429, { message: 'too many' }), { 'retry-after': retryAfter });

  it.each([
    ['an error', unavailable],
    ['a reset', reset],
    ['Retry-After', busy('0')],
  ])('by %s is asked again', async (_, fault) => {
    events.faults.push(fault, fault);
    record();
    await eventuallyAsked('POST', 'POST', 'POST');
    await recorder.close();
    expect(events.stored).toHaveLength(1);
    expect(log.lines).toEqual([]);
  });

  it('again and again is asked five times, and then a warning says so; a repeat is tried again', async () => {
    events.faults.push(...Array.from({ length: 5 }, () => unavailable));
    record();
    await eventually(() => {
      expect(warnings()).toMatchObject([{ fields: { event: 'NameTooLong', note: `it is too long${WHY}` } }]);
      return true;
    });
    expect(asked()).toHaveLength(5);
    record();
    await eventually(() => events.stored.length === 1);
  });

  it.each<[string, number, object]>([
    ['access is denied', 403, { message: 'events is forbidden: User "operator" cannot create' }],
    ['it is refused', 422, { reason: 'Invalid', message: 'note: too long' }],
  ])('since %s is not asked again, and a warning says why', async (_, code, status) => {
    events.faults.push(answerJson(code, { kind: 'Status', code, ...status }));
    record();
    await recorder.close();
    expect(warnings()).toHaveLength(1);
    expect(asked()).toEqual(['POST']);
  });

  it.each<[string, number, object]>([
    ['is being deleted', 403, { message: 'no', details: { causes: [{ reason: 'NamespaceTerminating' }] } }],
    ['is gone', 404, { message: 'no', details: { kind: 'namespaces', name: 'shop' } }],
  ])('since the namespace %s is asked once, and that is worth no warning', async (_, code, status) => {
    events.faults.push(answerJson(code, { kind: 'Status', code, ...status }));
    record();
    await recorder.close();
    expect(log.lines.map(({ level }) => level)).toEqual(['debug']);
    expect(asked()).toEqual(['POST']);
  });
});

describe('many Events', () => {
  const recordMany = (count: number) => {
    for (let i = 0; i < count; i += 1) record({ note: `event ${i}` });
  };

  it('are dropped beyond a thousand that wait, and one line counts them', async () => {
    recordMany(1_102);
    await eventually(() => events.stored.length === 1_002);
    await eventually(() => warnings().length === 1);
    expect(warnings()).toMatchObject([{ fields: { dropped: 100 } }]);
    record({ note: 'event 1101' });
    await eventually(() => events.stored.length === 1_003);
  });

  const others = { ...REF, namespace: 'other' };
  const indexOfOthers = () =>
    api.server.requests.findIndex(({ url }) => url.pathname.includes('/namespaces/other/'));

  it('of one namespace keep that of another waiting for one of them, and do not have it dropped', async () => {
    recordMany(5_000);
    record({}, others);
    recordMany(5_000);
    await eventually(() => indexOfOthers() >= 0);
    expect(indexOfOthers()).toBeLessThanOrEqual(3);
  });
});

describe('a recorder that is closed', () => {
  it('has sent what waited', async () => {
    for (let i = 0; i < 20; i += 1) record({ note: `event ${i}` });
    await recorder.close();
    expect(events.stored).toHaveLength(20);
  });

  it('is closed even where the server never answers, and says how many Events are lost', async () => {
    api.server.handle(neverAnswer);
    recorder = aRecorder({ closeWithinMs: 50 });
    for (let i = 0; i < 20; i += 1) record({ note: `event ${i}` });
    await recorder.close();
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { dropped: 20 } }]);
  });
});

describe('a failure', () => {
  const failure = (classification: ApiErrorClass) => new ApiError('PATCH /x: 403 quota', { classification });

  it.each<ApiErrorClass>(['refused', 'access-denied'])(
    'of class %s is a Warning Event, once, with its cause',
    async (classification) => {
      recordFailure(recorder, { ref: REF, regarding: POD, log }, failure(classification), aCause('quota'));
      recordFailure(recorder, { ref: REF, regarding: POD, log }, failure(classification), aCause('quota'));
      await recorder.close();
      expect(events.stored).toMatchObject([
        { type: 'Warning', reason: 'Broken', note: `shop/web: quota; mend it${WHY}` },
      ]);
    },
  );

  it.each([failure('unavailable'), failure('conflict'), failure('api-missing')])(
    'that passes by itself is none: %s',
    async (error) => {
      recordFailure(recorder, { ref: REF, regarding: POD, log }, error, aCause('away'));
      await recorder.close();
      expect(asked()).toEqual([]);
    },
  );
});
