import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventRecorder, regardingNamespace, type Event } from '../../activities/events.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { NAMESPACES, PODS, refOf, ROLE_BINDINGS, uniqueName } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { apiCallsOf, aTaskQueue, endOperators, startOperator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';
import { aRoleBinding } from '../support/role-bindings.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);
/** What is refused is asked for again after 45 s at most. */
const WITHIN_MS = 60_000;
/** A namespace with this label is not selected. */
const LEFT_OUT = 'test.durable-operator.dev/left-out';

const { stack, cluster } = setUpStage();
const kubeconfig = stack.operatorKubeconfig;
const taskQueue = aTaskQueue();

beforeAll(async () => {
  await start();
});

function start() {
  const selector = ['--namespace-selector', `!${LEFT_OUT}`];
  const args = ['--controllers', 'pod-label,namespace-role-binding', ...selector];
  return startOperator({ taskQueue, args });
}

const eventsAbout = async ({ metadata: { uid, name, namespace = name } }: KubernetesObject) =>
  (await cluster.eventsIn(namespace)).filter(({ regarding }) => regarding.uid === uid);

/** The reasons of its Events, each as often as there are Events of it. */
function eventuallyTold(object: KubernetesObject, ...reasons: readonly string[]): Promise<true> {
  return eventually(async () => {
    const told = (await eventsAbout(object)).map(({ reason }) => reason);
    expect(told.sort()).toEqual([...reasons].sort());
    return true as const;
  }, WITHIN_MS);
}

const bindingIn = (namespace: string) => ({
  type: ROLE_BINDINGS,
  namespace,
  name: `ad-kubernetes-${namespace}`,
});

async function aBoundNamespace(): Promise<KubernetesObject> {
  const namespace = await cluster.createNamespace();
  await eventuallyTold(namespace, 'Created');
  return namespace;
}

describe('a namespace is told, each time, that its binding', () => {
  it('was created, also when it was deleted and put back', async () => {
    const namespace = await aBoundNamespace();
    const { name } = namespace.metadata;
    await cluster.delete(bindingIn(name));
    await eventuallyTold(namespace, 'Created', 'Created');
    const [event] = await eventsAbout(namespace);
    expect(event).toMatchObject({
      type: 'Normal',
      note: `created role binding ad-kubernetes-${name} to ClusterRole edit`,
      regarding: { kind: 'Namespace', name, namespace: name },
    });
  });

  it('was corrected', async () => {
    const namespace = await aBoundNamespace();
    const binding = bindingIn(namespace.metadata.name);
    await cluster.patch(binding, { subjects: [] });
    await eventuallyTold(namespace, 'Created', 'Restored');
    await cluster.patch(binding, { subjects: [] });
    await eventuallyTold(namespace, 'Created', 'Restored', 'Restored');
  });

  it('was replaced', async () => {
    const namespace = await cluster.createNamespace(uniqueName(), { [LEFT_OUT]: '' });
    const { name } = namespace.metadata;
    await cluster.create(ROLE_BINDINGS, aRoleBinding(name).to('view').manifest);
    // A binding of ours in a namespace that is left out is to be released, which this one cannot be.
    await eventuallyTold(namespace, 'ForeignRoleBinding');
    await select(name);
    await eventuallyTold(namespace, 'ForeignRoleBinding', 'Replaced');
  });
});

const select = (name: string) =>
  cluster.patch({ type: NAMESPACES, name }, { metadata: { labels: { [LEFT_OUT]: null } } });

describe('what the API server refuses', () => {
  const QUOTAS = { group: '', version: 'v1', plural: 'resourcequotas' };
  interface Quota extends KubernetesObject {
    readonly status?: { readonly hard?: object };
  }

  it('is one Warning Event with its words, until it is refused no more', async () => {
    const namespace = await cluster.createNamespace(uniqueName(), { [LEFT_OUT]: '' });
    const { name } = namespace.metadata;
    const quota = { type: QUOTAS, namespace: name, name: 'none' };
    await cluster.create(QUOTAS, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'none', namespace: name },
      spec: { hard: { 'count/rolebindings.rbac.authorization.k8s.io': '0' } },
    });
    await eventually(async () => (await cluster.get<Quota>(quota))?.status?.hard !== undefined, WITHIN_MS);
    await select(name);
    await eventually(() => refusalsIn(name) >= 2, WITHIN_MS);
    await eventuallyTold(namespace, 'Refused');
    const [event] = await eventsAbout(namespace);
    expect(event).toMatchObject({ type: 'Warning', note: expect.stringContaining('exceeded quota: none') });
    expect(event?.note).toMatch(new RegExp(`; see: kubectl durable why namespace/${name}$`));
    await cluster.delete(quota);
    await eventuallyTold(namespace, 'Refused', 'Created');
  });

  const refusalsIn = (namespace: string) =>
    apiCallsOf('operator', stack.auditLog).filter(
      ({ verb, objectRef, responseStatus }) =>
        verb === 'create' &&
        objectRef?.resource === 'rolebindings' &&
        objectRef.namespace === namespace &&
        responseStatus?.code === 403,
    ).length;
});

describe('a Pod', () => {
  it('has no Event when it is labelled, and one, also after a restart, when its name is too long', async () => {
    const { name: namespace } = (await cluster.createNamespace()).metadata;
    const create = (name: string) =>
      cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
    const labelled = await create('web');
    const stalled = await create('long'.padEnd(70, 'x'));
    await eventuallyTold(stalled, 'NameTooLong');
    await endOperators();
    await start();
    // The new process knows nothing of the Event: it tells it again, and finds that it is there.
    await eventually(() => recorded(stalled, namespace).includes(409), WITHIN_MS);
    await endOperators();
    expect((await eventsAbout(stalled)).map(({ series }) => series ?? 'once')).toEqual(['once']);
    expect(await eventsAbout(labelled)).toEqual([]);
    await start();
  });

  /** The answers to what the operator has recorded there. */
  const recorded = (pod: KubernetesObject, namespace: string) =>
    apiCallsOf('operator', stack.auditLog)
      .filter(({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'events')
      .filter(({ objectRef }) => objectRef?.namespace === namespace && pod.metadata.namespace === namespace)
      .map(({ responseStatus }) => responseStatus?.code);
});

describe('the API server, asked by a user with the permissions of the operator alone,', () => {
  const AN_HOUR_MS = 3_600_000;
  const log = aRecordingLogger();
  const aTest: Event = { type: 'Normal', reason: 'Tested', action: 'Test', note: 'it is tested' };
  const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace' };
  const clients: KubernetesClient[] = [];

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    expect(log.lines).toEqual([]);
  });

  /** Records one Event as a process that has just begun, or one that knows it. */
  async function record(object: KubernetesObject, timesMs: readonly number[], event = aTest) {
    const client = createKubernetesClient(loadKubeConfig({ kubeconfig, env: {} }));
    clients.push(client);
    for (const timeMs of timesMs) {
      const recorder = eventRecorder(client, log, { now: () => Date.now() + timeMs });
      recorder.record(refOf('test', object), NAMESPACE, event, log);
      await recorder.close();
    }
  }

  it('takes the count of an Event that lasts', async () => {
    const namespace = await aBoundNamespace();
    await record(namespace, [0, AN_HOUR_MS, 2 * AN_HOUR_MS]);
    const events = (await eventsAbout(namespace)).filter(({ reason }) => reason === 'Tested');
    expect(events).toMatchObject([{ series: { count: 3 } }]);
  });

  it('takes a note and a name of any length', async () => {
    const { name } = (await cluster.createNamespace()).metadata;
    const pod = await cluster.create(PODS, aPod().in(name).named('x'.repeat(250)).manifest);
    await record(pod, [0], { ...aTest, note: '€'.repeat(1_000) });
    expect(await eventsAbout(pod)).toMatchObject([{ note: '€'.repeat(341) }]);
  });

  it('takes an Event about a namespace itself, in "default"', async () => {
    const namespace = await aBoundNamespace();
    const client = createKubernetesClient(loadKubeConfig({ kubeconfig, env: {} }));
    clients.push(client);
    const recorder = eventRecorder(client, log);
    const ref = refOf('test', namespace);
    recorder.record(ref, regardingNamespace(ref, { apiVersion: 'v1', kind: 'Pod' }), aTest, log);
    await recorder.close();
    const events = await cluster.eventsIn('default');
    expect(events.filter(({ regarding }) => regarding.name === ref.name)).toMatchObject([
      { reason: 'Tested', regarding: { kind: 'Namespace' } },
    ]);
  });
});
