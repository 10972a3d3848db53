import { describe, expect, it } from '@jest/globals';
import { authorsKube } from '../../activities/authors-kube.ts';
import { asDryRun, dryRunOnly, isDryRun, WouldWrite } from '../../activities/dry-run.ts';
import { DEPLOYMENTS } from '../../src/api/built-in.ts';
import { PODS as POD } from '../../src/api/kinds.ts';
import { MayNotTry, mergePatch, Rehearsal } from '../../src/ask/plan/rehearsal.ts';
import type { KubernetesList, KubernetesObject } from '../../src/api/object.ts';
import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';

const PODS = '/api/v1/namespaces/shop/pods';

/** Answers with what a test has for a method and a path, and remembers what it was asked. */
class FakeClient implements KubernetesClient {
  readonly server = 'https://fake';
  readonly fieldManager = 'durable-operator';
  readonly asked: RequestOptions[] = [];
  readonly #answers: Readonly<Record<string, unknown>>;

  constructor(answers: Readonly<Record<string, unknown>> = {}) {
    this.#answers = answers;
  }

  request<T>(options: RequestOptions): Promise<T> {
    this.asked.push(options);
    const answer = this.#answers[`${options.method} ${options.path}`];
    if (answer instanceof Error) return Promise.reject(answer);
    return answer === undefined ? Promise.reject(anError('not-found')) : Promise.resolve(answer as T);
  }

  watch(): never {
    throw new Error('nobody watches here');
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function anError(classification: ApiErrorClass): ApiError {
  return new ApiError(`it is ${classification}`, { classification });
}

function aPod(name: string, changed: Partial<KubernetesObject['metadata']> = {}): KubernetesObject {
  const metadata = {
    name,
    namespace: 'shop',
    uid: `uid-${name}`,
    resourceVersion: '7',
    labels: { app: 'web' },
  };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, ...changed } };
}

describe('a client that cannot write', () => {
  const write: RequestOptions = { method: 'PATCH', path: `${PODS}/web`, body: {} };

  it.each<{ case: string; options: RequestOptions }>([
    { case: 'a patch', options: write },
    { case: 'a create', options: { method: 'POST', path: PODS, body: {} } },
    { case: 'an update', options: { method: 'PUT', path: `${PODS}/web`, body: {} } },
    { case: 'a delete', options: { method: 'DELETE', path: `${PODS}/web` } },
    { case: 'another value', options: { ...write, query: { dryRun: 'None' } } },
    {
      case: 'a delete that says so only where the server does not look',
      options: {
        method: 'DELETE',
        path: `${PODS}/web`,
        query: { dryRun: 'All' },
        body: { kind: 'DeleteOptions' },
      },
    },
  ])('sends no write that is not a dry run: $case', async ({ options }) => {
    const client = new FakeClient();
    await expect(dryRunOnly(client).request(options)).rejects.toThrow(WouldWrite);
    expect(client.asked).toEqual([]);
  });

  it('sends reads, and dry runs', async () => {
    const client = new FakeClient({
      [`GET ${PODS}/web`]: aPod('web'),
      [`PATCH ${PODS}/web`]: aPod('web'),
    });
    await dryRunOnly(client).request({ method: 'GET', path: `${PODS}/web` });
    await dryRunOnly(client).request(asDryRun(write));
    expect(client.asked).toMatchObject([{ method: 'GET' }, { method: 'PATCH', query: { dryRun: 'All' } }]);
  });

  it('says of a delete that it is a dry run where the server looks for it, and keeps its preconditions', () => {
    const body = { kind: 'DeleteOptions', preconditions: { uid: 'u' } };
    const options = asDryRun({ method: 'DELETE', path: `${PODS}/web`, body });
    expect(options.body).toEqual({ ...body, dryRun: ['All'] });
    expect(isDryRun(options)).toBe(true);
  });
});

describe('a rehearsal', () => {
  it('reads what it has written, one by one and in lists', async () => {
    const list: KubernetesList = { metadata: {}, items: [aPod('old'), aPod('web')] };
    const client = new FakeClient({
      [`GET ${PODS}`]: list,
      [`GET ${PODS}/old`]: aPod('old'),
      [`GET ${PODS}/web`]: aPod('web'),
      [`POST ${PODS}`]: aPod('new', { uid: 'n' }),
      [`DELETE ${PODS}/old`]: { kind: 'Status', metadata: {} },
      [`PATCH ${PODS}/web`]: aPod('web', { resourceVersion: '7', annotations: { a: 'b' } }),
    });
    const rehearsal = new Rehearsal(client);
    await rehearsal.request({ method: 'POST', path: PODS, body: aPod('new') });
    await rehearsal.request({ method: 'DELETE', path: `${PODS}/old` });
    await rehearsal.request({ method: 'PATCH', path: `${PODS}/web`, body: {} });
    const read = await rehearsal.request<KubernetesList>({
      method: 'GET',
      path: PODS,
      query: { labelSelector: 'app=web' },
    });
    expect(read.items?.map(({ metadata }) => metadata.name)).toEqual(['web', 'new']);
    expect(read.items?.[0]?.metadata.annotations).toEqual({ a: 'b' });
    const others = await rehearsal.request<KubernetesList>({
      method: 'GET',
      path: PODS,
      query: { labelSelector: 'app=x' },
    });
    expect(others.items?.map(({ metadata }) => metadata.name)).not.toContain('new');
    await expect(rehearsal.request({ method: 'GET', path: `${PODS}/old` })).rejects.toMatchObject({
      classification: 'not-found',
    });
    await expect(rehearsal.request({ method: 'GET', path: `${PODS}/new` })).resolves.toMatchObject({
      metadata: { uid: 'n' },
    });
  });

  it('keeps an earlier write where a later one of the same object is answered without it', async () => {
    const path = `${PODS}/web`;
    const client = new FakeClient({
      [`GET ${path}`]: aPod('web'),
      [`PATCH ${path}`]: aPod('web', { finalizers: ['f'] }),
      [`PATCH ${path}/status`]: { ...aPod('web'), status: { phase: 'Running' } },
    });
    const rehearsal = new Rehearsal(client);
    await rehearsal.request({ method: 'PATCH', path, body: { metadata: { finalizers: ['f'] } } });
    const after = await rehearsal.request({
      method: 'PATCH',
      path: `${path}/status`,
      body: { metadata: { uid: 'uid-web', resourceVersion: '7' }, status: { phase: 'Running' } },
    });
    expect(after).toMatchObject({
      metadata: { finalizers: ['f'], resourceVersion: '7' },
      status: { phase: 'Running' },
    });
  });

  it('never asks the server about what it has only pretended', async () => {
    const client = new FakeClient();
    const rehearsal = new Rehearsal(client);
    rehearsal.pretend(`${PODS}/web`, aPod('web'), true);
    await rehearsal.request({
      method: 'PATCH',
      path: `${PODS}/web/status`,
      body: { status: { phase: 'Running' } },
    });
    await rehearsal.request({ method: 'DELETE', path: `${PODS}/web` });
    expect(client.asked).toEqual([]);
    expect(rehearsal.takeWrites()).toMatchObject([{ isChecked: false }, { isChecked: false }]);
  });

  it('makes of an apply, a scale and an eviction what they would be, and answers as the server does', async () => {
    const deployments = '/apis/apps/v1/namespaces/shop/deployments';
    const web = { ...aPod('web'), kind: 'Deployment', spec: { replicas: 1 } };
    const client = new FakeClient({
      [`PATCH ${deployments}/new`]: { ...aPod('new'), kind: 'Deployment' },
      [`GET ${deployments}/web`]: web,
      [`PATCH ${deployments}/web/scale`]: { kind: 'Scale', spec: { replicas: 3 }, status: { replicas: 1 } },
      [`GET ${PODS}/web-1`]: aPod('web-1'),
      [`POST ${PODS}/web-1/eviction`]: { kind: 'Status', status: 'Success' },
    });
    const rehearsal = new Rehearsal(client);
    const kube = authorsKube({ client: rehearsal, controller: 'web' });
    const at = { type: DEPLOYMENTS, namespace: 'shop', name: 'web' };
    await kube.apply(DEPLOYMENTS, { metadata: { namespace: 'shop', name: 'new' } });
    expect(await kube.scale(at, { uid: 'uid-web', replicas: 3 })).toMatchObject({ kind: 'Scale' });
    await kube.evict({ namespace: 'shop', name: 'web-1' }, { uid: 'uid-web-1' });
    expect(await kube.get(at)).toMatchObject({ kind: 'Deployment', spec: { replicas: 3 } });
    expect(await kube.get({ ...at, name: 'new' })).toMatchObject({ metadata: { name: 'new' } });
    await expect(kube.get({ ...at, type: POD, name: 'web-1' })).resolves.toBeUndefined();
    expect(rehearsal.takeWrites()).toMatchObject([
      { verb: 'create', path: `${deployments}/new`, before: undefined },
      { verb: 'patch', path: `${deployments}/web/scale`, after: { spec: { replicas: 3 } } },
      { verb: 'delete', path: `${PODS}/web-1` },
    ]);
    const writes = client.asked.filter(({ method }) => method !== 'GET');
    expect(writes.map(isDryRun)).toEqual([true, true, true]);
  });

  it('creates by an apply what it has deleted, and not what is there', async () => {
    const client = new FakeClient({
      [`GET ${PODS}/web`]: aPod('web'),
      [`DELETE ${PODS}/web`]: { kind: 'Status', status: 'Success' },
    });
    const kube = authorsKube({ client: new Rehearsal(client), controller: 'web' });
    const metadata = { namespace: 'shop', name: 'web' };
    await kube.delete({ type: POD, ...metadata }, { uid: 'uid-web' });
    const { uid } = (await kube.apply(POD, { metadata })).metadata;
    expect(uid).not.toBe('uid-web');
    await expect(kube.apply(POD, { metadata })).rejects.toMatchObject({ classification: 'already-exists' });
  });

  it('creates anew what it has deleted, whose name the server does not know to be free', async () => {
    const client = new FakeClient({
      [`GET ${PODS}/web`]: aPod('web'),
      [`DELETE ${PODS}/web`]: { kind: 'Status', metadata: {} },
      [`POST ${PODS}`]: anError('already-exists'),
    });
    const rehearsal = new Rehearsal(client);
    const create: RequestOptions = { method: 'POST', path: PODS, body: aPod('web') };
    await expect(rehearsal.request(create)).rejects.toMatchObject({ classification: 'already-exists' });
    await rehearsal.request({ method: 'DELETE', path: `${PODS}/web` });
    const created = await rehearsal.request<KubernetesObject>(create);
    expect(created.metadata.uid).not.toBe('uid-web');
  });

  it('tells what the user may not try from what the operator would be refused', async () => {
    const denied = new Rehearsal(new FakeClient({ [`POST ${PODS}`]: anError('access-denied') }));
    await expect(denied.request({ method: 'POST', path: PODS, body: aPod('web') })).rejects.toThrow(
      MayNotTry,
    );
    const refused = new Rehearsal(new FakeClient({ [`POST ${PODS}`]: anError('refused') }));
    await expect(refused.request({ method: 'POST', path: PODS, body: aPod('web') })).rejects.toMatchObject({
      classification: 'refused',
    });
  });
});

describe('a merge patch', () => {
  it('removes by null, merges objects, and replaces all else', () => {
    const before = { a: { b: 1, c: 2 }, list: [1, 2], gone: 'x' };
    expect(mergePatch(before, { a: { b: null, d: 3 }, list: [3], gone: null, new: { e: 1 } })).toEqual({
      a: { c: 2, d: 3 },
      list: [3],
      new: { e: 1 },
    });
  });
});
