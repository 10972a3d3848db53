import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import {
  converged,
  waitFor,
  type Action,
  type NextInHistory,
  type StepReport,
} from '../../src/runs/decision.ts';
import { FAILURE } from '../../src/runs/failures.ts';
import type { RunInput } from '../../src/runs/run.ts';
import { CHANGE, WorkflowInProcess } from '../support/workflow-in-process.ts';

const REF = { controller: 'bucket', namespace: 'shop', name: 'web', uid: 'uid-1' };
const OBSERVE: NextInHistory = { do: 'observe', because: 'nothing is known' };
const MADE: Action = { did: 'created', what: 'the bucket' };
const provision = (digest = 'a') => ({
  ...{ do: 'provision', because: 'there is no bucket', isDurable: true, onChange: 'finish', digest },
});
const A = provision() as NextInHistory;
const OTHER = { ...provision('b'), do: 'setVersioning' } as NextInHistory;
const NOW_MS = 1_000;

const start = (first: NextInHistory, more: Partial<RunInput> = {}) =>
  WorkflowInProcess.start({ ref: REF, reason: 'a test', first, ...more });
const result = (next: NextInHistory, ...did: readonly Action[]): StepReport => ({ did, next });
const failure = (type: string, nonRetryable: boolean, ...details: unknown[]) =>
  ApplicationFailure.create({ type, message: 'no', nonRetryable, details });
const refused = failure(FAILURE.refused, true, { reason: 'Refused', advice: [], messageFrom: 0 });
const lost = (heartbeat?: unknown) =>
  new TimeoutFailure(
    'activity Heartbeat timeout',
    heartbeat,
    temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_HEARTBEAT as never,
  );

beforeEach(() => {
  jest.spyOn(Date, 'now').mockReturnValue(NOW_MS);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const attemptOf = (run: WorkflowInProcess) => run.called?.input.attempt;
const keyOf = (run: WorkflowInProcess) => attemptOf(run)?.idempotencyKey;
const unknownOf = (run: WorkflowInProcess) => run.called?.input.unknown;

describe('the key of an attempt', () => {
  it('names step and data, and is new after a success', async () => {
    const [run] = await start(A);
    expect(attemptOf(run)).toMatchObject({ step: 'provision', digest: 'a' });
    const first = keyOf(run);
    await run.ends(result(A, MADE));
    expect(keyOf(run)).not.toBe(first);
  });

  it('is new after a refusal, which the run itself tries again', async () => {
    const [run] = await start(A);
    const first = keyOf(run);
    expect(await run.fails(refused)).toEqual([
      expect.stringContaining('Retrying'),
      'timer of 5000 ms: backoff: the next attempt of provision',
    ]);
    await run.timeIsUp();
    expect(run.called?.name).toBe('provision');
    expect(keyOf(run)).not.toBe(first);
    expect(unknownOf(run)).toBeUndefined();
  });

  it('is the same after an attempt that was lost, or was in its backoff when something changed', async () => {
    const [run] = await start(A);
    const first = keyOf(run);
    await run.fails(lost({ did: [], begunMs: 400 }));
    expect(run.called?.name).toBe('observe');
    await run.ends(result(A));
    expect(keyOf(run)).toBe(first);
    await run.changes();
    await run.timeIsUp();
    await run.isCancelled();
    await run.ends(result(A));
    expect(keyOf(run)).toBe(first);
  });

  it('is the same where a later attempt has got no turn, or has decided to wait', async () => {
    const [run] = await start(A);
    const first = keyOf(run);
    const waits = waitFor('its turn', 500);
    for (const report of [{ ...result(waits), hasNotLooked: true as const }, result(waits)]) {
      await run.fails(lost({ did: [], begunMs: 400 }));
      await run.ends(result(A));
      await run.ends(report);
      await run.timeIsUp();
      await run.ends(result(A));
      expect(keyOf(run)).toBe(first);
    }
  });

  it('is new for other data and for another step, and for the first data again', async () => {
    const [run] = await start(A);
    const keys = [keyOf(run)];
    for (const next of [OTHER, A]) {
      await run.fails(lost());
      await run.ends(result(next));
      keys.push(keyOf(run));
    }
    expect(new Set(keys).size).toBe(3);
  });

  it('goes on in the next run of a long history, unless its result is known', async () => {
    const [run] = await start(A);
    const first = attemptOf(run);
    await run.fails(lost());
    run.suggestToContinueAsNew();
    await run.ends(result(A));
    expect(run.continuesAs).toMatchObject({ lastAttempt: first, unknown: [{ step: 'provision' }] });
    const [next] = await start(OBSERVE, run.continuesAs);
    expect(unknownOf(next)).toMatchObject([{ step: 'provision', isEndUnseen: true }]);
    await next.ends(result(A));
    expect(attemptOf(next)).toEqual(first);
    next.suggestToContinueAsNew();
    await next.ends(result(OBSERVE, MADE));
    expect(next.continuesAs).not.toHaveProperty('lastAttempt');
  });
});

describe('an attempt without a known result', () => {
  it('is unknown from its begin on, as its last heartbeat says it, and its end unseen', async () => {
    const [run] = await start({ ...A, attemptMaxMs: 905_000 });
    await run.fails(lost({ did: [], begunMs: 400 }));
    expect(unknownOf(run)).toMatchObject([
      { step: 'provision', digest: 'a', begunMs: 400, untilMs: 905_400, isEndUnseen: true },
    ]);
  });

  it('is unknown from now on where nobody knows when it began', async () => {
    const [run] = await start(A);
    await run.fails(lost());
    expect(unknownOf(run)).toMatchObject([{ begunMs: NOW_MS, untilMs: 16_000, isEndUnseen: true }]);
  });

  it('has ended if it was in its backoff', async () => {
    const [run] = await start(A);
    await run.changes();
    await run.timeIsUp();
    await run.isCancelled();
    expect(unknownOf(run)).toMatchObject([{ begunMs: NOW_MS, untilMs: 16_000 }]);
    expect(unknownOf(run)?.[0]).not.toHaveProperty('isEndUnseen');
  });

  it('is told with a refusal that came after it', async () => {
    const before = [{ step: 'provision', idempotencyKey: 'key', digest: 'a', begunMs: 0, untilMs: 15_000 }];
    const [run] = await start(A);
    await run.fails(
      failure(FAILURE.refused, true, { reason: 'Refused', advice: [], messageFrom: 0 }, before),
    );
    await run.timeIsUp();
    expect(unknownOf(run)).toEqual(before);
  });

  it('says so where it has told what it failed with: the key stays', async () => {
    const [run] = await start(A);
    const { idempotencyKey = '' } = attemptOf(run) ?? {};
    const unknown = [{ step: 'provision', idempotencyKey, digest: 'a', begunMs: 0, untilMs: 15_000 }];
    await run.ends({ ...result(A), unknown, isUnknown: true });
    expect(keyOf(run)).toBe(idempotencyKey);
    await run.ends({ ...result(A, MADE), unknown });
    expect(keyOf(run)).not.toBe(idempotencyKey);
  });
});

describe('a refusal', () => {
  it('is tried again ever less often, at least each five minutes, and at once after a change', async () => {
    const [run] = await start(A);
    const waits: unknown[] = [];
    for (let times = 0; times < 8; times += 1) {
      const story = await run.fails(refused);
      waits.push(/timer of (\d+) ms/.exec(story.at(-1) ?? '')?.[1]);
      await run.timeIsUp();
    }
    expect(waits).toEqual(['5000', '10000', '20000', '40000', '80000', '160000', '300000', '300000']);
    await run.fails(refused);
    await run.changes();
    expect(run.called?.name).toBe('observe');
  });

  it('counts anew after a success', async () => {
    const [run] = await start(A);
    await run.fails(refused);
    await run.timeIsUp();
    await run.ends(result(A, MADE));
    expect((await run.fails(refused)).at(-1)).toContain('timer of 5000 ms');
  });
});

it('tells an attempt how often in a row those before it found other data', async () => {
  const [run] = await start(A);
  expect(run.called?.input).not.toHaveProperty('otherData');
  await run.ends(result(provision('b') as NextInHistory));
  expect(run.called?.input).toMatchObject({ otherData: 1 });
  await run.ends(result(provision('c') as NextInHistory));
  expect(run.called?.input).toMatchObject({ otherData: 2 });
  await run.ends(result(provision('d') as NextInHistory, MADE), CHANGE);
  await run.ends(result(A));
  expect(run.called?.input).not.toHaveProperty('otherData');
  expect(await run.ends(result(converged('done')))).toEqual(['result: created the bucket']);
});

it('an attempt without a turn has not looked: the next one still finds out what an earlier run may have left', async () => {
  const [run] = await start(A);
  const resultsOf = () => run.called?.input.results;
  await run.ends({ ...result(waitFor('its turn', 500)), hasNotLooked: true });
  await run.timeIsUp();
  expect(resultsOf()).toBe(0);
  await run.ends(result(A));
  expect(resultsOf()).toBe(1);
});
