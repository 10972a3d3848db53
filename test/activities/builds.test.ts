import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { passOverBuild } from '../../activities/builds.ts';
import type { Event, Regarding } from '../../activities/events.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { buildJob, cleanupJob } from '../../src/controllers/build/jobs.ts';
import type { SeenBuild } from '../../src/controllers/build/seen.ts';
import { specHash } from '../../src/controllers/build/spec.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../support/builds.ts';
import { answerJson, aStatus, FakeApiServer, type ReceivedRequest } from '../support/fake-api-server.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const REF = { controller: 'build', namespace: 'shop', name: 'sample', uid: 'uid-1' };
const XXX = '/apis/test.inspur.com/v1alpha1/namespaces/shop/xxxes/sample';
const JOBS = '/apis/batch/v1/namespaces/shop/jobs';
const PODS = '/api/v1/namespaces/shop/pods';
const FINALIZER = 'job.finalizers.test.inspur.com';
const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const DELETING = { deletionTimestamp: '2026-11-21T11:00:00Z', finalizers: [FINALIZER] };
const CLEANING = {
  phase: 'Cleaning',
  jobName: SAMPLE.jobName,
  completionTime: '2026-11-21T11:00:00Z',
  artifacts: [{ node: 'node-1', binary: 'helloworld' }],
};

/** What the server answers, and the body that it was sent. */
type Answers = (request: ReceivedRequest, body: unknown) => [code: number, body: object] | undefined;

let server: FakeApiServer;
let client: KubernetesClient;
let events: (Event & Regarding)[];

beforeEach(async () => {
  server = await FakeApiServer.start();
  client = createKubernetesClient(server.kubeConfig());
  events = [];
});

afterEach(async () => {
  await client.close();
  await server.stop();
});

/** One pass against a server that answers as told; what it is not told is not there. */
function pass(answers: Answers, { seen, now = () => NOW_MS }: { seen?: SeenBuild; now?: () => number } = {}) {
  server.handle((request, response) => {
    const body: unknown = request.body === '' ? undefined : JSON.parse(request.body);
    const name = request.url.pathname.split('/').at(-1);
    const notFound = aStatus(404, { message: 'not found', reason: 'NotFound', details: { name } });
    const [code, answer] = answers(request, body) ?? [404, notFound];
    answerJson(code, answer)(request, response);
  });
  return passOverBuild({
    client,
    ref: REF,
    options: BUILD_DEFAULTS,
    log: aRecordingLogger(),
    now,
    recorder: { record: (_, regarding, event) => void events.push({ ...event, ...regarding }) },
    ...(seen && { seen }),
  });
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

const aCleanupJob = (attempt: number, status: object = {}) => {
  const wanted = { jobName: 'build-helloworld-delete', node: 'node-1', binaries: ['helloworld'], attempt };
  const job = cleanupJob(REF, wanted, BUILD_DEFAULTS);
  return { ...job, metadata: { ...job.metadata, uid: 'cleanup-1', resourceVersion: '9' }, status };
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
const ADD: SeenBuild = { step: 'add-finalizer', resourceVersion: '7', generation: 1 };

/** The build as it is after a merge patch of its status or metadata. */
function merged(build: KubernetesObject, patch: unknown): KubernetesObject {
  if (typeof patch !== 'object' || patch === null) return build;
  const status = 'status' in patch && typeof patch.status === 'object' ? patch.status : {};
  const metadata = 'metadata' in patch && typeof patch.metadata === 'object' ? patch.metadata : {};
  const before = typeof build['status'] === 'object' ? build['status'] : {};
  return { ...build, metadata: { ...build.metadata, ...metadata }, status: { ...before, ...status } };
}

describe('a pass over a build', () => {
  it('that is gone, or another one of the same name, is over', async () => {
    expect(await pass(() => undefined)).toEqual({ result: 'converged', did: 'the resource is gone' });
    expect(await pass(() => [200, aBuild(undefined, { uid: 'uid-2' })])).toMatchObject({
      result: 'converged',
    });
  });

  it('that is new makes three requests, each of which fails where it is not so any more', async () => {
    const fresh = { ...aBuild(undefined, { finalizers: [FINALIZER] }) };
    const outcome = await pass(
      ({ method, url }, body) => {
        if (method === 'POST') return [201, aBuildJob()];
        return method === 'PATCH' ? [200, url.pathname === XXX ? fresh : merged(fresh, body)] : undefined;
      },
      { seen: ADD },
    );
    expect(outcome).toMatchObject({
      result: 'waiting',
      on: 'Job shop/build-helloworld to end',
      atMostMs: 300_000,
    });
    expect(asked()).toEqual(['PATCH xxxes/sample', 'POST jobs', 'PATCH xxxes/sample/status']);
    expect(bodies('PATCH')).toMatchObject([
      { metadata: { uid: 'uid-1', resourceVersion: '7', finalizers: [FINALIZER] } },
      {
        metadata: { uid: 'uid-1', resourceVersion: '7' },
        status: { phase: 'Building', completionTime: null },
      },
    ]);
    expect(events).toMatchObject([{ reason: 'BuildStarted', occasion: 'job-1', kind: 'Xxx' }]);
  });

  it('reads, and decides again, where what was seen is not so any more', async () => {
    let patches = 0;
    const outcome = await pass(
      ({ method }) => {
        if (method === 'PATCH' && (patches += 1) === 1)
          return [409, aStatus(409, { message: 'x', reason: 'Conflict' })];
        return method === 'GET' ? [200, aBuild(undefined, { deletionTimestamp: 'x' })] : undefined;
      },
      { seen: ADD },
    );
    expect(outcome).toEqual({ result: 'converged', did: 'the resource is being deleted' });
    expect(asked()).toEqual(['PATCH xxxes/sample', 'GET xxxes/sample']);
  });

  it('leaves it to the backoff where somebody always writes in between', async () => {
    const conflict: [number, object] = [409, aStatus(409, { message: 'x', reason: 'Conflict' })];
    const passing = pass(({ method }) => (method === 'GET' ? [200, aBuild(undefined)] : conflict));
    await expect(passing).rejects.toMatchObject({ classification: 'conflict' });
    expect(server.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(5);
  });

  it('begins nothing any more once Temporal may have given it up', async () => {
    let nowMs = NOW_MS;
    const passing = pass(() => [200, aBuild(undefined, { resourceVersion: String((nowMs += 60_000)) })], {
      now: () => nowMs,
    });
    await expect(passing).rejects.toThrow('came to no end');
    expect(asked()).toEqual(['GET xxxes/sample']);
  });

  it('never repeats a create that may have been made: it looks first', async () => {
    const building = { phase: 'Building', observedGeneration: 1 };
    const build = aBuild(building, { finalizers: [FINALIZER] });
    await pass(({ method, url }, body) => {
      if (method === 'PATCH') return [200, merged(build, body)];
      if (url.pathname === XXX) return [200, build];
      return [200, { items: url.pathname === JOBS ? [aBuildJob()] : [] }];
    });
    expect(asked()).not.toContain('POST jobs');
  });
});

describe('a Job that the server refuses', () => {
  const quota = aStatus(403, { message: 'exceeded quota: jobs', reason: 'Forbidden' });

  it('is told in the status, in the words of the server, and tried again later', async () => {
    const fresh = aBuild(undefined, { finalizers: [FINALIZER] });
    const passing = pass(
      ({ method, url }, body) => {
        if (method === 'POST') return [403, quota];
        return [200, url.pathname === XXX ? fresh : merged(fresh, body)];
      },
      { seen: ADD },
    );
    await expect(passing).rejects.toMatchObject({ classification: 'refused' });
    expect(bodies('PATCH').at(-1)).toMatchObject({
      status: { phase: 'Pending', message: expect.stringContaining('exceeded quota: jobs') },
    });
  });
});

describe('a cleanup', () => {
  const cleaning = aBuild(CLEANING, DELETING);
  const looksAt =
    (job: object, more: Answers = () => undefined): Answers =>
    (request, body) => {
      const answer = more(request, body);
      if (answer !== undefined) return answer;
      const { method, url } = request;
      if (method === 'PATCH') return [200, merged(cleaning, body)];
      if (url.pathname === XXX) return [200, cleaning];
      return [200, { items: url.pathname === JOBS ? [job] : [] }];
    };

  it('that its namespace takes no Job for is given up, and an Event on the namespace says what stays', async () => {
    const causes = [{ reason: 'NamespaceTerminating' }];
    const terminating = aStatus(403, { message: 'terminating', reason: 'Forbidden', details: { causes } });
    const outcome = await pass(({ method, url }, body) => {
      if (method === 'POST') return [403, terminating];
      if (method === 'PATCH') return [200, merged(cleaning, body)];
      return [200, url.pathname === XXX ? cleaning : { items: [] }];
    });
    expect(outcome).toMatchObject({ result: 'converged', did: 'removed the finalizer' });
    expect(events).toMatchObject([
      { type: 'Warning', reason: 'CleanupSkipped', kind: 'Namespace', name: 'shop' },
    ]);
    expect(events[0]?.note).toContain('helloworld on node-1 stays');
  });

  it.each([
    [1, 10_000],
    [2, 20_000],
    [5, 160_000],
    [6, 300_000],
    [60, 300_000],
  ])('that has failed %i times says why, and waits %i ms', async (attempt, atMostMs) => {
    const outcome = await pass(looksAt(aCleanupJob(attempt, failedAt('2026-11-21T12:00:00Z'))));
    expect(outcome).toMatchObject({ result: 'waiting', atMostMs });
    expect(bodies('PATCH')).toMatchObject([
      { status: { message: expect.stringContaining('Job build-helloworld-delete failed: it failed') } },
    ]);
    expect(events).toMatchObject([{ type: 'Warning', reason: 'CleanupFailed', occasion: 'cleanup-1' }]);
    expect(asked()).not.toContain('DELETE jobs/build-helloworld-delete');
  });

  it('that has failed is tried again once it is time, and counts on', async () => {
    await pass(
      looksAt(aCleanupJob(3, failedAt('2026-11-21T11:59:00Z')), ({ method }) => {
        if (method === 'DELETE') return [200, { kind: 'Status', status: 'Success' }];
        return method === 'POST' ? [201, aCleanupJob(4)] : undefined;
      }),
    );
    expect(bodies('DELETE')).toEqual([
      {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: 'cleanup-1', resourceVersion: '9' },
        propagationPolicy: 'Background',
      },
    ]);
    expect(bodies('POST')).toMatchObject([
      {
        metadata: {
          annotations: { 'durable-operator.dev/attempt': '4', 'durable-operator.dev/node': 'node-1' },
        },
      },
    ]);
  });

  it('whose Pod no node takes asks for the node, and takes it for clean where that is gone', async () => {
    const { template } = aCleanupJob(1).spec;
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no' }];
    const pod = {
      metadata: { ...template.metadata, name: 'p' },
      spec: {},
      status: { phase: 'Pending', conditions },
    };
    await pass(
      looksAt(aCleanupJob(1), ({ method, url }) => {
        if (url.pathname === PODS) return [200, { items: [pod] }];
        if (url.pathname.startsWith('/api/v1/nodes/')) {
          return [404, aStatus(404, { message: 'x', reason: 'NotFound', details: { name: 'node-1' } })];
        }
        if (method !== 'DELETE') return undefined;
        return [200, { ...aCleanupJob(1), metadata: { ...aCleanupJob(1).metadata, deletionTimestamp: 'x' } }];
      }),
    );
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
  const meets =
    (there: object): Answers =>
    ({ method, url }, body) => {
      if (method === 'POST') return [409, taken];
      if (method === 'PATCH') return [200, url.pathname === XXX ? fresh : merged(fresh, body)];
      if (method === 'DELETE')
        return [200, { ...there, metadata: { ...metadataOf(there), deletionTimestamp: 'x' } }];
      return [200, there];
    };
  const metadataOf = (object: object) =>
    'metadata' in object && typeof object.metadata === 'object' ? object.metadata : {};

  it('that another build has is left to it', async () => {
    const others = aBuildJob({
      labels: { ...aBuildJob().metadata.labels, 'durable-operator.dev/build-uid': 'uid-9' },
    });
    const { annotations } = others.metadata;
    const named = {
      ...others,
      metadata: {
        ...others.metadata,
        annotations: { ...annotations, 'durable-operator.dev/build-name': 'other' },
      },
    };
    expect(await pass(meets(named), { seen: ADD })).toMatchObject({ result: 'waiting', atMostMs: 60_000 });
    expect(asked()).not.toContain('DELETE jobs/build-helloworld');
    expect(events).toMatchObject([{ type: 'Warning', reason: 'JobNameTaken' }]);
  });

  it("that was another's is taken once it is free, without a create that is bound to fail before", async () => {
    const conditions = [
      {
        type: 'Stalled',
        status: 'True',
        reason: 'JobNameTaken',
        message: '',
        observedGeneration: 1,
        lastTransitionTime: '',
      },
    ];
    const waits = aBuild(
      { phase: 'Pending', observedGeneration: 1, conditions },
      { finalizers: [FINALIZER] },
    );
    let isFree = false;
    const answers: Answers = ({ method, url }, body) => {
      if (method === 'POST') return [201, aBuildJob()];
      if (method === 'PATCH') return [200, merged(waits, body)];
      if (url.pathname === XXX) return [200, waits];
      if (url.pathname === `${JOBS}/${SAMPLE.jobName}`)
        return isFree ? undefined : [200, { metadata: { name: 'x' } }];
      return [200, { items: [] }];
    };
    expect(await pass(answers)).toMatchObject({ result: 'waiting', atMostMs: 60_000 });
    expect(asked()).not.toContain('POST jobs');
    isFree = true;
    expect(await pass(answers)).toMatchObject({ on: 'Job shop/build-helloworld to end' });
    expect(asked().filter((request) => request === 'POST jobs')).toHaveLength(1);
  });

  it('that an earlier build of the same name has left is freed', async () => {
    const left = aBuildJob({
      labels: { ...aBuildJob().metadata.labels, 'durable-operator.dev/build-uid': 'uid-0' },
    });
    expect(await pass(meets(left), { seen: ADD })).toMatchObject({ result: 'waiting', atMostMs: 2_000 });
    expect(bodies('DELETE')).toMatchObject([
      { preconditions: { uid: 'job-1', resourceVersion: '8' }, propagationPolicy: 'Foreground' },
    ]);
  });
});
