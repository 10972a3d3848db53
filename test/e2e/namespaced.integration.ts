import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { join } from 'node:path';
import { defaultControllers, mergeRules } from '../../deploy/generate.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/decide.ts';
import { PODS, ROLE_BINDINGS, TestCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { apiCallsOf, aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { testStack } from '../support/stack.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 20_000;
const CONTROLLERS = ['pod-label', 'namespace-role-binding'];
const RBAC = 'rbac.authorization.k8s.io';

const stack = testStack();
let cluster: TestCluster;
let operator: Operator;
/** Those that it is told of, and may work in. */
let namespaces: readonly string[];
let elsewhere: string;

beforeAll(async () => {
  cluster = new TestCluster(stack.kubeconfig);
  const [one, other, third] = await Promise.all([aNamespace(), aNamespace(), aNamespace()]);
  namespaces = [one, other];
  elsewhere = third;
  await create(elsewhere, 'web');
  for (const namespace of namespaces) await allowOperatorIn(namespace);
  operator = await startOperator({
    temporalAddress: stack.temporalAddress,
    kubeconfig: join(stack.dir, 'operator.kubeconfig'),
    taskQueue: aTaskQueue(),
    args: ['--controllers', CONTROLLERS.join(), '--namespaces', namespaces.join()],
  });
});

afterAll(async () => {
  await endOperators();
  await cluster.close();
});

const aNamespace = async () => (await cluster.createNamespace()).metadata.name;

/** What the controllers declare, in a Role of the namespace: no ClusterRole is bound to the operator. */
async function allowOperatorIn(namespace: string): Promise<void> {
  const wanted = defaultControllers().filter(({ name }) => CONTROLLERS.includes(name));
  const metadata = { name: 'operator', namespace };
  await cluster.create(
    { ...ROLE_BINDINGS, plural: 'roles' },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'Role',
      metadata,
      rules: mergeRules(wanted.flatMap(({ permissions }) => permissions)),
    },
  );
  await cluster.create(ROLE_BINDINGS, {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: RBAC, kind: 'Role', name: 'operator' },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: 'operator' }],
  });
}

const create = (namespace: string, name: string) =>
  cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
const labelsIn = async (namespace: string) =>
  (await cluster.get({ type: PODS, namespace, name: 'web' }))?.metadata.labels ?? {};
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

  it('records its Events there', async () => {
    for (const namespace of namespaces) {
      await eventually(async () => {
        const reasons = (await cluster.eventsIn(namespace)).map(({ reason }) => reason);
        return reasons.includes('Created');
      }, WITHIN_MS);
    }
  });

  it('asks for nothing elsewhere, and for nothing that it may not', async () => {
    expect(await labelsIn(elsewhere)).toEqual({});
    expect(await cluster.get(bindingIn(elsewhere))).toBeUndefined();
    const calls = apiCallsOf('operator', stack.auditLog);
    const asked = new Set(calls.map(({ objectRef }) => objectRef?.namespace));
    expect([...asked].sort()).toEqual([...namespaces].sort());
    const denied = calls.filter(({ responseStatus }) => [401, 403].includes(responseStatus?.code ?? 0));
    expect(denied).toEqual([]);
    expect(operator.logs.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });
});
