import { describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/api/object.ts';
import { NAMESPACES, refOf, ROLE_BINDINGS, uniqueName } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { apiCallsOf } from '../support/operator.ts';
import { aRoleBinding, type RoleBindingObject } from '../support/role-bindings.ts';
import { setUpOperator } from '../support/stage.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 20_000;
/** A namespace with this label is not selected. */
const LEFT_OUT = 'test.durable-operator.dev/left-out';

const { stack, cluster, temporal } = setUpOperator({
  args: ['--controllers', 'namespace-role-binding', '--namespace-selector', `!${LEFT_OUT}`],
});

const at = (namespace: string) => ({ type: ROLE_BINDINGS, namespace, name: `ad-kubernetes-${namespace}` });
const bindingOf = (namespace: string) => cluster.get<RoleBindingObject>(at(namespace));
const writesIn = (namespace: string) =>
  apiCallsOf('operator', stack.auditLog).filter(
    ({ verb, objectRef }) =>
      objectRef?.resource === 'rolebindings' &&
      objectRef.namespace === namespace &&
      !['get', 'list', 'watch'].includes(verb),
  );

/** What one says of a binding, without what the server adds. */
function said(binding: RoleBindingObject | undefined): object | undefined {
  if (binding === undefined) return undefined;
  const { metadata, roleRef, subjects } = binding;
  return { labels: metadata.labels ?? {}, roleRef, subjects };
}

const saidBy = ({ metadata, roleRef, subjects }: ReturnType<typeof aRoleBinding>['manifest']) => ({
  labels: metadata['labels'],
  roleRef,
  subjects,
});

function eventuallyBound(namespace: string): Promise<RoleBindingObject> {
  return eventually(async () => {
    const binding = await bindingOf(namespace);
    expect(said(binding)).toEqual(saidBy(aRoleBinding(namespace).manifest));
    return binding;
  }, WITHIN_MS);
}

async function aBoundNamespace(): Promise<KubernetesObject> {
  const namespace = await cluster.createNamespace();
  await eventuallyBound(namespace.metadata.name);
  return namespace;
}

/** With a binding that the watcher had seen before the operator was to look at the namespace. */
async function aNamespaceWith(binding: (namespace: string) => ReturnType<typeof aRoleBinding>) {
  const namespace = await cluster.createNamespace(uniqueName(), { [LEFT_OUT]: '' });
  const { name } = namespace.metadata;
  const other = await aBoundNamespace();
  const there = await cluster.create<RoleBindingObject>(ROLE_BINDINGS, binding(name).manifest);
  // That it comes back shows that the watcher has seen its deletion, and with it what came before.
  await cluster.delete(at(other.metadata.name));
  await eventuallyBound(other.metadata.name);
  await cluster.patch({ type: NAMESPACES, name }, { metadata: { labels: { [LEFT_OUT]: null } } });
  return { namespace, name, there };
}

const eventsIn = async (namespace: string, about: string) =>
  (await cluster.eventsIn(namespace)).filter(
    ({ regarding, reason }) => regarding.kind === 'Namespace' && reason === about,
  );

describe('a binding of ours', () => {
  it('stays, without our label and with an Event, when its namespace is no longer selected', async () => {
    const { name } = (await aBoundNamespace()).metadata;
    await cluster.patch({ type: NAMESPACES, name }, { metadata: { labels: { [LEFT_OUT]: '' } } });
    await eventually(async () => {
      expect(said(await bindingOf(name))).toEqual(saidBy(aRoleBinding(name).foreign().manifest));
      return true;
    }, WITHIN_MS);
    await eventually(async () => {
      expect(await eventsIn(name, 'Released')).toMatchObject([{ type: 'Normal', regarding: { name } }]);
      return true;
    }, WITHIN_MS);
  });
});

describe('a binding of somebody else', () => {
  it('that differs is not changed: there are a Warning Event and an open run', async () => {
    const { namespace, name, there } = await aNamespaceWith((own) => aRoleBinding(own).to('view').foreign());
    await eventually(async () => {
      expect(await eventsIn(name, 'ForeignRoleBinding')).toMatchObject([
        { type: 'Warning', regarding: { kind: 'Namespace', name } },
      ]);
      return true;
    }, WITHIN_MS);
    await aBoundNamespace();
    expect(await bindingOf(name)).toEqual(there);
    expect(writesIn(name)).toEqual([]);
    expect(await temporal.openRunOf(refOf('namespace-role-binding', namespace))).toEqual({
      status: 'RUNNING',
      pendingActivities: [],
    });
  });
});

describe('a namespace that terminates', () => {
  it('gets no new objects, and no request of the operator is denied', async () => {
    const namespace = await aBoundNamespace();
    const { name } = namespace.metadata;
    const self = { type: NAMESPACES, name };
    await cluster.patch(self, { metadata: { finalizers: ['test.durable-operator.dev/hold'] } });
    await cluster.delete(self);
    await eventually(async () => (await bindingOf(name)) === undefined, WITHIN_MS);
    await aBoundNamespace();
    expect(await cluster.get(self)).toBeDefined();
    expect(writesIn(name).map(({ verb }) => verb)).toEqual(['create']);
    await cluster.patch(self, { metadata: { finalizers: null } });
    await eventually(async () => (await cluster.get(self)) === undefined, WITHIN_MS);
  });
});
