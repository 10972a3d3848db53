import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import type { KubernetesObject } from '../../src/api/object.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { ask, expectWhy as expectAnswer, type WhyQuestion } from '../support/asking.ts';
import { NAMESPACES, PODS, ROLE_BINDINGS, uniqueName } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { limitPods } from '../support/pod-quota.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { grant, revoke } from '../support/service-accounts.ts';
import { conditionIn } from '../support/programs.ts';
import { setUpStage } from '../support/stage.ts';

/*
 * What a person reads who asks why, for each cause that can be made here. The texts are in golden/why-*.txt; read them
 * aloud before you change them: would a tired person at night know what to do?
 */

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;
const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
const UI = ['--temporal-ui-url', 'http://localhost:8233'];

const { cluster, kubeconfigOf } = setUpStage();
const taskQueue = aTaskQueue();
let shop: string;

const run = (args: readonly string[], queue = taskQueue): Promise<Operator> =>
  startOperator({ taskQueue: queue, args: [...UI, '--approvers-checked', ...args] });

beforeAll(async () => {
  shop = await cluster.aNamespace();
});

type Question = Pick<WhyQuestion, 'resource' | 'golden' | 'until' | 'status'> & Partial<WhyQuestion>;

function expectWhy(question: Question, request: Parameters<typeof ask>[1] = {}): Promise<void> {
  return expectAnswer({ namespace: shop, taskQueue, ...question }, request);
}

function createPodSet(namespace: string, replicas: number, name = 'web'): Promise<KubernetesObject> {
  return cluster.create(PodSetKind, aPodSet().in(namespace).named(name).wanting(replicas).manifest);
}

function annotate(at: Parameters<typeof cluster.patch>[0], annotations: Readonly<Record<string, string>>) {
  return cluster.patch(at, { metadata: { annotations } });
}

function isReady(object: KubernetesObject | undefined): boolean {
  return conditionIn(object, 'Ready')['status'] === 'True';
}

describe('why, while the operator runs,', () => {
  beforeAll(async () => {
    await run([]);
  });
  afterAll(endOperators);

  it('names the quota that refuses Pods', async () => {
    const namespace = await cluster.aNamespace();
    await limitPods(cluster, namespace, 3);
    await createPodSet(namespace, 5);
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden: 'quota', status: 1 },
      until: /is retrying: QuotaExceeded \(3 of 5 Pods\)[^]*3 ready/,
    });
  });

  it('names the label of the namespace that refuses Pods', async () => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const { name: namespace } = (await cluster.createNamespace(uniqueName(), labels)).metadata;
    await createPodSet(namespace, 2);
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden: 'admission', status: 1 },
      until: /is retrying: PodSecurity \(0 of 2 Pods\)/,
    });
  });

  it('says that a resource is up to date, and what the last reconcile did', async () => {
    await createPodSet(shop, 2, 'well');
    await expectWhy({
      ...{ resource: 'PodSets well', golden: 'converged', status: 0 },
      until: /is up to date \(2 of 2 Pods\)[^]*2 ready[^]*ended/,
    });
  });

  it('says that a resource was deleted', async () => {
    const pod = aPod().in(shop).named('deleted').annotated().manifest;
    await cluster.create(PODS, pod);
    const at = { type: PODS, namespace: shop, name: 'deleted' };
    await eventually(async () => (await cluster.get(at))?.metadata.labels !== undefined, WITHIN_MS);
    await cluster.deleteAndWait(at);
    await expectWhy({
      ...{ resource: 'po/deleted', golden: 'deleted', status: 1 },
      until: /is gone: it was deleted/,
    });
  });

  it.each([
    ['itself', 'paused'],
    ['its Namespace', 'namespace-paused'],
  ])('names the pause: on %s', async (which, golden) => {
    const namespace = await cluster.aNamespace();
    await createPodSet(namespace, 1);
    const at = { type: PodSetKind, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(at)), WITHIN_MS);
    const paused = which === 'itself' ? at : { type: NAMESPACES, name: namespace };
    await annotate(paused, { 'durable-operator.dev/paused': 'true' });
    await cluster.patch(at, { spec: { replicas: 3 } });
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden, status: 1 },
      until: /is paused[^]*held/,
    });
  });

  it('names an annotation that is not followed', async () => {
    const namespace = await cluster.aNamespace();
    await createPodSet(namespace, 1);
    const at = { type: PodSetKind, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(at)), WITHIN_MS);
    await annotate(at, { 'durable-operator.dev/paused': 'True' });
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden: 'invalid-annotation', status: 1 },
      ...{ until: /is not paused[^]*1 ready/ },
    });
  });

  it('names what holds a resource whose namespace is being deleted', async () => {
    const namespace = await cluster.aNamespace();
    await createPodSet(namespace, 0);
    const podSet = { type: PodSetKind, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(podSet)), WITHIN_MS);
    await cluster.patch(podSet, { metadata: { finalizers: ['test.dev/held'] } });
    await cluster.delete({ type: NAMESPACES, name: namespace });
    try {
      await expectWhy({
        ...{ resource: 'podset/web', namespace, golden: 'terminating-namespace', status: 1 },
        ...{ until: /held by[^]*is being deleted/ },
      });
    } finally {
      await cluster.patch(podSet, { metadata: { finalizers: null } });
    }
  });

  it('names a role binding that the operator does not manage', async () => {
    const namespace = await cluster.aNamespace();
    const at = { type: ROLE_BINDINGS, namespace, name: `ad-kubernetes-${namespace}` };
    await eventually(() => cluster.get(at), WITHIN_MS);
    await cluster.patch(at, { metadata: { labels: { 'app.kubernetes.io/managed-by': null } }, subjects: [] });
    await expectWhy({
      ...{ resource: `namespace/${namespace}`, namespace, golden: 'foreign-role-binding', status: 1 },
      ...{ until: /is stalled/ },
    });
  });

  it('names a deletion that awaits approval, and one that was rejected', async () => {
    const namespace = await cluster.aNamespace();
    await createPodSet(namespace, 3);
    const at = { type: PodSetKind, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(at)), WITHIN_MS);
    await annotate(at, { 'durable-operator.dev/approval': 'required' });
    await cluster.patch(at, { spec: { replicas: 1 } });
    const question = {
      resource: 'podset/web',
      namespace,
      status: 1,
    } as const;
    await expectWhy({
      ...question,
      golden: 'awaiting-approval',
      until: /is awaiting approval[^]*delete 2 Pods/,
    });
    const because = ['--because', 'it was a typo', '--yes'];
    await eventually(
      async () => (await ask(['reject', 'podset/web', '-n', namespace, ...because])).status === 0,
    );
    await expectWhy({ ...question, golden: 'rejected', until: /rejected by admin/ });
  });

  it('says what to do where Temporal is away', async () => {
    await createPodSet(shop, 1, 'alone');
    await expectWhy(
      { resource: 'podset/alone', golden: 'temporal-away', until: /without Temporal/, status: 2 },
      { temporalAddress: '127.0.0.1:1' },
    );
  });

  it('get lists each resource with its state', async () => {
    await cluster.create(PODS, aPod().in(shop).named('cased').annotated('True').manifest);
    const where = ['-n', shop, '--task-queue', taskQueue];
    const why = await ask(['why', 'pod/cased', ...where, '-o', 'json']);
    expect(JSON.parse(why.stdout)).toMatchObject({ resource: `Pod ${shop}/cased`, state: 'Ignored' });
    const { stdout } = await ask(['get', ...where]);
    for (const row of [/podset\/well .* UpToDate/, /pod\/cased .* Ignored/]) expect(stdout).toMatch(row);
  });
});

describe('why, if something is missing,', () => {
  afterAll(endOperators);

  it('says how to find the leader if no operator watches', async () => {
    const namespace = await cluster.aNamespace();
    await cluster.create(PODS, aPod().in(namespace).named('web').annotated().manifest);
    await expectWhy({
      ...{ resource: 'pod/web', namespace, golden: 'not-started', status: 1 },
      ...{ until: /no run is open/ },
    });
  });

  it('names the missing permission', async () => {
    const namespace = await cluster.aNamespace();
    const queue = aTaskQueue();
    const account = { namespace, name: 'default' };
    const name = uniqueName();
    const rules = [
      { apiGroups: [''], resources: ['pods', 'resourcequotas'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    ];
    await grant(cluster, { name, rules, accounts: [account] });
    const kubeconfig = await kubeconfigOf(account);
    const args = ['--controllers', 'pod-label', '--namespaces', namespace];
    const operator = await startOperator({ kubeconfig, taskQueue: queue, args });
    await cluster.create(PODS, aPod().in(namespace).named('web').annotated().manifest);
    await expectWhy({
      ...{ resource: 'pod/web', namespace, taskQueue: queue, golden: 'permission', status: 1 },
      ...{ until: /is retrying[^]*forbidden/ },
    });
    await operator.end('SIGTERM');
    await revoke(cluster, name);
  });

  it('says that there is no worker, or that the run has another task queue', async () => {
    const namespace = await cluster.aNamespace();
    const [left, right] = [aTaskQueue(), aTaskQueue()];
    const args = ['--controllers', 'pod-label', '--namespaces', namespace];
    const watcher = await startOperator({ command: 'watch', taskQueue: left, args });
    await cluster.create(PODS, aPod().in(namespace).named('web').annotated().manifest);
    const names = { [namespace]: 'shop', [left]: 'left', [right]: 'right' };
    const question = { resource: 'pod/web', namespace, status: 1, names } as const;
    await expectWhy({ ...question, taskQueue: left, golden: 'no-worker', until: /no worker/ });
    await watcher.end('SIGTERM');
    const operator = await run(args, right);
    await expectWhy({ ...question, taskQueue: right, golden: 'run-on-other-task-queue', until: /no worker/ });
    await operator.end('SIGTERM');
  });

  it('says that the kind is not installed', async () => {
    const name = 'podsets.batch.tutorial.kubebuilder.io';
    const crd = Definition.parse(await cluster.get({ type: CRDS, name }));
    await cluster.deleteAndWait({ type: CRDS, name });
    try {
      await expectWhy({
        ...{ resource: 'podset/web', golden: 'crd-missing', status: 1 },
        until: /is not installed/,
      });
    } finally {
      const { labels = {}, annotations = {} } = crd.metadata;
      await cluster.create(CRDS, { ...crd, metadata: { name, labels, annotations } });
      await eventually(
        async () => (await cluster.client.request({ method: 'GET', path: LIST })) !== undefined,
        WITHIN_MS,
      );
    }
  });
});

const LIST = '/apis/batch.tutorial.kubebuilder.io/v1/podsets';
const Definition = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.looseObject({}),
});
