import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dryRunning } from '../../activities/dry-run.ts';
import { gitBuildReconciler } from '../../activities/git-build.ts';
import type { KnownObservation } from '../../activities/run-memory.ts';
import { StepRun } from '../../activities/step-run.ts';
import {
  type DecisionEvent,
  type Action,
  isRest,
  type NextInHistory,
  nextInHistory,
  type Refusal,
  type Rest,
  sentenceOf,
} from '../../src/contract/decision.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { gitBuild } from '../../src/controllers/git-build/controller.ts';
import { buildJob, cleanupJob } from '../../src/controllers/git-build/jobs.ts';
import type { Observation } from '../../src/controllers/git-build/observation.ts';
import { specHash } from '../../src/controllers/git-build/spec.ts';
import { jobView } from '../../src/controllers/git-build/views.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../support/builds.ts';
import { answerJson, aStatus, FakeApiServer, type ReceivedRequest } from '../support/fake-api-server.ts';

const REF = { controller: 'git-build', namespace: 'shop', name: 'sample', uid: 'uid-1' };
const XXX = '/apis/test.inspur.com/v1alpha1/namespaces/shop/xxxes/sample';
const JOBS = '/apis/batch/v1/namespaces/shop/jobs';
const PODS = '/api/v1/namespaces/shop/pods';
const NAMESPACE = '/api/v1/namespaces/shop';
const FINALIZER = 'job.finalizers.test.inspur.com';
const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const DELETING = { deletionTimestamp: '2026-11-21T11:00:00Z', finalizers: [FINALIZER] };
const CLEANING = {
  phase: 'Cleaning',
  jobName: SAMPLE.jobName,
  completionTime: '2026-11-21T11:00:00Z',
  artifacts: [{ node: 'node-1', binary: 'helloworld' }],
};
/** More than any run here takes. */
const STEPS_MAX = 30;

/** What the server answers, and the body that it was sent. */
type Answers = (request: ReceivedRequest, body: unknown) => [code: number, body: object] | undefined;

let server: FakeApiServer;
let client: KubernetesClient;

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = createKubernetesClient(server.kubeConfig());
});

afterEach(async () => {
  await client.close();
  await server.stop();
});

interface Run {
  /** The names of the steps. */
  readonly steps: readonly string[];
  readonly did: string;
  readonly events: readonly DecisionEvent[];
  readonly rest: Rest;
}

/** What answers of these requests; whatever else is asked for is not there. */
function serve(answers: Answers): void {
  server.handle((request, response) => {
    const body: unknown = request.body === '' ? undefined : JSON.parse(request.body);
    const name = request.url.pathname.split('/').at(-1);
    const notFound = aStatus(404, { message: 'not found', reason: 'NotFound', details: { name } });
    const given = answers(request, body);
    // A list is no Job: nobody has the name that is asked for.
    const isJob = request.method === 'GET' && request.url.pathname.startsWith(`${JOBS}/`);
    const isAnswer = given !== undefined && !(isJob && 'items' in given[1]);
    const [code, answer] = isAnswer ? given : [404, notFound];
    answerJson(code, answer)(request, response);
  });
}

const aNamespace = (metadata: object = {}) => ({ metadata: { name: 'shop', uid: 'uid-shop', ...metadata } });

/** One step, as its activity performs it. */
function perform(
  step: string,
  known: KnownObservation<Observation> | undefined,
  refusal: Refusal | undefined,
) {
  const superseded = new AbortController().signal;
  const context = { ref: REF, now: () => NOW_MS, superseded, refusal };
  const rehearsing = gitBuildReconciler(dryRunning(client), BUILD_DEFAULTS);
  const rehearse: typeof rehearsing.perform = (...asked) => rehearsing.perform(...asked);
  const reconciler = { ...gitBuildReconciler(client, BUILD_DEFAULTS), rehearse };
  return new StepRun(reconciler, context).perform(step, known);
}

/** Step after step, as the workflow calls them, until the run rests; from the watcher's view, where there is one. */
async function run(answers: Answers, view?: Observation): Promise<Run> {
  serve(answers);
  const reconciler = gitBuildReconciler(client, BUILD_DEFAULTS);
  const steps: string[] = [];
  const did: Action[] = [];
  const events: DecisionEvent[] = [];
  let refusal: Refusal | undefined;
  let known: KnownObservation<Observation> | undefined = view && { observation: view, source: 'watch' };
  let next: NextInHistory = { do: 'observe', because: 'nothing is known' };
  if (view !== undefined) next = nextInHistory(reconciler.controller.decide(view, NOW_MS));
  while (!isRest(next) && steps.length < STEPS_MAX) {
    const end = await perform(next.do, known, refusal);
    if (end.refusal !== undefined) refusal = end.refusal;
    steps.push(next.do);
    did.push(...end.did);
    events.push(...end.events);
    ({ next, known } = end);
  }
  if (!isRest(next)) throw new Error(`it comes to no rest: ${steps.join()}`);
  return { steps, did: sentenceOf(did), events, rest: next };
}

/** What the watcher shows of a build. */
function viewOf(build: KubernetesObject, ...jobs: KubernetesObject[]): Observation {
  const controller = gitBuild(BUILD_DEFAULTS);
  const view = controller.primary.view(build);
  if (view === undefined) throw new Error('the watcher does not keep it');
  const views = jobs.flatMap((job) => jobView(job) ?? []);
  return controller.observation(view, views, build.metadata);
}

function aBuild(status: object | undefined, metadata: object = {}): KubernetesObject {
  const { uid, name, namespace } = REF;
  const meta = { uid, name, namespace, resourceVersion: '7', generation: 1, ...metadata };
  return { metadata: meta, spec: SAMPLE, ...(status && { status }) };
}

const aBuildJob = (metadata: object = {}, spec = SAMPLE) => {
  const job = buildJob(REF, { spec, hash: specHash(spec) }, BUILD_DEFAULTS);
  return { ...job, metadata: { ...job.metadata, uid: 'job-1', resourceVersion: '8', ...metadata } };
};

const aCleanupJob = (status: object = {}, more: object = {}) => {
  const cleanup = { jobName: 'build-helloworld-delete', node: 'node-1', binaries: ['helloworld'] };
  const job = cleanupJob(REF, cleanup, BUILD_DEFAULTS);
  const metadata = { ...job.metadata, uid: 'cleanup-1', resourceVersion: '9', ...more };
  return { ...job, metadata, status };
};

const failedAt = (lastTransitionTime: string) => ({
  conditions: [
    {
      type: 'Failed',
      status: 'True',
      reason: 'BackoffLimitExceeded',
      message: 'it failed',
      lastTransitionTime,
    },
  ],
});

const asked = () =>
  server.requests.map(({ method, url }) => `${method} ${url.pathname.replace(/^.*\/shop\//, '')}`);
const bodies = (method: string): unknown[] =>
  server.requests.filter((request) => request.method === method).map(({ body }): unknown => JSON.parse(body));

/** The build as it is after a merge patch of its status or metadata. */
function merged(build: KubernetesObject, patch: unknown): KubernetesObject {
  if (typeof patch !== 'object' || patch === null) return build;
  const status = 'status' in patch && typeof patch.status === 'object' ? patch.status : {};
  const metadata = 'metadata' in patch && typeof patch.metadata === 'object' ? patch.metadata : {};
  const before = typeof build['status'] === 'object' ? build['status'] : {};
  return { ...build, metadata: { ...build.metadata, ...metadata }, status: { ...before, ...status } };
}

/** The server keeps the build and its one Job. */
function keeping(build: KubernetesObject, created?: object, before: readonly object[] = []): Answers {
  let now = build;
  let jobs = before;
  return ({ method, url }, body) => {
    if (method === 'POST' && created !== undefined) jobs = [created];
    if (method === 'DELETE') jobs = [];
    if (method === 'PATCH') now = merged(now, body);
    if (method === 'POST' && created !== undefined) return [201, created];
    if (method === 'DELETE') return [200, { kind: 'Status', status: 'Success' }];
    if (url.pathname.startsWith(XXX)) return [200, now];
    return [200, { metadata: {}, items: url.pathname === JOBS ? jobs : [] }];
  };
}

describe('a run of a build', () => {
  it('that is gone, or another one of the same name, is over', async () => {
    const gone = { rest: { do: 'converged', because: 'the resource is gone' }, did: '' };
    expect(await run(() => undefined)).toMatchObject(gone);
    expect(await run(() => [200, aBuild(undefined, { uid: 'uid-2' })])).toMatchObject(gone);
  });

  it('that is new reads before each step, whatever the watcher showed', async () => {
    const build = aBuild(undefined);
    const job = aBuildJob({ creationTimestamp: new Date(NOW_MS).toISOString() });
    const { steps, did, rest, events } = await run(keeping(build, job), viewOf(build));
    expect(steps).toEqual(['addFinalizer', 'createJob', 'updateStatus']);
    expect(did).toBe('added the finalizer, created Job build-helloworld, updated the status to Building');
    expect(rest).toEqual({ do: 'wait', for: 'Job shop/build-helloworld to end', recheckMs: 10_000 });
    expect(asked()).toEqual([
      ...['GET xxxes/sample', 'PATCH xxxes/sample'],
      ...['GET jobs/build-helloworld', 'POST jobs', 'PATCH xxxes/sample/status'],
    ]);
    expect(bodies('PATCH')).toMatchObject([
      { metadata: { uid: 'uid-1', resourceVersion: '7', finalizers: [FINALIZER] } },
      {
        metadata: { uid: 'uid-1', resourceVersion: '7' },
        status: { phase: 'Building', completionTime: null, workflowId: 'git-build/shop/sample/uid-1' },
      },
    ]);
    expect(events).toMatchObject([{ reason: 'BuildStarted', occasion: 'job-1' }]);
  });

  it('says so where something takes the finalizer away at once, and creates no Job', async () => {
    const bare = aBuild(undefined);
    serve(({ method, url }, body) => {
      if (method === 'GET') return [200, url.pathname === XXX ? bare : { metadata: {}, items: [] }];
      const after = merged(bare, body);
      return [200, { ...after, metadata: { ...after.metadata, finalizers: [] } }];
    });
    const first = await perform('addFinalizer', undefined, undefined);
    expect(first).toMatchObject({
      next: { do: 'updateStatus' },
      refusal: { because: 'overridden', message: expect.stringContaining('metadata.finalizers') },
    });
    const second = await perform('updateStatus', first.known, first.refusal);
    expect(second.next.do).toBe('addFinalizer');
    expect(bodies('PATCH')).toHaveLength(2);
    expect(asked()).not.toContain('POST jobs');
  });

  it('reads, and decides again, where the build has changed since it was read', async () => {
    let patches = 0;
    const { rest } = await run(({ method, url }) => {
      if (method === 'PATCH' && (patches += 1) === 1) return [409, CONFLICT];
      if (url.pathname !== XXX) return [200, { metadata: {}, items: [] }];
      const deleted = patches === 0 ? {} : { deletionTimestamp: 'x' };
      return method === 'GET' ? [200, aBuild(undefined, deleted)] : undefined;
    });
    expect(rest).toEqual({ do: 'converged', because: 'the resource is being deleted' });
    expect(patches).toBe(1);
  });

  it.each([
    ['addFinalizer', {}, ['a/b', 'c/d'], ['a/b', 'c/d', FINALIZER]],
    [
      'removeFinalizer',
      { ...DELETING, annotations: { 'durable-operator.dev/skip-cleanup': 'true' } },
      ['a/b', FINALIZER, 'c/d'],
      ['a/b', 'c/d'],
    ],
  ])('leaves the finalizers of others as they are: %s', async (step, metadata, before, after) => {
    const build = aBuild(undefined, { ...metadata, finalizers: before });
    serve(keeping(build));
    await perform(step, undefined, undefined);
    expect(bodies('PATCH')[0]).toMatchObject({ metadata: { resourceVersion: '7', finalizers: after } });
  });

  it('creates nothing because of what the watcher showed, where the spec has changed since', async () => {
    const old = aBuild({ phase: 'Pending', observedGeneration: 1 }, { finalizers: [FINALIZER] });
    const changed = { ...aBuild({}, { finalizers: [FINALIZER], resourceVersion: '9', generation: 2 }) };
    const spec = { ...SAMPLE, binaryName: 'other' };
    const now = { ...changed, spec };
    await run(keeping(now, aBuildJob({}, spec)), viewOf(old));
    expect(bodies('POST')).toMatchObject([
      { metadata: { annotations: { 'durable-operator.dev/binary-name': 'other' } } },
    ]);
  });

  it('deletes a Job only as it was read, in the foreground, and reads where its Pods are afterwards', async () => {
    const build = aBuild(
      { phase: 'Pending', message: 'Job build-helloworld is being deleted', observedGeneration: 2 },
      { finalizers: [FINALIZER], generation: 2 },
    );
    const old = aBuildJob({}, { ...SAMPLE, buildCommand: 'old' });
    const { template } = old.spec;
    const pod = {
      metadata: { ...template.metadata, name: 'p', uid: 'p' },
      spec: { nodeName: 'node-1' },
      status: { phase: 'Pending' },
    };
    let deleted = false;
    const { steps, rest } = await run(({ method, url }, body) => {
      if (method === 'PATCH') return [200, merged(build, body)];
      if (method === 'DELETE') deleted = true;
      const job = deleted ? { ...old, metadata: { ...old.metadata, ...DELETING } } : old;
      if (method === 'DELETE') return [200, job];
      if (url.pathname === XXX) return [200, build];
      return [200, { metadata: {}, items: url.pathname === JOBS ? [job] : deleted ? [pod] : [] }];
    });
    expect(steps).toEqual(['observe', 'updateStatus', 'deleteJob', 'updateStatus']);
    expect(bodies('DELETE')).toMatchObject([
      { preconditions: { uid: 'job-1', resourceVersion: '8' }, propagationPolicy: 'Foreground' },
    ]);
    expect(bodies('PATCH').at(-1)).toMatchObject({
      status: { artifacts: [{ node: 'node-1', binary: 'helloworld' }] },
    });
    expect(rest).toMatchObject({ do: 'wait', for: 'Job shop/build-helloworld and its Pods to be deleted' });
  });
});

const CONFLICT = aStatus(409, { message: 'x', reason: 'Conflict' });

describe('a Job that the server refuses', () => {
  const quota = aStatus(403, {
    message: 'exceeded quota: jobs of https://u:s3cret@h/x?token=s3cret',
    reason: 'Forbidden',
  });

  it('is in the status, in the words of the server without credentials, and is tried again later', async () => {
    const fresh = aBuild(undefined, { finalizers: [FINALIZER] });
    let build = fresh;
    const running = run(({ method, url }, body) => {
      if (method === 'POST') return [403, quota];
      if (method === 'PATCH') build = merged(build, body);
      return [200, url.pathname.startsWith(XXX) ? build : { metadata: {}, items: [] }];
    }, viewOf(fresh));
    await expect(running).rejects.toMatchObject({
      classification: 'refused',
      message: expect.not.stringContaining('s3cret'),
    });
    expect(asked().filter((request) => !request.startsWith('GET'))).toEqual([
      'POST jobs',
      'PATCH xxxes/sample/status',
      'POST jobs',
    ]);
    expect(bodies('PATCH').at(-1)).toMatchObject({
      status: { phase: 'Pending', message: expect.stringContaining('exceeded quota: jobs') },
    });
    expect(JSON.stringify(bodies('PATCH'))).not.toContain('s3cret');
  });

  const denied = (words: string) =>
    aStatus(403, { reason: 'Forbidden', message: `admission webhook "keep" denied the request: ${words}` });

  const REASONS = ['no owner', 'no limits', 'too late', 'too large'];
  const wordsOf = (times: number) => REASONS[times] ?? '';

  /** The server keeps what is written of the build, and answers each write of that verb otherwise. */
  const refusing = (verb: string, build: KubernetesObject, job?: object, words = wordsOf): Answers => {
    let now = build;
    let times = 0;
    return ({ method, url }, body) => {
      if (method === verb && !url.pathname.endsWith('/status')) return [403, denied(words(times++))];
      if (method === 'PATCH') now = merged(now, body);
      if (method === 'PATCH' || url.pathname === XXX) return [200, now];
      return [200, { metadata: {}, items: job !== undefined && url.pathname === JOBS ? [job] : [] }];
    };
  };
  const old = aBuildJob({}, { ...SAMPLE, buildCommand: 'old' });
  const wordsAfter = () => JSON.stringify(bodies('PATCH').at(-1));

  it.each([
    ['createJob', 'POST', aBuild({}, { finalizers: [FINALIZER] }), undefined],
    ['deleteJob', 'DELETE', aBuild({}, { finalizers: [FINALIZER] }), old],
    ['addFinalizer', 'PATCH', aBuild({}), undefined],
    ['removeFinalizer', 'PATCH', aBuild({ ...CLEANING, artifacts: [] }, DELETING), undefined],
  ])('in other words each time, is left to its backoff: %s', async (step, verb, build, job) => {
    const reason = 'Refused';
    const answers = refusing(verb, build, job);
    await expect(run(answers)).rejects.toMatchObject({ classification: 'refused' });
    const refusals = () =>
      server.requests.filter((each) => each.method === verb && !each.url.pathname.endsWith('/status'));
    expect(refusals()).toHaveLength(2);
    expect(bodies('PATCH').at(-1)).toMatchObject({
      status: { conditions: [{ reason }, { type: 'Stalled', status: 'True', reason }, {}] },
    });
    expect(wordsAfter()).toContain('denied the request: no limits');
    const refusal = { because: 'refused', message: 'as it was said first' } as const;
    for (const attempt of [3, 4]) {
      await expect(perform(step, undefined, refusal)).rejects.toMatchObject({ classification: 'refused' });
      expect(refusals()).toHaveLength(attempt);
      expect(wordsAfter()).toContain(`denied the request: ${wordsOf(attempt - 1)}`);
    }
  });
});

describe('a cleanup', () => {
  const cleaning = aBuild(CLEANING, DELETING);
  it('that its namespace takes no Job for is given up, and an Event on the namespace says what stays', async () => {
    const causes = [{ reason: 'NamespaceTerminating' }];
    const terminating = aStatus(403, { message: 'terminating', reason: 'Forbidden', details: { causes } });
    const { rest, did, events } = await run(({ method, url }, body) => {
      if (method === 'POST') return [403, terminating];
      if (method === 'PATCH') return [200, merged(cleaning, body)];
      if (url.pathname === NAMESPACE) return [200, aNamespace({ deletionTimestamp: '2026-11-21T11:00:00Z' })];
      return [200, url.pathname === XXX ? cleaning : { metadata: {}, items: [] }];
    });
    expect(rest).toMatchObject({ do: 'converged' });
    expect(did).toBe('removed the finalizer');
    expect(events).toMatchObject([{ type: 'Warning', reason: 'CleanupSkipped', about: 'namespace' }]);
    expect(events[0]?.note).toContain('helloworld on node-1 stays');
  });

  it('is not given up because a workflow of somebody else says that the namespace takes no Job', async () => {
    serve(({ method, url }, body) => {
      if (method === 'PATCH') return [200, merged(cleaning, body)];
      if (url.pathname === NAMESPACE) return [200, aNamespace()];
      return [200, url.pathname === XXX ? cleaning : { metadata: {}, items: [] }];
    });
    const forged = { because: 'namespace-terminating', message: 'made up' } as const;
    const end = await perform('removeFinalizer', undefined, forged);
    expect(end).toMatchObject({ did: [], next: { do: 'createCleanupJob' } });
    expect(bodies('PATCH')).toEqual([]);
  });

  it('that has failed is tried again once it is time', async () => {
    const failed = aCleanupJob(failedAt('2026-11-21T11:59:00Z'));
    const { steps } = await run(keeping(cleaning, aCleanupJob(), [failed]));
    expect(steps).toEqual(['observe', 'updateStatus', 'deleteJob', 'createCleanupJob', 'updateStatus']);
    expect(bodies('DELETE')).toEqual([
      {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: 'cleanup-1', resourceVersion: '9' },
        propagationPolicy: 'Background',
      },
    ]);
    expect(bodies('POST')).toMatchObject([
      { metadata: { annotations: { 'durable-operator.dev/node': 'node-1' } } },
    ]);
  });

  it('whose Pod no node takes asks for the node, and takes it for clean where that is gone', async () => {
    const { template } = aCleanupJob().spec;
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no' }];
    const pod = {
      metadata: { ...template.metadata, name: 'p' },
      spec: {},
      status: { phase: 'Pending', conditions },
    };
    let build = cleaning;
    let going = {};
    await run(({ method, url }, body) => {
      if (method === 'PATCH') build = merged(build, body);
      if (method === 'DELETE') going = { deletionTimestamp: 'x' };
      const job = aCleanupJob({}, going);
      if (method === 'DELETE') return [200, job];
      if (url.pathname.startsWith('/api/v1/nodes/')) return undefined;
      if (url.pathname === PODS) return [200, { metadata: {}, items: [pod] }];
      return [200, url.pathname === JOBS ? { metadata: {}, items: [job] } : build];
    });
    expect(server.requests.map(({ url }) => url.pathname)).toContain('/api/v1/nodes/node-1');
    expect(bodies('PATCH')).toMatchObject([{ status: { artifacts: [] } }]);
    expect(asked()).toContain('DELETE jobs/build-helloworld-delete');
    expect(asked()).not.toContain('POST jobs');
  });
});

describe('the name of a Job', () => {
  const taken = aStatus(409, {
    message: 'exists',
    reason: 'AlreadyExists',
    details: { name: 'build-helloworld' },
  });
  const fresh = aBuild(undefined, { finalizers: [FINALIZER] });

  it("that was another's is taken once it is free, without a create that is bound to fail before", async () => {
    const conditions = [
      {
        type: 'Stalled',
        status: 'True',
        reason: 'JobNameTaken',
        message: '',
        observedGeneration: 1,
        lastTransitionTime: '2026-11-21T12:00:00Z',
      },
    ];
    const waits = aBuild(
      { phase: 'Pending', observedGeneration: 1, conditions },
      { finalizers: [FINALIZER] },
    );
    let isFree = false;
    const kept = keeping(waits, aBuildJob());
    const answers: Answers = (request, body) => {
      const isTaken = request.url.pathname === `${JOBS}/${SAMPLE.jobName}` && !isFree;
      return isTaken ? [200, { metadata: { name: 'x' } }] : kept(request, body);
    };
    expect((await run(answers)).rest).toMatchObject({ do: 'stalled', recheckMs: 60_000 });
    expect(asked()).not.toContain('POST jobs');
    isFree = true;
    expect((await run(answers)).rest).toMatchObject({ for: 'Job shop/build-helloworld to end' });
    expect(asked().filter((request) => request === 'POST jobs')).toHaveLength(1);
  });

  it.each<[string, KubernetesObject, object, string]>([
    ['build', aBuild({}, { finalizers: [FINALIZER] }), aBuildJob({ labels: {} }), SAMPLE.jobName],
    ['cleanup', aBuild(CLEANING, DELETING), aCleanupJob({}, { labels: {} }), `${SAMPLE.jobName}-delete`],
  ])('that its own %s Job has, whose labels something changes, is not tried again', async (...given) => {
    const [, build, altered, jobName] = given;
    const kept = keeping(build, altered);
    let isThere = false;
    const { rest, events } = await run((request, body) => {
      const isAsked = request.url.pathname === `${JOBS}/${jobName}`;
      if (request.method === 'POST') isThere = true;
      if (isAsked) return isThere ? [200, altered] : undefined;
      return request.url.pathname === JOBS && request.method === 'GET'
        ? [200, { metadata: {}, items: [] }]
        : kept(request, body);
    });
    expect(rest).toMatchObject({
      do: 'stalled',
      reason: 'Overridden',
      recheckMs: 60_000,
    });
    expect(bodies('POST')).toHaveLength(1);
    expect(events).toMatchObject([{ type: 'Warning', reason: 'Overridden' }]);
    expect(bodies('PATCH').at(-1)).toMatchObject({
      status: {
        conditions: expect.arrayContaining([
          expect.objectContaining({ type: 'Stalled', reason: 'Overridden' }),
        ]),
      },
    });
  });

  it('is tried by dry runs where something changes the annotation that tells the spec', async () => {
    const changed = aBuildJob({ annotations: {} });
    let build = fresh;
    let isThere = false;
    serve(({ method, url }, body) => {
      const isDryRun = url.searchParams.has('dryRun');
      if (method === 'POST' && isThere) return [409, taken];
      if (method === 'POST') isThere = !isDryRun;
      if (method === 'POST') return [201, changed];
      if (method === 'DELETE') isThere = false;
      if (method === 'DELETE') return [200, { kind: 'Status' }];
      if (method === 'PATCH') build = merged(build, body);
      if (method === 'PATCH' || url.pathname === XXX) return [200, build];
      if (url.pathname === `${JOBS}/${SAMPLE.jobName}`) return isThere ? [200, changed] : undefined;
      return [200, { metadata: {}, items: isThere && url.pathname === JOBS ? [changed] : [] }];
    });
    const steps: string[] = [];
    let next = 'createJob';
    let refusal: Refusal | undefined;
    let known: KnownObservation<Observation> | undefined;
    const ending = (async () => {
      while (steps.push(next) < STEPS_MAX) {
        const end = await perform(next, known, refusal);
        if (end.refusal !== undefined) refusal = end.refusal;
        known = end.known;
        next = end.next.do;
      }
    })();
    await expect(ending).rejects.toMatchObject({ classification: 'overridden' });
    expect(steps).toEqual([
      'createJob',
      'updateStatus',
      'createJob',
      'updateStatus',
      'deleteJob',
      'createJob',
    ]);
    const created = server.requests.filter(({ method, url }) => method === 'POST' && url.search === '');
    expect(created).toHaveLength(1);
  });
});
