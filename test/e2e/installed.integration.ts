import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { request } from 'node:https';
import { z } from 'zod';
import { eventRecorder } from '../../activities/events/events.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet, aPodSet } from '../support/pod-sets.ts';
import { createKubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { freePort } from '../../local/ports.ts';
import { LEASES } from '../../src/api/built-in.ts';
import { aBuild, conditionOf, JOBS, LiveBuild } from '../support/builds.ts';
import {
  CLUSTER_ROLE_BINDINGS,
  NAMESPACES,
  PODS,
  refOf,
  ROLE_BINDINGS,
  SERVICE_ACCOUNTS,
  uniqueName,
} from '../support/cluster.ts';
import { installed, type Delivered } from '../support/delivered.ts';
import { eventually } from '../../testing/eventually.ts';
import { askedBy, grantedTo, unique } from '../../testing/stack/rights.ts';
import { aTaskQueue, endOperators, ownLogs, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { aRoleBinding } from '../support/role-bindings.ts';
import { installAccess, OPERATOR } from '../support/service-accounts.ts';
import { setUpStage } from '../support/stage.ts';

/*
 * The operator as its service accounts, with what is installed and nothing more. It is the last file of a run
 * (test/support/sequencer.js), so that what it reads in the audit log is of all of them.
 */

jest.setTimeout(300_000);
const WITHIN_MS = 90_000;

const { stack, cluster, kubeconfigOf } = setUpStage();
const WATCHER = 'durable-operator-watcher';
const WORKER = 'durable-operator-worker';
let base: readonly Delivered[];
let split: readonly Delivered[];

beforeAll(async () => {
  base = await installed();
  split = await installed(['mode=split']);
});

/** What nobody can see in the audit log, and why it is granted all the same. */
const UNSEEN: Readonly<Record<string, string>> = {
  'bind clusterroles.rbac.authorization.k8s.io':
    'no request: the API server looks for it when the operator creates a RoleBinding',
  'update podsets.batch.tutorial.kubebuilder.io/finalizers':
    'no request: the plugin OwnerReferencesPermissionEnforcement, where a cluster has it, looks for it when a Pod is created with blockOwnerDeletion',
  'update xxxes.test.inspur.com/finalizers':
    'no request: as above, for an owner reference that somebody has given blockOwnerDeletion; part of the documented list',
};

/** What is rare: another test sees it, with the same account. */
const SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  'get pods': 'where a Pod that is to be created is there already: test/e2e/pod-set-kills.integration.ts',
};

describe('watcher and worker in one process', () => {
  let operator: Operator;
  let metrics: string;

  beforeAll(async () => {
    const [started] = await startAs(base, [OPERATOR.name]);
    if (started === undefined) throw new Error('the chart has no Deployment');
    ({ operator, metrics } = started);
  });

  afterAll(endOperators);

  it('do their whole work', () => theirWholeWork());

  it('let metrics be read by whom metrics-reader is bound to, and by nobody else', async () => {
    await onlyReadersRead(metrics);
  });

  it('log no error', () => {
    expect(ownLogs(operator, 'error')).toEqual([]);
  });

  it('count an Event that lasts', () => anEventThatLasts(OPERATOR.name));

  it('have used all that they are granted', () => {
    expect(unusedBy(OPERATOR.name, base)).toEqual([]);
  });

  it('are granted what is excused, and it is not to be seen', () => {
    const granted = grantedTo(OPERATOR, base);
    expect(Object.keys(UNSEEN).filter((what) => !granted.includes(what))).toEqual([]);
    expect(Object.keys(UNSEEN).filter((what) => used(OPERATOR.name).includes(what))).toEqual([]);
  });
});

describe('watcher and worker apart', () => {
  let processes: readonly Started[];

  beforeAll(async () => {
    await installAccess(cluster.client, split);
    // As on the first day: the one before has released it.
    await cluster.delete({ type: LEASES, namespace: 'system', name: 'durable-operator' });
    processes = await startAs(split, [WATCHER, WORKER]);
  });

  afterAll(async () => {
    await endOperators();
    await installAccess(cluster.client, base);
  });

  it('do their whole work', () => theirWholeWork());

  it('let metrics be read by whom metrics-reader is bound to, and by nobody else', async () => {
    for (const { metrics } of processes) await onlyReadersRead(metrics);
  });

  it.each([WATCHER, WORKER])('are refused nothing: %s', (name) => {
    const asked = askedBy({ namespace: 'system', name }, stack.auditLog);
    expect(asked.filter(({ decision }) => decision === 'forbid')).toEqual([]);
    expect(asked.length).toBeGreaterThan(0);
  });

  it('count an Event that lasts', () => anEventThatLasts(WORKER));

  it.each([WATCHER, WORKER])('have used all that they are granted: %s', (name) => {
    expect(unusedBy(name, split)).toEqual([]);
  });
});

describe('the operator, all tests together,', () => {
  it('was refused nothing for want of a permission', () => {
    const refused = askedBy(OPERATOR, stack.auditLog).filter(({ decision }) => decision === 'forbid');
    // test/e2e/leader-election.integration.ts takes the Lease away, in namespaces of its own.
    expect(
      refused.filter(({ what, namespace }) => !(what.includes('leases') && namespace !== 'system')),
    ).toEqual([]);
  });
});

const used = (name: string): readonly string[] =>
  unique(
    askedBy({ namespace: 'system', name }, stack.auditLog)
      .filter(({ decision }) => decision === 'allow')
      .map(({ what }) => what),
  );

/** Save for what is excused. */
function unusedBy(name: string, objects: readonly Delivered[]): readonly string[] {
  const granted = grantedTo({ namespace: 'system', name }, objects);
  expect(granted.length).toBeGreaterThan(0);
  const accounted = [...used(name), ...Object.keys(UNSEEN), ...Object.keys(SEEN_ELSEWHERE)];
  return granted.filter((what) => !accounted.includes(what));
}

interface Started {
  readonly operator: Operator;
  /** The URL of its metrics. */
  readonly metrics: string;
}

const Deployment = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        serviceAccountName: z.string(),
        containers: z.tuple([z.looseObject({ args: z.array(z.string()) })]),
      }),
    }),
  }),
});

/** One process a Deployment, as its service account and with its arguments. */
async function startAs(objects: readonly Delivered[], names: readonly string[]): Promise<readonly Started[]> {
  const taskQueue = aTaskQueue();
  const deployments = objects
    .filter(({ kind }) => kind === 'Deployment')
    .map((each) => Deployment.parse(each));
  expect(deployments.map(({ metadata }) => metadata.name).sort()).toEqual([...names].sort());
  return Promise.all(deployments.map((deployment) => start(deployment, taskQueue)));
}

async function start({ spec }: z.infer<typeof Deployment>, taskQueue: string): Promise<Started> {
  const { serviceAccountName: name, containers } = spec.template.spec;
  const [command = '', ...args] = containers[0].args;
  const kubeconfig = await kubeconfigOf({ namespace: 'system', name });
  const address = `127.0.0.1:${await freePort()}`;
  // Nothing else of the arguments is changed: here, ports are shared, and no Pod says where it is.
  const here = ['--metrics-addr', address, '--leader-election-namespace', 'system'];
  const operator = await startOperator({
    kubeconfig,
    taskQueue,
    command,
    args: [...args, ...here],
  });
  return { operator, metrics: `https://${address}/metrics` };
}

/** Written by the operator's own recorder, whose clock is told that an hour has passed. */
async function anEventThatLasts(name: string): Promise<void> {
  const namespace = await cluster.createNamespace();
  const kubeconfig = await kubeconfigOf({ namespace: 'system', name });
  const client = createKubernetesClient(loadKubeConfig({ kubeconfig, env: {} }));
  const log = aRecordingLogger();
  const event = { type: 'Normal', reason: 'Tested', action: 'Test', note: 'it is tested' } as const;
  for (const laterMs of [0, 3_600_000]) {
    const recorder = eventRecorder(client, log, { now: () => Date.now() + laterMs });
    recorder.record(refOf('test', namespace), { apiVersion: 'v1', kind: 'Namespace' }, event, log);
    await recorder.close();
  }
  await client.close();
  expect(log.lines).toEqual([]);
  const events = await cluster.eventsIn(namespace.metadata.name);
  expect(events.filter(({ reason }) => reason === 'Tested')).toMatchObject([{ series: { count: 2 } }]);
}

/** Every kind of resource created, changed and deleted. */
async function theirWholeWork(): Promise<void> {
  const namespace = uniqueName();
  await cluster.createNamespace(namespace);
  await Promise.all([
    podLabelling(namespace),
    roleBinding(namespace),
    podSetting(namespace),
    building(namespace),
    buildingOnALostNode(namespace),
    buildingWhereANameIsTaken(namespace),
    buildingWherePodsAreRefused(),
  ]);
  await cluster.delete({ type: NAMESPACES, name: namespace });
}

async function podLabelling(namespace: string): Promise<void> {
  const { name } = (await cluster.create(PODS, aPod().in(namespace).annotated().manifest)).metadata;
  const at = { type: PODS, namespace, name };
  const labelled = async () => (await cluster.get(at))?.metadata.labels?.[POD_NAME_LABEL] === name;
  await eventually(labelled, WITHIN_MS);
  await cluster.patch(at, { metadata: { labels: { [POD_NAME_LABEL]: null } } });
  await eventually(labelled, WITHIN_MS);
}

async function roleBinding(namespace: string): Promise<void> {
  const at = { type: ROLE_BINDINGS, namespace, name: `ad-kubernetes-${namespace}` };
  const wanted = aRoleBinding(namespace).manifest;
  const eventuallyAsWanted = () =>
    eventually(async () => {
      const { subjects, roleRef } = wanted;
      expect(await cluster.get(at)).toMatchObject({ subjects, roleRef });
      return true;
    }, WITHIN_MS);
  await eventuallyAsWanted();
  await cluster.patch(at, { subjects: [] });
  await eventuallyAsWanted();
  await cluster.delete(at);
  await cluster.create(ROLE_BINDINGS, aRoleBinding(namespace).to('view').manifest).catch(() => undefined);
  await eventuallyAsWanted();
  await eventually(() => {
    const asked = askedOfRoleBindings(namespace);
    return asked.includes('delete') && asked.includes('create');
  }, WITHIN_MS);
}

/** By whichever account. */
function askedOfRoleBindings(namespace: string): readonly string[] {
  return [OPERATOR.name, WORKER].flatMap((name) =>
    askedBy({ namespace: 'system', name }, stack.auditLog)
      .filter((asked) => asked.namespace === namespace && asked.what.includes('rolebindings'))
      .map(({ what }) => what.split(' ')[0] ?? ''),
  );
}

async function podSetting(namespace: string): Promise<void> {
  const at = { type: PodSetKind, namespace, name: 'web' };
  const { metadata, ...rest } = aPodSet().in(namespace).wanting(3).object;
  await cluster.create(PodSetKind, { ...rest, metadata: { name: metadata.name, namespace } });
  const eventuallyHas = (count: number) =>
    eventually(async () => (await cluster.get<PodSet>(at))?.status?.readyReplicas === count, WITHIN_MS);
  await eventuallyHas(3);
  await cluster.patch(at, { spec: { replicas: 1 } });
  await eventuallyHas(1);
  const [pod] = (await cluster.get<PodSet>(at))?.status?.podNames ?? [];
  // An orphan is adopted.
  await cluster.patch({ type: PODS, namespace, name: pod ?? '' }, { metadata: { ownerReferences: null } });
  await eventually(async () => {
    const owners = (await cluster.get({ type: PODS, namespace, name: pod ?? '' }))?.metadata.ownerReferences;
    return owners?.length === 1;
  }, WITHIN_MS);
  await cluster.deleteAndWait(at);
}

async function building(namespace: string): Promise<void> {
  const manifest = aBuild(namespace).manifest;
  await cluster.create(BUILDS, manifest);
  const build = new LiveBuild(cluster, manifest, WITHIN_MS);
  await build.is('Succeeded');
  await build.change({ buildCommand: 'make' });
  await build.is('Succeeded');
  await build.delete();
  await build.gone();
}

/** Cleanup cannot be done where the Node is gone: the operator asks for it. */
async function buildingOnALostNode(namespace: string): Promise<void> {
  const manifest = aBuild(namespace, 'lost').with({ jobName: 'lost' }).manifest;
  await cluster.create(BUILDS, manifest);
  const build = new LiveBuild(cluster, manifest, WITHIN_MS);
  await build.is('Succeeded');
  await cluster.patch(
    build.at,
    { status: { artifacts: [{ node: 'no-such-node', binary: build.binary }] } },
    'status',
  );
  await build.delete();
  await build.gone();
}

async function buildingWhereANameIsTaken(namespace: string): Promise<void> {
  const containers = [{ name: 'c', image: 'busybox' }];
  await cluster.create(JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { namespace, name: 'taken' },
    spec: { template: { spec: { restartPolicy: 'Never', containers } } },
  });
  const manifest = aBuild(namespace, 'other').with({ jobName: 'taken' }).manifest;
  await cluster.create(BUILDS, manifest);
  const build = new LiveBuild(cluster, manifest, WITHIN_MS);
  await build.reaches((found) => conditionOf(found, 'Stalled') === 'True JobNameTaken');
  await build.delete();
  await build.gone();
}

/** Only Events say why. */
async function buildingWherePodsAreRefused(): Promise<void> {
  const namespace = uniqueName();
  await cluster.createNamespace(namespace, { 'pod-security.kubernetes.io/enforce': 'baseline' });
  const manifest = aBuild(namespace).manifest;
  await cluster.create(BUILDS, manifest);
  const build = new LiveBuild(cluster, manifest, WITHIN_MS);
  await build.reaches((found) => conditionOf(found, 'Stalled') === 'True PodsRefused');
  await cluster.delete({ type: NAMESPACES, name: namespace });
  await build.gone();
}

/** As Prometheus does: by TLS, with the token of its service account. */
async function onlyReadersRead(metrics: string): Promise<void> {
  const reader = { namespace: (await cluster.createNamespace()).metadata.name, name: 'prometheus' };
  await cluster.create(SERVICE_ACCOUNTS, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { ...reader },
  });
  const answer = await cluster.client.request({
    method: 'POST',
    path: resourcePath(SERVICE_ACCOUNTS, { ...reader, subresource: 'token' }),
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  const { token } = z.object({ status: z.object({ token: z.string() }) }).parse(answer).status;
  expect(await statusOf(metrics)).toBe(401);
  const binding = { type: CLUSTER_ROLE_BINDINGS, name: reader.namespace };
  await cluster.create(CLUSTER_ROLE_BINDINGS, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: binding.name },
    roleRef: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'durable-operator-metrics-reader',
    },
    subjects: [{ kind: 'ServiceAccount', ...reader }],
  });
  await eventually(async () => (await statusOf(metrics, token)) === 200, WITHIN_MS);
  await cluster.delete(binding);
}

function statusOf(url: string, token?: string): Promise<number | undefined> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    // Its certificate is its own.
    const asked = request(url, { headers, rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.once('error', reject);
    asked.end();
  });
}
