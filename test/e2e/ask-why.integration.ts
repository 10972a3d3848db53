import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import { ask, expectGolden, normalized } from '../support/asking.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { NAMESPACES, PODS, ROLE_BINDINGS, uniqueName, type Manifest } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { limitPods } from '../support/pod-quota.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { grant, revoke } from '../support/service-accounts.ts';
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
  startOperator({ taskQueue: queue, args: [...UI, ...args] });

beforeAll(async () => {
  shop = await cluster.aNamespace();
});

interface Question {
  readonly resource: string;
  readonly namespace?: string;
  /** Of the golden file. */
  readonly golden: string;
  /** What the file is made from: the first answer that has this. */
  readonly until: RegExp;
  readonly status: 0 | 1 | 2;
  readonly queue?: string;
  readonly names?: Readonly<Record<string, string>>;
}

/** Asks again until the answer is that of the golden file: what is to be explained takes a moment to come about. */
async function expectWhy(question: Question, request: Parameters<typeof ask>[1] = {}): Promise<void> {
  const { resource, namespace = shop, golden, until, status, queue = taskQueue, names = {} } = question;
  const known = { [shop]: 'shop', [taskQueue]: 'durable-operator', ...names };
  let last = '';
  const answer = await eventually(async () => {
    const now = await ask(
      ['why', ...resource.split(' '), '-n', namespace, '--task-queue', queue, ...UI],
      request,
    );
    last = now.stdout + now.stderr;
    if (!until.test(now.stdout)) return false;
    expectGolden(`why-${golden}`, normalized(now.stdout, known));
    return now;
  }, WITHIN_MS).catch((error: unknown) => {
    throw new Error(`the answer stayed:\n${last}`, { cause: error });
  });
  expect(answer.status).toBe(status);
}

function createPodSet(namespace: string, replicas: number, name = 'web'): Promise<KubernetesObject> {
  return cluster.create(POD_SETS, aPodSet().in(namespace).named(name).wanting(replicas).manifest);
}

async function createBuild(manifest: Manifest): Promise<LiveBuild> {
  await cluster.create(BUILDS, manifest);
  return new LiveBuild(cluster, manifest, WITHIN_MS);
}

function annotate(at: Parameters<typeof cluster.patch>[0], annotations: Readonly<Record<string, string>>) {
  return cluster.patch(at, { metadata: { annotations } });
}

function isReady(object: KubernetesObject | undefined): boolean {
  const { conditions } = z
    .object({ conditions: z.array(z.looseObject({})).default([]) })
    .parse(object?.['status'] ?? {});
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

describe('why, while the operator runs,', () => {
  let failing: LiveBuild;
  let onNoNode: LiveBuild;

  beforeAll(async () => {
    await run([]);
    // They take half a minute; other tests run meanwhile.
    failing = await createBuild(aBuild(shop, 'failing').failing().manifest);
    onNoNode = await createBuild(aBuild(await cluster.aNamespace()).manifest);
  });
  afterAll(endOperators);

  it('names the quota that refuses Pods', async () => {
    const namespace = await cluster.aNamespace();
    await limitPods(cluster, namespace, 3);
    await createPodSet(namespace, 5);
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden: 'quota', status: 1, names: { [namespace]: 'shop' } },
      until: /is retrying: QuotaExceeded \(3 of 5 Pods\)[^]*3 ready/,
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
    const at = { type: POD_SETS, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(at)), WITHIN_MS);
    const paused = which === 'itself' ? at : { type: NAMESPACES, name: namespace };
    await annotate(paused, { 'durable-operator.dev/paused': 'true' });
    await cluster.patch(at, { spec: { replicas: 3 } });
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden, status: 1, names: { [namespace]: 'shop' } },
      until: /is paused[^]*held/,
    });
  });

  it('names an annotation that is not followed', async () => {
    const namespace = await cluster.aNamespace();
    await createPodSet(namespace, 1);
    const at = { type: POD_SETS, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(at)), WITHIN_MS);
    await annotate(at, { 'durable-operator.dev/paused': 'True' });
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden: 'invalid-annotation', status: 1 },
      ...{ until: /is not paused[^]*1 ready/, names: { [namespace]: 'shop' } },
    });
  });

  it('names what holds a resource whose namespace is being deleted', async () => {
    const namespace = await cluster.aNamespace();
    await createPodSet(namespace, 0);
    const podSet = { type: POD_SETS, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(podSet)), WITHIN_MS);
    await cluster.patch(podSet, { metadata: { finalizers: ['test.dev/held'] } });
    await cluster.delete({ type: NAMESPACES, name: namespace });
    try {
      await expectWhy({
        ...{ resource: 'podset/web', namespace, golden: 'terminating-namespace', status: 1 },
        ...{ until: /held by[^]*is being deleted/, names: { [namespace]: 'shop' } },
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
      ...{ resource: `namespace/${namespace}`, golden: 'foreign-role-binding', status: 1 },
      ...{ until: /is stalled/, names: { [namespace]: 'shop' } },
    });
  });

  it('names a deletion that awaits approval, and one that was rejected', async () => {
    const namespace = await cluster.aNamespace();
    await createPodSet(namespace, 3);
    const at = { type: POD_SETS, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(at)), WITHIN_MS);
    await annotate(at, { 'durable-operator.dev/approval': 'required' });
    await cluster.patch(at, { spec: { replicas: 1 } });
    const question = {
      resource: 'podset/web',
      namespace,
      status: 1,
      names: { [namespace]: 'shop' },
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

  it('names the error of a failed build', async () => {
    await failing.is('Failed');
    await expectWhy({
      ...{ resource: 'xxx/failing', golden: 'failing-build', status: 1 },
      until: /is stalled/,
    });
  });

  it('says that a build was deleted although its node is gone', async () => {
    const { namespace } = onNoNode;
    await onNoNode.is('Succeeded');
    const artifacts = [{ node: 'node-of-old', binary: onNoNode.binary }];
    await cluster.patch(onNoNode.at, { status: { artifacts } }, 'status');
    await onNoNode.delete();
    await expectWhy({
      ...{ resource: 'xxx/sample', namespace, golden: 'node-gone', status: 1 },
      ...{ until: /is gone: it was deleted/, names: { [namespace]: 'shop' } },
    });
  });

  it('of everything: groups what is not well by cause, the worst first', async () => {
    await createPodSet(shop, 1, 'on-hold');
    const at = { type: POD_SETS, namespace: shop, name: 'on-hold' };
    await annotate(at, { 'durable-operator.dev/paused': 'true' });
    await cluster.patch(at, { spec: { replicas: 2 } });
    await failing.is('Failed');
    const overview = /^Stalled: BuildFailed, .* of git-build[^]*^Paused, .* of pod-set/m;
    await eventually(async () => {
      const { status, stdout } = await ask(['why', '-n', shop, '--task-queue', taskQueue]);
      return status === 1 && overview.test(stdout);
    }, WITHIN_MS);
  });

  it('get lists each resource with its state', async () => {
    await cluster.create(PODS, aPod().in(shop).named('cased').annotated('True').manifest);
    const where = ['-n', shop, '--task-queue', taskQueue];
    const why = await ask(['why', 'pod/cased', ...where, '-o', 'json']);
    expect(JSON.parse(why.stdout)).toMatchObject({ resource: `Pod ${shop}/cased`, state: 'Ignored' });
    const { stdout } = await ask(['get', ...where]);
    for (const row of [/podset\/well .* UpToDate/, /pod\/cased .* Ignored/, /xxx\/failing .* Stalled/])
      expect(stdout).toMatch(row);
  });
});

describe('why, if something is missing,', () => {
  afterAll(endOperators);

  it('says how to find the leader if no operator watches', async () => {
    const namespace = await cluster.aNamespace();
    await cluster.create(PODS, aPod().in(namespace).named('web').annotated().manifest);
    await expectWhy({
      ...{ resource: 'pod/web', namespace, golden: 'not-started', status: 1 },
      ...{ until: /no run is open/, names: { [namespace]: 'shop' } },
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
      ...{ resource: 'pod/web', namespace, queue, golden: 'permission', status: 1 },
      ...{ until: /is retrying[^]*forbidden/, names: { [namespace]: 'shop' } },
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
    await expectWhy({ ...question, queue: left, golden: 'no-worker', until: /no worker/ });
    await watcher.end('SIGTERM');
    const operator = await run(args, right);
    await expectWhy({ ...question, queue: right, golden: 'run-on-other-task-queue', until: /no worker/ });
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
