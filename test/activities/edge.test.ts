import { describe, expect, it } from '@jest/globals';
import { createSecretKey, randomBytes } from 'node:crypto';
import {
  DefaultFailureConverter,
  defaultPayloadConverter,
  type ApplicationFailure,
  type Payload,
  type PayloadCodec,
} from '@temporalio/common';
import proto from '@temporalio/proto';
import { asFailure, atTheEdge } from '../../activities/edge.ts';
import { ControllerError } from '../../src/engine/failing.ts';
import { PartlyDone } from '../../activities/reconciler.ts';
import {
  converged,
  stalled,
  waitFor,
  type Action,
  type NextInHistory,
  type StepReport,
} from '../../src/runs/decision.ts';
import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';
import { payloadEncryption } from '../../src/temporal/data-converter.ts';
import { decoded } from '../../src/temporal/payloads.ts';
import { stepFailureOf } from '../../src/temporal/timeline-builder.ts';
import { asActivity } from '../support/activity-context.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { aCause } from '../support/causes.ts';

const { Failure } = proto.temporal.api.failure.v1;

const MESSAGE = 'PATCH /api/v1/namespaces/shop/pods/web: the words of the server';

function failureFor(
  classification: ApiErrorClass,
  attempt = 1,
  retryAfterMs?: number,
  because = 'the words of the server',
): ApplicationFailure {
  const error = new ApiError(MESSAGE, { classification, retryAfterMs });
  return asFailure(error, { attempt, cause: aCause(because) });
}

function asProto(failure: ApplicationFailure, encodeCommonAttributes = false) {
  const converter = new DefaultFailureConverter({ encodeCommonAttributes });
  return converter.errorToFailure(failure, defaultPayloadConverter);
}

/** As the SDK encodes what a worker sends. */
async function encodeFailure(failure: ReturnType<typeof asProto>, codec: PayloadCodec) {
  const { encodedAttributes, applicationFailureInfo: info } = failure;
  const encode = (payloads: readonly (Payload | null)[]) =>
    codec.encode(payloads.flatMap((each) => each ?? []));
  const [attributes] = await encode([encodedAttributes ?? null]);
  const payloads = await encode(info?.details?.payloads ?? []);
  return {
    ...failure,
    encodedAttributes: attributes ?? null,
    applicationFailureInfo: { ...info, details: { payloads } },
  };
}

describe('what the API server said, as a failure', () => {
  it.each<[ApiErrorClass, type: string]>([
    ['retry-after', 'RetryAfter'],
    ['access-denied', 'AccessDenied'],
    ['refused', 'Refused'],
    ['api-missing', 'ApiMissing'],
    ['conflict', 'Conflict'],
    ['already-exists', 'Conflict'],
    ['unavailable', 'Unavailable'],
    ['expired', 'Unavailable'],
    ['disruption-budget', 'Unavailable'],
    ['not-found', 'Unavailable'],
    ['namespace-terminating', 'Unavailable'],
  ])('%s is told as %s, with the words of the server', (classification, type) => {
    const failure = failureFor(classification);
    expect(failure).toMatchObject({ type, message: MESSAGE });
    expect(failure.nonRetryable ?? false).toBe(classification === 'retry-after');
  });

  it.each(['of the server', 'of the author'])('carries its cause, whose words are %s', (words) => {
    const { reason, advice } = aCause(words);
    const failure = failureFor('refused', 1, undefined, words);
    expect(failure.details).toMatchObject([{ reason: reason, advice }]);
    expect(stepFailureOf(asProto(failure)).cause).toEqual(aCause(words));
  });

  it.each([
    ['in the clear', false],
    ['encrypted', true],
  ])('fits into what Temporal keeps of a retried failure, however long it is, %s', async (_, isEncrypted) => {
    const words = `${'"ü\\'.repeat(3_000)} end`;
    const error = new ApiError(`POST /api: ${words}`, { classification: 'refused', words });
    const run = `kubectl ${'x'.repeat(700)}`;
    const cause = {
      reason: 'QuotaExceeded',
      message: words,
      advice: ['wait', { run, to: 'a' }, { run, to: 'b' }],
    };
    const proto = asProto(asFailure(error, { attempt: 1, cause }), isEncrypted);
    const key = { id: 'k'.repeat(63), key: createSecretKey(randomBytes(32)) };
    const codec = payloadEncryption({
      encryptWith: isEncrypted ? key : undefined,
      decryptWith: new Map([[key.id, key.key]]),
    });
    const stored = await encodeFailure(proto, codec);
    expect(Failure.encode(stored).finish().length).toBeLessThan(4_096);
    const read = stepFailureOf(await decoded(stored, [codec]));
    expect(read).toMatchObject({
      type: 'Refused',
      cause: { reason: 'QuotaExceeded', advice: ['wait', { to: 'a' }] },
    });
    expect(read.cause?.message).toMatch(/^"ü\\.{500,}…$/);
  });

  it('names the wait that the server asked for, and is not retried by Temporal', () => {
    expect(failureFor('retry-after', 1, 3_600_000)).toMatchObject({
      nonRetryable: true,
      details: [3_600_000, []],
    });
  });

  it.each(['access-denied', 'refused', 'api-missing'] as const)(
    'waits longer each time after %s, but less than a minute',
    (classification) => {
      expect([1, 2, 3, 4, 5, 100].map((attempt) => failureFor(classification, attempt))).toMatchObject(
        [5_000, 10_000, 20_000, 40_000, 45_000, 45_000].map((nextRetryDelay) => ({ nextRetryDelay })),
      );
    },
  );
});

describe('how a step ended', () => {
  const REF = { controller: 'pod-set', namespace: 'shop', name: 'web', uid: 'uid-1' };
  const REGARDING = { apiVersion: 'v1', kind: 'PodSet' };
  const CREATED: Action = { did: 'created', what: 'Job build-web' };
  const actions = (...did: Action[]) => did;

  /** Lets a step end like this at its so manieth attempt. */
  async function atItsEnd(step: () => Promise<StepReport>, attempt = 1) {
    const recording = aRecordingLogger();
    const bindings: object[] = [];
    const child = (fields: object) => {
      bindings.push(fields);
      return recording;
    };
    const events: unknown[] = [];
    const edge = {
      log: { ...recording, child },
      regarding: REGARDING,
      recorder: { record: (...[, regarding, event]: unknown[]) => events.push(regarding, event) },
    };
    const workflowExecution = { workflowId: 'pod-set/shop/web/uid-1', runId: 'run-1' };
    const ended = await asActivity({ workflowExecution, attempt, activityType: 'createJob' }, () =>
      atTheEdge(edge, REF, step).then(
        (result) => ({ result, error: undefined }),
        (error: unknown) => ({ result: undefined, error }),
      ),
    );
    return { ...ended, bindings, events, lines: recording.lines };
  }
  const ending = (next: NextInHistory, did: Action[]) => atItsEnd(() => Promise.resolve({ did, next }));
  const failing = (error: Error, attempt = 1) => atItsEnd(() => Promise.reject(error), attempt);

  it.each<[level: string, message: string, next: NextInHistory, did: Action[]]>([
    ['info', 'up to date', converged('up to date'), []],
    ['info', 'created Job build-web', converged('up to date'), actions(CREATED)],
    ['warn', 'stalled: the name is too long', stalled(aCause('the name is too long')), []],
    ['warn', 'created Job build-web; stalled: no', stalled(aCause('no')), actions(CREATED)],
    ['info', 'next: wait: waiting for the Job', waitFor('the Job', 1), []],
    [
      'info',
      'created Job build-web; next: observe: why',
      { do: 'observe', because: 'why' },
      actions(CREATED),
    ],
  ])('is a line of the log, as %s: %s', async (level, message, next, did) => {
    const { lines, result } = await ending(next, did);
    expect(lines).toEqual([{ level, message, fields: { next: next.do } }]);
    expect(result).toEqual({ did, next });
  });

  it('is told of the run that it is about', async () => {
    const { bindings } = await ending(converged('up to date'), []);
    const run = {
      controller: 'pod-set',
      namespace: 'shop',
      name: 'web',
      workflowId: 'pod-set/shop/web/uid-1',
      runId: 'run-1',
      step: 'createJob',
      attempt: 1,
    };
    expect(bindings).toEqual([run]);
    const again = await atItsEnd(() => Promise.resolve({ did: [], next: converged('up to date') }), 2);
    expect(again.bindings).toEqual([{ ...run, attempt: 2 }]);
  });

  it('is a failure for Temporal, a line of the log, and an Event where somebody has to mend it', async () => {
    const err = new ApiError(MESSAGE, { classification: 'refused' });
    const { error, lines, events } = await failing(err);
    expect(error).toMatchObject({ type: 'Refused', message: MESSAGE, nextRetryDelay: 5_000 });
    expect(lines).toEqual([
      { level: 'warn', message: 'the step failed and will be retried', fields: { err } },
    ]);
    expect(events).toMatchObject([REGARDING, { type: 'Warning', reason: 'Refused' }]);
  });

  it('has the same cause in the failure and in the Event, with the words of the server alone', async () => {
    const { error, events } = await failing(
      new ApiError(MESSAGE, { classification: 'refused', words: 'exceeded quota' }),
    );
    const advice = ['raise the quota of namespace shop, or ask for less', expect.anything()];
    expect(error).toMatchObject({
      message: 'exceeded quota',
      details: [{ reason: 'QuotaExceeded', advice, messageFrom: 0 }],
    });
    expect(events).toMatchObject([
      REGARDING,
      { reason: 'QuotaExceeded', note: expect.stringMatching(/^shop\/web: exceeded quota; raise the quota/) },
    ]);
  });

  it('is a mistake of a controller, with its cause, and an Event once it has lasted or cannot pass', async () => {
    const thrown = (asks: boolean) =>
      new ControllerError('bucket', { reason: 'ObserveFailed', what: 'observe', asks }, new Error('no'));
    const message = 'observe of controller bucket has failed: no';
    const { error, events } = await failing(thrown(false));
    expect(error).toMatchObject({
      type: 'ControllerFailed',
      message,
      details: [{ reason: 'ObserveFailed', messageFrom: 0 }],
    });

    expect(events).toMatchObject([
      REGARDING,
      { type: 'Warning', reason: 'ObserveFailed', note: expect.stringContaining(message) },
    ]);
    expect((await failing(thrown(true))).events).toEqual([]);
    expect((await failing(thrown(true), 3)).events).toHaveLength(2);
  });

  it('is an error of our own as it is, which Temporal retries', async () => {
    const bug = new TypeError('a bug of ours');
    expect(await failing(bug)).toMatchObject({ error: bug, events: [] });
  });

  it('is an error of our own that fits into what Temporal keeps of it', async () => {
    const cause = new Error('y'.repeat(2_000));
    expect(await failing(new TypeError('x'.repeat(5_000), { cause }))).toMatchObject({
      error: { type: 'TypeError', message: expect.stringMatching(/^x{2300}…$/), stack: '', cause: undefined },
    });
  });

  it('is a longer wait each time', async () => {
    const refused = () => Promise.reject(new ApiError(MESSAGE, { classification: 'refused' }));
    expect((await atItsEnd(refused, 3)).error).toMatchObject({ nextRetryDelay: 20_000 });
  });

  it('keeps what was done before the server said when to come back', async () => {
    const err = new ApiError(MESSAGE, { classification: 'retry-after', retryAfterMs: 7_000 });
    const { error, lines } = await failing(new PartlyDone(err, actions(CREATED)));
    expect(error).toMatchObject({ type: 'RetryAfter', details: [7_000, actions(CREATED)] });
    expect(lines).toMatchObject([{ fields: { err } }]);
    expect((await failing(err)).error).toMatchObject({ details: [7_000, []] });
    const unsaid = new ApiError(MESSAGE, { classification: 'retry-after' });
    expect((await failing(unsaid)).error).toMatchObject({ details: [0, []] });
  });
});
