import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { join } from 'node:path';
import { z } from 'zod';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import { SETTINGS_WORKFLOW, settingsRunId } from '../../src/temporal/settings-run.ts';
import { ask, expectGolden, normalized, type AskRequest } from '../support/asking.ts';
import { aBuild, JOBS, LiveBuild, NODES, SAMPLE } from '../support/builds.ts';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  NAMESPACES,
  PODS,
  ROLE_BINDINGS,
  uniqueName,
  type Manifest,
} from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { writeKubeconfig } from '../support/service-accounts.ts';
import { setUpStage } from '../support/stage.ts';

/*
 * What a person reads who asks why, for each cause that can be made here. The texts are in golden/why-*.txt; read them
 * aloud before you change them: would a tired person at night know what to do?
 */

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;
const QUOTAS = { group: '', version: 'v1', plural: 'resourcequotas' };
const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
const UI = ['--temporal-ui-url', 'http://localhost:8233'];

const { stack, cluster, temporal } = setUpStage();
const taskQueue = aTaskQueue();
let shop: string;
let excluded: string;

const run = (args: readonly string[], queue = taskQueue): Promise<Operator> =>
  startOperator({ taskQueue: queue, args: [...UI, ...args] });

beforeAll(async () => {
  shop = await cluster.aNamespace();
  excluded = await cluster.aNamespace();
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
async function expectWhy(question: Question, request: AskRequest = {}): Promise<void> {
  const { resource, namespace = shop, golden, until, status, queue = taskQueue, names = {} } = question;
  const known = { [shop]: 'shop', [excluded]: 'legacy', [taskQueue]: 'durable-operator', ...names };
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

async function aNamespaceWith(labels: Readonly<Record<string, string>>): Promise<string> {
  return (await cluster.createNamespace(uniqueName(), labels)).metadata.name;
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

/** Operators of other test files have left theirs behind. */
async function onlyOurSettings(): Promise<void> {
  const query = `WorkflowType = '${SETTINGS_WORKFLOW}' AND ExecutionStatus = 'Running'`;
  await eventually(async () => {
    const others: string[] = [];
    for await (const { workflowId } of temporal.client.workflow.list({ query })) {
      if (workflowId !== settingsRunId(taskQueue)) others.push(workflowId);
    }
    const end = (id: string) => temporal.client.workflow.getHandle(id).terminate();
    await Promise.allSettled(others.map(end));
    return others.length === 0;
  }, WITHIN_MS);
}

describe('why, while the operator runs,', () => {
  beforeAll(async () => {
    await run(['--exclude-namespaces', `kube-system,kube-public,kube-node-lease,${excluded}`]);
  });
  afterAll(endOperators);

  it('names the quota that refuses Pods', async () => {
    const namespace = await cluster.aNamespace();
    const metadata = { name: 'compute', namespace };
    await cluster.create(QUOTAS, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata,
      spec: { hard: { pods: '3' } },
    });
    const at = { type: QUOTAS, namespace, name: 'compute' };
    await eventually(async () => (await cluster.get(at))?.['status'] !== undefined, WITHIN_MS);
    await createPodSet(namespace, 5);
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden: 'quota', status: 1, names: { [namespace]: 'shop' } },
      until: /is retrying: 3 of 5 Pods[^]*exceeded quota/,
    });
  });

  it('names the admission that denies Pods', async () => {
    const namespace = await aNamespaceWith({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    await createPodSet(namespace, 2);
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden: 'admission', status: 1 },
      ...{ until: /is retrying[^]*PodSecurity/, names: { [namespace]: 'shop' } },
    });
  });

  it('says that all is well, and what the last reconcile did', async () => {
    await createPodSet(shop, 2, 'well');
    await expectWhy({
      ...{ resource: 'PodSets well', golden: 'converged', status: 0 },
      until: /is up to date: 2 of 2 Pods[^]*2 ready[^]*ended/,
    });
  });

  it('says that there never was one', async () => {
    await expectWhy({
      ...{ resource: 'pset/nobody', golden: 'never-existed', status: 1 },
      until: /does not exist/,
    });
  });

  it('says that one was deleted', async () => {
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

  it('tells an annotation that is not exactly true', async () => {
    await cluster.create(PODS, aPod().in(shop).named('cased').annotated('True').manifest);
    await expectWhy({
      ...{ resource: 'pod/cased', golden: 'annotation-not-true', status: 0 },
      until: /"True"/,
    });
  });

  it('tells a Pod that does not ask for anything', async () => {
    await cluster.create(PODS, aPod().in(shop).named('plain').manifest);
    await expectWhy({
      ...{ resource: 'pod/plain', golden: 'annotation-missing', status: 0 },
      until: /does not have the annotation/,
    });
  });

  it('tells a Pod whose name is too long for a label', async () => {
    const name = 'long'.padEnd(70, 'x');
    await cluster.create(PODS, aPod().in(shop).named(name).annotated().manifest);
    await expectWhy({
      ...{ resource: `pod/${name}`, golden: 'name-too-long', status: 1, names: { [name]: 'long-name' } },
      until: /is stalled/,
    });
  });

  it('tells a namespace that is left out', async () => {
    await expectWhy({
      ...{ resource: `ns/${excluded}`, golden: 'namespace-left-out', status: 0 },
      until: /--exclude-namespaces/,
    });
  });

  it('tells a role binding that is somebody else’s', async () => {
    const namespace = uniqueName();
    await cluster.create(NAMESPACES, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, annotations: {} },
    });
    const binding = `ad-kubernetes-${namespace}`;
    const at = { type: ROLE_BINDINGS, namespace, name: binding };
    await eventually(() => cluster.get(at), WITHIN_MS);
    await cluster.patch(at, { metadata: { labels: { 'app.kubernetes.io/managed-by': null } }, subjects: [] });
    await expectWhy({
      ...{ resource: `namespace/${namespace}`, golden: 'foreign-role-binding', status: 1 },
      ...{ until: /is stalled/, names: { [namespace]: 'shop' } },
    });
  });

  it('tells a Job that is somebody else’s', async () => {
    const namespace = await cluster.aNamespace();
    const containers = [{ name: 'c', image: 'busybox', env: [{ name: 'WHAT', value: 'sleep infinity' }] }];
    await cluster.create(JOBS, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: SAMPLE.jobName, namespace },
      spec: { template: { spec: { restartPolicy: 'Never', containers } } },
    });
    await createBuild(aBuild(namespace).manifest);
    await expectWhy({
      ...{ resource: 'xxx/sample', namespace, golden: 'foreign-job', status: 1 },
      ...{ until: /is waiting[^]*to become free/, names: { [namespace]: 'shop' } },
    });
  });

  it('tells a build that fails', async () => {
    const build = await createBuild(aBuild(shop, 'failing').failing().manifest);
    await build.is('Failed');
    await expectWhy({
      ...{ resource: 'xxx/failing', golden: 'failing-build', status: 1 },
      until: /is stalled/,
    });
  });

  it('tells a build that is running', async () => {
    const namespace = await cluster.aNamespace();
    const build = await createBuild(aBuild(namespace).lasting().manifest);
    await build.is('Building');
    await expectWhy({
      ...{ resource: 'xxx sample', namespace, golden: 'running-build', status: 1 },
      ...{ until: /is waiting[^]*to end/, names: { [namespace]: 'shop' } },
    });
  });

  it('tells a build that is deleted although its node is gone', async () => {
    const namespace = await cluster.aNamespace();
    const build = await createBuild(aBuild(namespace).manifest);
    await build.is('Succeeded');
    const artifacts = [{ node: 'node-of-old', binary: 'helloworld' }];
    await cluster.patch(build.at, { status: { artifacts } }, 'status');
    await build.delete();
    await expectWhy({
      ...{ resource: 'xxx/sample', namespace, golden: 'node-gone', status: 1 },
      ...{ until: /is gone: it was deleted/, names: { [namespace]: 'shop' } },
    });
  });

  it('tells a build that is deleted while its node does not answer', async () => {
    const namespace = await cluster.aNamespace();
    const build = await createBuild(aBuild(namespace).manifest);
    await build.is('Succeeded');
    const node = uniqueName();
    // As a node whose kubelet has ended: there is room on it, and nothing runs.
    const room = { cpu: '4', memory: '8Gi', pods: '110' };
    const conditions = [{ type: 'Ready', status: 'False', reason: 'KubeletNotReady' }];
    const status = { capacity: room, allocatable: room, conditions };
    await cluster.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: node }, status });
    try {
      await cluster.patch(build.at, { status: { artifacts: [{ node, binary: 'helloworld' }] } }, 'status');
      await build.delete();
      await expectWhy({
        ...{ resource: 'xxx/sample', namespace, golden: 'node-not-ready', status: 1 },
        // Where it was really built, it is removed before.
        ...{ until: new RegExp(`is to run on ${node}`), names: { [namespace]: 'shop', [node]: 'node-2' } },
      });
    } finally {
      await cluster.delete({ type: NODES, name: node });
    }
  });

  it('tells a namespace that is being deleted', async () => {
    const namespace = await cluster.aNamespace();
    await createPodSet(namespace, 0);
    const podSet = { type: POD_SETS, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(podSet)), WITHIN_MS);
    await cluster.patch(podSet, { metadata: { finalizers: ['test.dev/held'] } });
    await cluster.delete({ type: NAMESPACES, name: namespace });
    const question = { namespace, status: 0, names: { [namespace]: 'shop' } } as const;
    try {
      await expectWhy({
        ...question,
        ...{ resource: 'podset/web', golden: 'terminating-namespace', until: /held by[^]*is being deleted/ },
      });
      await expectWhy({
        ...question,
        ...{ resource: `ns/${namespace}`, golden: 'terminating-namespace-itself' },
        until: /is being deleted[^]*finalizers remaining/,
        // Whether the namespace controller has deleted it by then is a matter of moments.
        names: { [namespace]: 'shop', 'that RoleBinding': 'no RoleBinding ad-kubernetes-shop' },
      });
    } finally {
      await cluster.patch(podSet, { metadata: { finalizers: null } });
    }
  });

  it.each([
    ['itself', 'paused'],
    ['its Namespace', 'namespace-paused'],
  ])('tells a pause of the resource, by %s', async (which, golden) => {
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

  it('tells an annotation that the operator cannot follow', async () => {
    const namespace = await cluster.aNamespace();
    await createPodSet(namespace, 1);
    const at = { type: POD_SETS, namespace, name: 'web' };
    await eventually(async () => isReady(await cluster.get(at)), WITHIN_MS);
    await annotate(at, { 'durable-operator.dev/paused': 'True' });
    await expectWhy({
      ...{ resource: 'podset/web', namespace, golden: 'invalid-annotation', status: 0 },
      ...{ until: /is up to date[^]*but/, names: { [namespace]: 'shop' } },
    });
  });

  it('tells a deletion that waits for approval, and one that was rejected', async () => {
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

  it('says which task queues there are, of one that no operator has', async () => {
    await createPodSet(shop, 1, 'asked');
    await onlyOurSettings();
    await expectWhy({
      ...{ resource: 'podset/asked', golden: 'wrong-task-queue', queue: 'other', status: 1 },
      until: /no operator has task queue[^]*next +nothing[^]*last run +ended/,
    });
  });

  it('explains with JSON, too', async () => {
    const { stdout } = await ask(['why', 'pod/cased', '-n', shop, '--task-queue', taskQueue, '-o', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ resource: `Pod ${shop}/cased`, state: 'Ignored' });
  });

  it('refuses wrong use in one line', async () => {
    const answer = await ask(['why', 'deployment/web']);
    expect(answer).toEqual({
      status: 2,
      stdout: '',
      stderr:
        'kubectl durable: the operator has no controller for "deployment"; the kinds are pod, namespace, podset, xxx\n',
    });
  });

  it('get lists each resource with its state', async () => {
    const { stdout } = await ask(['get', '-n', shop, '--task-queue', taskQueue]);
    const states = stdout
      .split('\n')
      .slice(1)
      .map((line) => line.split(/\s{2,}/))
      .map(([, resource = '', , state = '']) => `${resource} ${state}`);
    expect(states).toEqual(
      expect.arrayContaining([
        'podset/well UpToDate',
        'pod/cased Ignored',
        'xxx/failing Stalled',
        `pod/${'long'.padEnd(70, 'x')} Stalled`,
      ]),
    );
    expect(states.join('\n')).not.toContain('pod/plain');
  });
});

describe('why, of an operator that cannot do all,', () => {
  afterAll(endOperators);

  it('names the image that cannot be pulled', async () => {
    const namespace = await cluster.aNamespace();
    const queue = aTaskQueue();
    const operator = await run(
      [
        ...['--namespaces', namespace, '--controllers', 'git-build'],
        ...['--build-image', 'missing.invalid/golang:1.13'],
      ],
      queue,
    );
    const build = await createBuild(aBuild(namespace).manifest);
    const names = { [namespace]: 'shop', [queue]: 'durable-operator' };
    const question = { resource: 'xxx/sample', namespace, queue, status: 1, names } as const;
    await expectWhy({ ...question, golden: 'image-not-pulled', until: /make the image available/ });
    await cluster.patch(
      build.at,
      { status: { artifacts: [{ node: 'simulated-1', binary: 'helloworld' }] } },
      'status',
    );
    await build.delete();
    await expectWhy({
      ...question,
      golden: 'cleanup-stuck',
      until: /problem {3}the image[^]*for {7}cleanup Job/,
    });
    await operator.end('SIGTERM');
  });

  it('names a controller that it does not run, and a namespace that it does not watch', async () => {
    const namespace = await cluster.aNamespace();
    const queue = aTaskQueue();
    const operator = await run(['--namespaces', namespace, '--controllers', 'pod-label'], queue);
    const names = { [namespace]: 'shop', [queue]: 'durable-operator' };
    await createPodSet(namespace, 1);
    const question = { queue, status: 0, names } as const;
    await expectWhy({
      ...question,
      ...{ resource: 'podset/web', namespace, golden: 'no-such-controller', until: /without the controller/ },
    });
    await cluster.create(PODS, aPod().in(excluded).named('web').annotated().manifest);
    await expectWhy({
      ...question,
      ...{ resource: 'pod/web', namespace: excluded, golden: 'namespace-not-watched' },
      until: /watches only/,
    });
    await operator.end('SIGTERM');
  });

  it('names the permission that it lacks', async () => {
    const namespace = await cluster.aNamespace();
    const queue = aTaskQueue();
    const account = { namespace, name: 'default' };
    const name = uniqueName();
    const rules = [
      { apiGroups: [''], resources: ['pods', 'resourcequotas'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    ];
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name } };
    await cluster.create(CLUSTER_ROLES, { ...rbac, kind: 'ClusterRole', rules });
    await cluster.create(CLUSTER_ROLE_BINDINGS, {
      ...rbac,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    });
    const kubeconfig = join(stack.dir, `${namespace}.kubeconfig`);
    await writeKubeconfig(cluster.client, { account, admin: stack.kubeconfig, file: kubeconfig });
    const args = ['--controllers', 'pod-label', '--namespaces', namespace];
    const operator = await startOperator({ kubeconfig, taskQueue: queue, args });
    await cluster.create(PODS, aPod().in(namespace).named('web').annotated().manifest);
    await expectWhy({
      ...{ resource: 'pod/web', namespace, queue, golden: 'permission', status: 1 },
      ...{ until: /is retrying[^]*forbidden/, names: { [namespace]: 'shop' } },
    });
    await operator.end('SIGTERM');
    await cluster.delete({ type: CLUSTER_ROLE_BINDINGS, name });
    await cluster.delete({ type: CLUSTER_ROLES, name });
  });

  it('says that no worker is there, and that the run has another task queue', async () => {
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

  it('says that no version was promoted', async () => {
    const namespace = await cluster.aNamespace();
    const queue = aTaskQueue();
    const deployment = `op-${queue}`;
    const operator = await run(
      [
        ...['--controllers', 'pod-label', '--namespaces', namespace],
        ...['--worker-deployment', deployment, '--worker-build-id', '1.0'],
      ],
      queue,
    );
    await cluster.create(PODS, aPod().in(namespace).named('web').annotated().manifest);
    await expectWhy({
      ...{ resource: 'pod/web', namespace, queue, golden: 'not-promoted', status: 1 },
      until: /no worker version is current/,
      names: { [namespace]: 'shop', [deployment]: 'operator', [queue]: 'durable-operator' },
    });
    await operator.end('SIGTERM');
  });

  it('says that nobody starts a run, where no operator watches', async () => {
    const namespace = await cluster.aNamespace();
    await cluster.create(PODS, aPod().in(namespace).named('web').annotated().manifest);
    await expectWhy({
      ...{ resource: 'pod/web', namespace, golden: 'not-started', status: 1 },
      ...{ until: /no run is open/, names: { [namespace]: 'shop' } },
    });
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
