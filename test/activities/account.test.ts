import { describe, expect, it, jest } from '@jest/globals';
import { Memory } from '../../activities/run-memory.ts';
import { stepActivities } from '../../activities/index.ts';
import type { AttemptContext, Performed, Reconciler } from '../../activities/reconciler.ts';
import type { Circumstances } from '../../src/engine/holds/control.ts';
import { converged, type NextStep } from '../../src/runs/decision.ts';
import { HEARTBEAT_EVERY_MS, type Heartbeat, type KeyedAttempt, type StepInput } from '../../src/runs/run.ts';
import type { UnknownAttempt } from '../../src/api/unknown-attempt.ts';
import { PODS } from '../../src/api/kinds.ts';
import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';
import { asActivity } from '../support/activity-context.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

/** A bucket that is there, or is not. */
type Bucket = 'there' | 'missing';

interface Given {
  readonly digest?: string;
  readonly observe?: () => Promise<Bucket>;
  readonly run?: (context: AttemptContext<Bucket>) => Promise<Performed<Bucket>>;
}

const REF = { controller: 'bucket', namespace: 'shop', name: 'web', uid: 'uid-1' };
const KEYED: KeyedAttempt = { step: 'provision', digest: 'a', idempotencyKey: 'key-1' };
const DID = [{ did: 'created', what: 'the bucket' }];
const failure = (classification: ApiErrorClass) => new ApiError('no', { classification });

/** Attempts of its one step, which is durable. */
function attempts({ digest = 'a', observe = () => Promise.resolve('missing'), run }: Given = {}) {
  const seen: { asking?: Circumstances['asking']; unknown?: readonly UnknownAttempt[] }[] = [];
  const beats: unknown[] = [];
  const keys: string[] = [];
  const reconciler: Reconciler<Bucket> = {
    controller: {
      steps: { provision: 'create the bucket' },
      primary: { type: PODS },
      mayStillArrive: () => undefined,
      decide: (bucket, _, circumstances): NextStep => {
        seen.push(circumstances ?? {});
        if (bucket === 'there') return converged('it is there');
        return { do: 'provision', because: 'there is no bucket', isDurable: true, digest };
      },
    },
    observe,
    perform: async (_, __, context) => {
      keys.push(context.idempotencyKey?.() ?? '');
      context.begins?.();
      return await (run?.(context) ?? Promise.resolve({ observation: 'there', did: DID }));
    },
  };
  const activities = stepActivities(reconciler, {
    ...{ memory: new Memory(), log: aRecordingLogger(), recorder: { record: () => undefined } },
  });
  const attempt = (input: Partial<StepInput> = {}, number = 1, heartbeatDetails?: Partial<Heartbeat>) =>
    asActivity(
      {
        workflowExecution: { workflowId: 'bucket/shop/web/uid-1', runId: 'run-1' },
        ...{ attempt: number, activityType: 'provision', heartbeatDetails, startToCloseTimeoutMs: 15_000 },
      },
      async () => activities['provision']?.({ ref: REF, changes: 0, results: 1, attempt: KEYED, ...input }),
      { heartbeat: (details: unknown) => beats.push(details) },
    );
  return { attempt, seen, beats, keys };
}

describe('an attempt of a durable step', () => {
  it('has the key of its run, and costs no heartbeat where it ends at once', async () => {
    const { attempt, keys, beats } = attempts();
    expect(await attempt()).toEqual({ did: DID, next: converged('it is there') });
    expect(keys).toEqual(['key-1']);
    expect(beats).toEqual([]);
  });

  it('says in its heartbeats when it began', async () => {
    jest.useFakeTimers({ now: 400, doNotFake: ['queueMicrotask', 'nextTick'] });
    const { attempt, beats } = attempts({
      run: () =>
        jest.advanceTimersByTimeAsync(HEARTBEAT_EVERY_MS).then(() => ({ observation: 'there', did: DID })),
    });
    await attempt().finally(() => jest.useRealTimers());
    expect(beats).toEqual([{ did: [], begunMs: 400 }]);
  });

  it('that is refused fails for good, as Temporal has it: the run itself tries again', async () => {
    const { attempt } = attempts({ run: () => Promise.reject(failure('refused')) });
    await expect(attempt()).rejects.toMatchObject({ type: 'Refused', nonRetryable: true });
  });

  it('without a known result is tried again by Temporal, and the next one knows of it', async () => {
    let tries = 0;
    const run = () => {
      tries += 1;
      if (tries === 1) return Promise.reject(failure('unavailable'));
      return Promise.resolve({ observation: 'there', did: DID } as const);
    };
    const { attempt, beats, seen } = attempts({ run });
    await expect(attempt()).rejects.toMatchObject({ type: 'Unavailable', nonRetryable: false });
    const last = beats.at(-1) as Heartbeat;
    const unknown = [{ ...KEYED, begunMs: last.begunMs, untilMs: (last.begunMs ?? 0) + 15_000 }];
    expect(await attempt({}, 2, last)).toMatchObject({ did: DID, unknown });
    expect(seen.at(-1)).toMatchObject({ unknown });
  });

  it('that is refused after it tells the run of it', async () => {
    const { attempt } = attempts({ run: () => Promise.reject(failure('access-denied')) });
    const unknown = [{ ...KEYED, begunMs: 400, untilMs: 15_400 }];
    const details = [expect.anything(), unknown];
    await expect(attempt({}, 2, { begunMs: 400 })).rejects.toMatchObject({ nonRetryable: true, details });
  });

  it('that could not begin is no unknown one: the run observes', async () => {
    const { attempt, beats } = attempts({ observe: () => Promise.reject(failure('unavailable')) });
    const next = { do: 'observe', because: 'provision could not begin: no' };
    expect(await attempt()).toEqual({ did: [], next });
    expect(beats).toEqual([]);
  });

  it('that finds other data does nothing, and names its step with that', async () => {
    const { attempt, keys, seen } = attempts({ digest: 'b' });
    expect(await attempt({ otherData: 1 })).toMatchObject({
      did: [],
      next: { do: 'provision', digest: 'b' },
    });
    expect(keys).toEqual([]);
    expect(seen.at(-1)?.asking).toEqual({ step: 'provision', digest: 'a', otherData: 1 });
  });

  it('whose failure is told first is unknown all the same', async () => {
    const telling = attempts({
      run: () => Promise.resolve({ observation: 'there', did: [], isUnknown: true }),
    });
    expect(await telling.attempt()).toMatchObject({ isUnknown: true, unknown: [KEYED] });
  });
});
