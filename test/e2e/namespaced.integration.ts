import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { ask } from '../support/asking.ts';
import { PODS, ROLE_BINDINGS, uniqueName } from '../support/cluster.ts';
import { charted } from '../support/delivered.ts';
import { eventually } from '../../testing/eventually.ts';
import { apiCallsOf, aTaskQueue, ownLogs, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { installAccess, OPERATOR } from '../support/service-accounts.ts';
import { userNameOf, type ServiceAccount } from '../../testing/stack/service-account.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);
/** It includes the start of an operator, which takes long on a busy machine. */
const WITHIN_MS = 60_000;

const { stack, cluster, kubeconfigOf } = setUpStage();
let operator: Operator;
const taskQueue = aTaskQueue();
/** The controllers that need nothing outside of their namespaces. */
const CONTROLLERS = 'pod-label,namespace-role-binding,pod-set';
/** It watches them, and may work there. */
let namespaces: readonly string[];
let elsewhere: string;

/** Another than the operator's, which may do more. */
let account: ServiceAccount;

beforeAll(async () => {
  const [one, other, third] = await Promise.all([
    cluster.aNamespace(),
    cluster.aNamespace(),
    cluster.aNamespace(),
  ]);
  namespaces = [one, other];
  elsewhere = third;
  await create(elsewhere, 'web');
  operator = await startOperator({
    kubeconfig: await installFor(namespaces),
    taskQueue,
    args: ['--controllers', CONTROLLERS, '--namespaces', namespaces.join(), '--cluster-name=test'],
  });
});

/**
 * Installs what a release for these namespaces has in each of them, and nothing for the whole cluster.
 *
 * @returns the kubeconfig of its service account
 */
async function installFor(watched: readonly string[]): Promise<string> {
  account = { namespace: await cluster.aNamespace(), name: OPERATOR.name };
  const values = [`controllers={${CONTROLLERS}}`, `namespaces={${watched.join()}}`, 'metrics.secure=false'];
  const objects = await charted(values, { namespace: account.namespace });
  const kinds = ['ServiceAccount', 'Role', 'RoleBinding'];
  await installAccess(
    cluster.client,
    objects.filter(({ kind }) => kinds.includes(kind)),
  );
  return kubeconfigOf(account);
}

const create = (namespace: string, name: string) =>
  cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
const labelsIn = async (namespace: string, name = 'web') =>
  (await cluster.get({ type: PODS, namespace, name }))?.metadata.labels ?? {};
const bindingIn = (namespace: string) => ({
  type: ROLE_BINDINGS,
  namespace,
  name: `ad-kubernetes-${namespace}`,
});
const eventuallyBound = (namespace: string) => eventually(() => cluster.get(bindingIn(namespace)), WITHIN_MS);

describe('an operator for some namespaces, with a Role in each and nothing else,', () => {
  it('labels the Pods there', async () => {
    for (const namespace of namespaces) {
      await create(namespace, 'web');
      await eventually(async () => (await labelsIn(namespace))[POD_NAME_LABEL] === 'web', WITHIN_MS);
    }
  });

  it('binds the teams there, and puts back a binding that is deleted', async () => {
    for (const namespace of namespaces) {
      const first = await eventuallyBound(namespace);
      await cluster.delete(bindingIn(namespace));
      const second = await eventuallyBound(namespace);
      expect(second.metadata.uid).not.toBe(first.metadata.uid);
    }
  });

  it('sends no request to other namespaces, and none that is denied', async () => {
    expect(await labelsIn(elsewhere)).toEqual({});
    expect(await cluster.get(bindingIn(elsewhere))).toBeUndefined();
    const calls = apiCallsOf(userNameOf(account), stack.auditLog);
    const asked = new Set(calls.map(({ objectRef }) => objectRef?.namespace));
    expect([...asked].sort()).toEqual([...namespaces].sort());
    const denied = calls.filter(({ responseStatus }) => [401, 403].includes(responseStatus?.code ?? 0));
    expect(denied).toEqual([]);
    expect(ownLogs(operator, 'error', 'warn')).toEqual([]);
  });

  it('holds changes in a paused Namespace, and continues after the pause', async () => {
    const [namespace = ''] = namespaces;
    const durable = (...args: readonly string[]) => ask([...args, '--task-queue', taskQueue]);
    expect(await durable('pause', `namespace/${namespace}`)).toMatchObject({ status: 0 });
    // What a worker read just before the pause counts for two seconds.
    const held = await eventually(() => aHeldPod(namespace, durable), WITHIN_MS);
    const why = await durable('why', `pod/${held}`, '-n', namespace);
    expect(why).toMatchObject({ status: 1, stderr: '' });
    expect(why.stdout).toContain(`Pod ${namespace}/${held} is paused`);
    expect(why.stdout).toContain(`kubectl durable resume namespace/${namespace}`);
    expect(await durable('resume', `namespace/${namespace}`)).toMatchObject({ status: 0 });
    await eventually(async () => (await labelsIn(namespace, held))[POD_NAME_LABEL] === held, WITHIN_MS);
  });
});

type Durable = (...args: readonly string[]) => ReturnType<typeof ask>;

/** @returns the name of a new Pod that is held back; undefined where it was labelled */
async function aHeldPod(namespace: string, durable: Durable): Promise<string | undefined> {
  const name = uniqueName();
  await create(namespace, name);
  return eventually(async () => {
    if ((await labelsIn(namespace, name))[POD_NAME_LABEL] === name) return { held: undefined };
    const { stdout } = await durable('get', `pod/${name}`, '-n', namespace, '-o', 'json');
    return stdout.includes('"state": "Paused"') && { held: name };
  }, WITHIN_MS).then(({ held }) => held);
}
