import { describe, expect, it } from '@jest/globals';
import { StepRun } from '../../activities/step-run.ts';
import { definedReconciler } from '../../activities/defined-reconciler.ts';
import { defineController } from '../../src/api/controller.ts';
import type { Kube } from '../../src/api/kube.ts';
import type { StepResult } from '../../src/api/step.ts';
import { StepError } from '../../src/api/step-error.ts';
import type { DefinedObservation } from '../../src/engine/observation.ts';
import { JOBS } from '../../src/api/kinds.ts';
import { causeOfError } from '../../src/kubernetes/causes.ts';
import type { Deletion } from '../../src/api/deletion.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { Bucket, FINALIZER, UNDER_WAY } from '../support/bucket.ts';
import { statusIn } from '../support/status-write.ts';

const REF = { controller: 'bucket', namespace: 'shop', name: 'photos', uid: 'uid-1' };
const CONTEXT = {
  ref: REF,
  now: () => 0,
  superseded: new AbortController().signal,
};
const JOB = { metadata: { name: 'photos-backup', namespace: 'shop', uid: 'job-1' } };

const DELETION: Deletion = { what: 'Job', count: 1, objects: () => [JOB.metadata] };

/** What an author does with what they are given. */
interface Doing {
  readonly observe?: (kube: Pick<Kube, 'get' | 'list'>, signal: AbortSignal) => Promise<unknown>;
  readonly run?: (kube: Kube, signal: () => AbortSignal) => Promise<string | StepResult>;
  readonly isDeleting?: boolean;
}

function anAuthors({
  observe = () => Promise.resolve('seen'),
  run = () => Promise.resolve('did it'),
  isDeleting = true,
}: Doing) {
  const requests: string[] = [];
  const answer = ({ method, path, query, body }: RequestOptions): object => {
    requests.push([method, path, JSON.stringify(query ?? {}), JSON.stringify(body ?? {})].join(' '));
    if (!path.includes('buckets')) return JOB;
    const metadata = { ...REF, resourceVersion: '7', generation: 1, finalizers: [FINALIZER], ...metadataNow };
    return { metadata, spec: specNow, status: statusNow };
  };
  let specNow: object = {};
  let metadataNow: object = {};
  let statusNow: object = {};
  const client = {
    request: (options: RequestOptions) => Promise.resolve(answer(options)),
  } as unknown as KubernetesClient;
  const definition = defineController({
    name: 'bucket',
    for: Bucket,
    finalizer: FINALIZER,
    observe: ({ kube, signal }) => observe(kube, signal),
    steps: {
      act: {
        summary: 'act',
        run: (running) => run(running.kube, () => running.signal),
        ...(isDeleting && { deletes: () => DELETION }),
      },
    },
    decide: (_, next) => next.do.act('it has to'),
  });
  const reconciler = definedReconciler(definition, client);
  const act = async (observation?: DefinedObservation, deletes: Deletion = DELETION) => {
    const seen = observation ?? (await reconciler.observe(CONTEXT));
    const step = { do: 'act', because: 'it has to', data: undefined };
    return reconciler.perform({ ...step, ...(isDeleting && { deletes }) }, seen, CONTEXT);
  };
  const becomes = (spec: object, metadata: object = {}, status: object = {}) => {
    statusNow = status;
    specNow = spec;
    metadataNow = metadata;
  };
  return { reconciler, requests, act, becomes };
}

describe('an Event of a step', () => {
  it.each<[type: string, event: StepResult['event']]>([
    ['Normal', { reason: 'Moved', action: 'Move' }],
    ['Warning', { reason: 'Moved', action: 'Move', type: 'Warning' }],
  ])('is of the type that the author says: %s', async (type, event) => {
    const { act } = anAuthors({
      run: () => Promise.resolve({ message: 'moved it', ...(event && { event }) }),
    });
    expect((await act()).event).toMatchObject({ ...event, type, note: 'moved it' });
  });
});

describe('a step of an author', () => {
  it('has one signal, whose time runs from the beginning, whenever it asks for it', async () => {
    const signals: AbortSignal[] = [];
    const { act } = anAuthors({
      run: (_, signal) => {
        signals.push(signal(), signal());
        return Promise.resolve('did it');
      },
    });
    await act();
    expect(signals[0]).toBe(signals[1]);
  });

  it('deletes nothing unless it declares what', async () => {
    const { act, requests } = anAuthors({
      async run(kube) {
        await kube.delete({ type: JOBS, namespace: 'shop', name: 'photos-backup' }, { uid: 'job-1' });
        return 'did it';
      },
      isDeleting: false,
    });
    await expect(act()).rejects.toThrow(
      /step act calls kube.delete or kube.evict, but does not declare `deletes`/,
    );
    expect(requests.filter((request) => request.startsWith('DELETE'))).toEqual([]);
  });

  it.each<[what: string, deletes: Deletion]>([
    [
      'what its decision does not name',
      { ...DELETION, objects: () => [{ name: JOB.metadata.name, uid: 'job-0' }] },
    ],
    ['anything with a count of 0', { ...DELETION, count: 0 }],
    ['more than it counts', { ...DELETION, objects: () => [{ name: 'first', uid: 'job-0' }, JOB.metadata] }],
    [
      'more than it counts, of objects that are as good as each other',
      {
        ...{ ...DELETION, interchangeable: 'generation 1' },
        objects: () => [{ name: 'first', uid: 'job-0' }, JOB.metadata],
      },
    ],
  ])('neither deletes nor evicts %s', async (_, deletes) => {
    const at = { type: JOBS, namespace: 'shop', name: JOB.metadata.name };
    for (const remove of [
      (kube: Kube) => kube.delete(at, { uid: 'job-1' }),
      (kube: Kube) => kube.evict(at, { uid: 'job-1' }),
    ]) {
      const { act, requests } = anAuthors({ run: (kube) => remove(kube).then(() => 'did it') });
      await expect(act(undefined, deletes)).rejects.toThrow(
        /step act may not delete .*\/photos-backup: its UID is not one of/,
      );
      expect(requests.filter((request) => !request.startsWith('GET'))).toEqual([]);
    }
  });

  it('deletes helpers of its own besides, which nobody counts', async () => {
    const at = { type: JOBS, namespace: 'shop', name: JOB.metadata.name };
    const run = (kube: Kube) => kube.delete(at, { uid: 'job-1' }).then(() => 'did it');
    const { act, requests } = anAuthors({ run });
    const helpers = () => [{ name: JOB.metadata.name, uid: 'job-1' }];
    await act(undefined, { what: 'file', count: 0, objects: () => [], helpers });
    expect(requests.filter((request) => request.startsWith('DELETE'))).toHaveLength(1);
  });

  it('changes something outside, so that no plan tries it; those of the library do not', () => {
    const { reconciler } = anAuthors({});
    const outside = ['act', 'addFinalizer', 'updateStatus'].filter((step) => reconciler.isExternal?.(step));
    expect(outside).toEqual(['act']);
  });
});

describe('an error of an outside system', () => {
  const about = { resource: 'bucket/photos -n shop', namespace: 'shop' };
  const FAILED = { type: 'Ready', status: 'False', reason: 'ObserveFailed' };
  const SAID = { ...FAILED, message: 'of an earlier attempt', lastTransitionTime: '2026-11-21T11:00:00Z' };
  /** Of a resource whose status says so already. */
  const thrown = async (error: Error): Promise<unknown> => {
    const { reconciler, becomes } = anAuthors({ observe: () => Promise.reject(error) });
    becomes({}, {}, { observedGeneration: 1, conditions: [SAID] });
    return reconciler.observe({ ...CONTEXT, attempt: 9 }).then(
      () => 'nothing',
      (found: unknown) => found,
    );
  };

  it.each([
    ['refused', 'Refused'],
    ['access-denied', 'AccessDenied'],
    ['unavailable', 'Unavailable'],
  ] as const)('that says %s is tried again as such, with the advice of the author', async (said, code) => {
    const error = await thrown(new StepError(said, 'no room', { advice: ['ask for more'] }));
    if (!(error instanceof ApiError)) throw new Error('it is another error');
    expect(error.classification).toBe(said);
    expect(causeOfError(error, about)).toEqual({
      reason: code,
      message: 'no room',
      advice: ['ask for more'],
    });
  });

  it.each(['refused', 'access-denied'] as const)(
    'of a step, %s, is in the status first; then the attempt fails with it, and is tried again',
    async (said) => {
      const error = new StepError(said, 'no room', { advice: ['ask for more'] });
      const { reconciler, becomes } = anAuthors({ run: () => Promise.reject(error) });
      becomes({}, {}, { conditions: [UNDER_WAY] });
      const act = () => new StepRun<unknown>(reconciler, CONTEXT).perform('act', undefined);
      const first = await act();
      const reason = said === 'refused' ? 'Refused' : 'AccessDenied';
      const ready = { type: 'Ready', status: 'False', reason, message: expect.stringContaining('no room') };
      expect(first).toMatchObject({ did: [], next: { do: 'updateStatus' } });
      const status = statusIn(
        reconciler.controller.decide(first.known?.observation as DefinedObservation, 0),
      );
      expect(status.conditions).toContainEqual(expect.objectContaining(ready));
      becomes({}, {}, status);
      await expect(act()).rejects.toMatchObject({ classification: said, advice: ['ask for more'] });
    },
  );

  it.each([
    [
      'refused',
      new StepError('refused', 'no room', { advice: ['ask for more'] }),
      1,
      'no room; ask for more',
    ],
    ['away', new StepError('unavailable', 'it is away', { advice: ['start it'] }), 3, 'it is away; start it'],
    ['a bug', new TypeError('x is undefined'), 3, 'x is undefined; correct the controller bucket'],
  ])('of observe, %s, is in the status', async (_, error, attempt, message) => {
    const { reconciler, becomes } = anAuthors({ observe: () => Promise.reject(error) });
    becomes({}, {}, { size: 7 });
    const context = { ...CONTEXT, attempt };
    const { next, known } = await new StepRun<unknown>(reconciler, context).perform('observe', undefined);
    expect(next).toMatchObject({ do: 'updateStatus' });
    const status = statusIn(reconciler.controller.decide(known?.observation as DefinedObservation, 0));
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ ...FAILED, message: expect.stringContaining(message) }),
    );
    expect(Object.keys(status).sort()).toEqual(['conditions', 'observedGeneration']);
  });

  it('of observe changes no status before the third attempt, since it may go away by itself', async () => {
    const { reconciler } = anAuthors({ observe: () => Promise.reject(new StepError('unavailable', 'away')) });
    const attempts = [1, 2].map((attempt) => reconciler.observe({ ...CONTEXT, attempt }));
    expect(await Promise.allSettled(attempts)).toMatchObject([
      { status: 'rejected' },
      { status: 'rejected' },
    ]);
  });

  it('that says when to come back is waited for', async () => {
    const error = await thrown(new StepError('retry-after', 'too many', { retryAfterMs: 7_000 }));
    expect(error).toMatchObject({ classification: 'retry-after', retryAfterMs: 7_000 });
  });

  it('of any other kind is a mistake, which names the function and the controller', async () => {
    const cause = new TypeError('x is undefined');
    expect(await thrown(cause)).toMatchObject({
      message: 'observe of controller bucket has failed: x is undefined',
      cause,
    });
  });
});

describe('an outside system', () => {
  const asked = async (spec: object, metadata?: object) => {
    let times = 0;
    const observe = () => {
      times += 1;
      return Promise.resolve('seen');
    };
    const { reconciler, becomes } = anAuthors({ observe });
    becomes(spec, metadata);
    const observation = await reconciler.observe(CONTEXT);
    return { times, observation };
  };
  const DELETED = { deletionTimestamp: '2026-11-21T11:00:00Z' };

  it('is asked about a resource of which something is decided', async () => {
    expect(await asked({})).toMatchObject({ times: 1, observation: { live: { observed: 'seen' } } });
    expect(await asked({}, DELETED)).toMatchObject({ times: 1 });
    expect(await asked({ versioned: 'no' }, DELETED)).toMatchObject({ times: 1 });
  });

  it('is not asked about another one of that name, an invalid one, or one that it has let go', async () => {
    expect(await asked({}, { uid: 'uid-2' })).toEqual({ times: 0, observation: 'gone' });
    expect(await asked({ versioned: 'no' })).toMatchObject({ times: 0 });
    expect(await asked({}, { ...DELETED, finalizers: [] })).toMatchObject({ times: 0 });
  });
});
