import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { roleBindingReconciler } from '../../activities/namespace-role-binding.ts';
import { StepRun } from '../../activities/step-run.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { createKubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { NAMESPACES, refOf, ROLE_BINDINGS, uniqueName } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { apiCallsOf, ownLogs } from '../support/operator.ts';
import { aRoleBinding, OURS, type RoleBindingObject } from '../support/role-bindings.ts';
import { setUpOperator } from '../support/stage.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 20_000;
/** A namespace with this label is not selected. */
const LEFT_OUT = 'test.durable-operator.dev/left-out';

const stage = setUpOperator({
  args: ['--controllers', 'namespace-role-binding', '--namespace-selector', `!${LEFT_OUT}`],
});
const { stack, cluster, temporal } = stage;

const at = (namespace: string) => ({ type: ROLE_BINDINGS, namespace, name: `ad-kubernetes-${namespace}` });
const bindingOf = (namespace: string) => cluster.get<RoleBindingObject>(at(namespace));
const runsOf = (namespace: KubernetesObject) => temporal.runsOf(refOf('namespace-role-binding', namespace));
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

describe('a namespace', () => {
  it('gets the binding of its team, in one create, by a run that says so', async () => {
    const namespace = await cluster.createNamespace();
    const { name } = namespace.metadata;
    const binding = await eventuallyBound(name);
    expect(binding).toMatchObject({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' });
    await eventually(async () => {
      expect(await runsOf(namespace)).toMatchObject([
        { status: 'COMPLETED', result: `created role binding ad-kubernetes-${name} to ClusterRole edit` },
      ]);
      return true;
    }, WITHIN_MS);
    expect(writesIn(name).map(({ verb, responseStatus }) => [verb, responseStatus?.code])).toEqual([
      ['create', 201],
    ]);
  });

  it.each(['kube-system', 'kube-public', 'kube-node-lease'])('has none where it is %s', async (name) => {
    await aBoundNamespace();
    expect(await bindingOf(name)).toBeUndefined();
    expect(writesIn(name)).toEqual([]);
  });

  it('that was there before the operator has one too', async () => {
    await eventuallyBound('default');
  });

  it('that is deleted and created again with the same name gets a binding and a run of its own', async () => {
    const first = await aBoundNamespace();
    const { name } = first.metadata;
    await cluster.deleteAndWait({ type: NAMESPACES, name });
    const second = await cluster.createNamespace(name);
    await eventuallyBound(name);
    for (const namespace of [first, second]) {
      await eventually(async () => {
        const runs = await runsOf(namespace);
        expect(runs[0]?.result).toBe(`created role binding ad-kubernetes-${name} to ClusterRole edit`);
        expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'COMPLETED'));
        return true;
      }, WITHIN_MS);
    }
  });
});

describe('a binding of ours', () => {
  it('is put back when it is deleted', async () => {
    const { name } = (await aBoundNamespace()).metadata;
    await cluster.delete(at(name));
    await eventuallyBound(name);
  });

  it('gets its subjects back when they are edited', async () => {
    const { name } = (await aBoundNamespace()).metadata;
    const { uid } = (await eventuallyBound(name)).metadata;
    await cluster.patch(at(name), { subjects: [] });
    expect((await eventuallyBound(name)).metadata.uid).toBe(uid);
    await cluster.patch(at(name), { subjects: aRoleBinding(name).of('intruders').manifest['subjects'] });
    expect((await eventuallyBound(name)).metadata.uid).toBe(uid);
  });

  it('is replaced when its role is another', async () => {
    const { name } = (await aBoundNamespace()).metadata;
    const wrong = await eventually(async () => {
      await cluster.delete(at(name));
      return cluster.create<RoleBindingObject>(ROLE_BINDINGS, aRoleBinding(name).to('admin').manifest);
    });
    const right = await eventuallyBound(name);
    expect(right.metadata.uid).not.toBe(wrong.metadata.uid);
    const deletes = writesIn(name).filter(({ verb }) => verb === 'delete');
    expect(deletes.map(({ responseStatus }) => responseStatus?.code)).toEqual([200]);
    const dryRuns = writesIn(name).filter(({ requestURI }) => requestURI.endsWith('?dryRun=All'));
    expect(dryRuns.map(({ verb }) => verb)).toEqual(['create']);
  });

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
  it('that differs is not touched: a Warning Event and an open run say so', async () => {
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

  it('that differs is replaced by ours, and its run completes, once it is deleted', async () => {
    const { namespace, name } = await aNamespaceWith((own) => aRoleBinding(own).to('view').foreign());
    await eventually(async () => (await eventsIn(name, 'ForeignRoleBinding')).length === 1, WITHIN_MS);
    await cluster.delete(at(name));
    await eventuallyBound(name);
    await eventually(async () => {
      expect(await runsOf(namespace)).toMatchObject([{ status: 'COMPLETED' }]);
      return true;
    }, WITHIN_MS);
  });

  it('that is as wanted stays as it is, without our label, and without a run', async () => {
    const { namespace, name, there } = await aNamespaceWith((own) => aRoleBinding(own).foreign());
    await aBoundNamespace();
    expect(await bindingOf(name)).toEqual(there);
    expect(there.metadata.labels).not.toEqual(OURS);
    expect(await runsOf(namespace)).toEqual([]);
    expect(writesIn(name)).toEqual([]);
  });
});

describe('a namespace that terminates', () => {
  it('gets nothing created any more, and no request of ours is denied', async () => {
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

describe('what the API server answers to a create', () => {
  const client = createKubernetesClient(loadKubeConfig({ kubeconfig: stack.operatorKubeconfig, env: {} }));
  afterAll(() => client.close());

  /** The operator may bind `edit` alone: of another role the API server looks up what it would give. */
  const creating = (namespace: string, clusterRole: string) => {
    const options = { clusterRole, prefix: 'other-', namespaceSelector: [], excludeNamespaces: [] };
    const ref = { controller: 'namespace-role-binding', namespace, name: namespace, uid: 'none' };
    const run = new StepRun(roleBindingReconciler(client, options), {
      ...{ ref, now: Date.now, superseded: new AbortController().signal },
    });
    const view = { name: namespace, resourceVersion: '', state: 'selected' as const };
    const observation = { namespace: view, binding: undefined, bindingName: `other-${namespace}` };
    return run.perform('createRoleBinding', { observation, source: 'live' });
  };

  it('of a binding to a ClusterRole that is missing is a refusal: its namespace is there', async () => {
    const { name } = (await cluster.createNamespace()).metadata;
    await expect(creating(name, 'no-such-role')).rejects.toMatchObject({
      classification: 'refused',
      status: 404,
      details: { kind: 'rolebindings', name: 'no-such-role' },
    });
  });

  it.each(['edit', 'no-such-role'])('of one to %s in a namespace that is gone ends the run', async (role) => {
    expect(await creating(uniqueName(), role)).toMatchObject({ did: [], next: { do: 'converged' } });
  });
});

describe('the operator with the permissions of its role alone', () => {
  it('was denied nothing, save in a namespace that was being deleted, and logged no error', () => {
    const denied = apiCallsOf('operator', stack.auditLog).filter(
      ({ responseStatus: { code = 0, message = '' } = {} }) =>
        (code === 401 || code === 403) && !message.endsWith('because it is being terminated'),
    );
    expect(denied).toEqual([]);
    expect(ownLogs(stage.operator, 'error')).toEqual([]);
  });
});
