import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ChildrenClient, type LiveChildren } from '../../activities/objects/children.ts';
import { child, type ChildManifest, type WrappedChild } from '../../src/api/child.ts';
import {
  CONFIG_MAPS,
  DAEMON_SETS,
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  INGRESSES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  POD_DISRUPTION_BUDGETS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../src/api/built-in.ts';
import type { ResourceType } from '../../src/api/resource-type.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { ANSWERED_ANNOTATION } from '../../src/engine/children/digest.ts';
import { decideChildren } from '../../src/engine/children/decide.ts';
import { readinessOf, type Readiness } from '../../src/engine/children/readiness.ts';
import {
  OWNER_LABEL,
  wantedOf,
  type DeclaredType,
  type ChildOwner,
} from '../../src/engine/children/wanted.ts';
import { fieldsOf, listOf } from '../../src/api/fields.ts';
import { isOf } from '../../src/kubernetes/errors.ts';
import { eventually } from '../../testing/eventually.ts';
import { kstatusOf } from '../support/kstatus.ts';
import { CLUSTER_ROLES, ROLE_BINDINGS, uniqueName } from '../support/cluster.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);

/** What a real API server makes of declared objects, without a run: it owns fields, fills in defaults, refuses. */
const { cluster } = setUpStage();
// It comes after kube-controller-manager in the list of managed fields, and so moves when that writes.
const MANAGER = 'website-operator';
const OWNED: readonly Omit<DeclaredType, 'manager'>[] = [
  STATEFUL_SETS,
  CONFIG_MAPS,
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  SECRETS,
  SERVICES,
];
const TYPES = OWNED.map((type) => ({ ...type, manager: MANAGER }));
const CRDS: ResourceType = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' },
  ...{ kind: 'CustomResourceDefinition', namespaced: false },
};
const ADMISSION = { group: 'admissionregistration.k8s.io', version: 'v1' };
const POLICIES = { ...ADMISSION, plural: 'validatingadmissionpolicies' };
const POLICY_BINDINGS = { ...ADMISSION, plural: 'validatingadmissionpolicybindings' };
const STEPS_MAX = 10;
const CONTEXT = { now: Date.now, superseded: new AbortController().signal };
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
});

/** A ConfigMap stands for the resource. */
async function anOwner(): Promise<ChildOwner> {
  const name = `owner-${Math.random().toString(36).slice(2, 8)}`;
  const { metadata } = await cluster.create<KubernetesObject>(CONFIG_MAPS, {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } },
  });
  return { controller: 'website', type: CONFIG_MAPS, metadata };
}

/** The steps until nothing is left to do. */
async function converge(
  owner: ChildOwner,
  manifests: readonly (ChildManifest | WrappedChild)[],
  types: readonly DeclaredType[] = TYPES,
): Promise<{
  readonly steps: readonly string[];
  readonly rest: ReturnType<typeof decideChildren>;
  readonly refused?: string;
}> {
  const children = new ChildrenClient(cluster.client, owner);
  const wanted = wantedOf(manifests, owner, types);
  const observe = async () => ({ wanted, ...(await children.list(types, false)) });
  let seen: LiveChildren = await observe();
  const steps: string[] = [];
  while (steps.length < STEPS_MAX) {
    const decision = decideChildren(seen);
    if (decision === undefined || !('verb' in decision)) return { steps, rest: decision };
    const { refusal, changed, ...end } = await children.perform(decision, seen, CONTEXT);
    if (refusal?.classification === 'refused') return { steps, rest: undefined, refused: refusal.words };
    seen = isOf(refusal, 'conflict') ? await observe() : end.children;
    if (refusal === undefined) steps.push(decision.do);
    else expect(refusal.classification).toBe('conflict');
    expect(changed).toBeUndefined();
  }
  return { steps, rest: undefined };
}

function deployment(
  name: string,
  more: { readonly env?: readonly object[]; readonly cpu?: string } = {},
): ChildManifest {
  const { env = [], cpu = '1000m' } = more;
  const labels = { app: name };
  return {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, labels } },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              ...{ name: 'web', image: 'nginx:1.29', args: ['-a', '-b'], env },
              ports: [{ containerPort: 80 }],
              resources: { requests: { cpu } },
            },
          ],
        },
      },
    },
  };
}

function service(name: string): ChildManifest {
  const spec = { selector: { app: name }, ports: [{ port: 80, targetPort: 80 }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec };
}

function containerOf(object: KubernetesObject | undefined) {
  const template = fieldsOf(fieldsOf(object?.['spec'])['template']);
  return listOf(fieldsOf(template['spec'])['containers'])[0] ?? {};
}

describe('declared objects on a real API server', () => {
  it('are created once, and are then as declared, whatever the server adds or writes otherwise', async () => {
    const owner = await anOwner();
    const { steps } = await converge(owner, [deployment('web'), service('web')]);
    // The Deployment's controller may write it between two writes of ours: then it is applied once more.
    expect(steps.filter((step) => step !== 'applyDeployment')).toEqual(['createDeployment', 'createService']);
    expect((await converge(owner, [deployment('web', { cpu: '1' }), service('web')])).steps).toEqual([]);
  });

  it('name the operator as their field manager, and in the label managed-by', async () => {
    await converge(await anOwner(), [service('named')]);
    const { metadata } = (await cluster.get({ type: SERVICES, namespace, name: 'named' })) ?? {};
    expect(metadata?.labels).toMatchObject({ 'app.kubernetes.io/managed-by': MANAGER });
    const entries = listOf(fieldsOf(metadata)['managedFields']);
    expect(entries.map(({ manager, operation }) => ({ manager, operation }))).toEqual([
      { manager: MANAGER, operation: 'Apply' },
    ]);
  });

  it('are applied where somebody else changed a field of theirs, and only there', async () => {
    const owner = await anOwner();
    await converge(owner, [deployment('edited')]);
    const at = { type: DEPLOYMENTS, namespace, name: 'edited' };
    await cluster.patch(at, { metadata: { labels: { team: 'a' } }, spec: { replicas: 1, paused: true } });
    expect((await converge(owner, [deployment('edited')])).steps).toEqual(['applyDeployment']);
    const spec = { replicas: 0, paused: true };
    expect(await cluster.get(at)).toMatchObject({ metadata: { labels: { team: 'a' } }, spec });
    expect((await converge(owner, [deployment('edited')])).steps).toEqual([]);
  });

  it('are as declared where the server takes something otherwise, which is noted on them', async () => {
    const owner = await anOwner();
    const blank = deployment('blank', { env: [{ name: 'EMPTY', value: '' }] });
    const { steps } = await converge(owner, [blank]);
    // As above.
    expect(new Set(steps)).toEqual(new Set(['createDeployment', 'applyDeployment']));
    expect((await converge(owner, [blank])).steps).toEqual([]);
  });

  it('have the data of a Secret that is declared as text', async () => {
    const owner = await anOwner();
    const secret = (text: string): ChildManifest => ({
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' }, stringData: { key: text } },
    });
    expect((await converge(owner, [secret('a')])).steps).toEqual(['createSecret']);
    expect((await converge(owner, [secret('a')])).steps).toEqual([]);
    expect((await converge(owner, [secret('b')])).steps).toEqual(['applySecret']);
    const data = { key: Buffer.from('b').toString('base64') };
    expect(await cluster.get({ type: SECRETS, namespace, name: 'key' })).toMatchObject({ data });
  });

  it.each<readonly [string, ChildManifest]>([
    [
      '.spec.templat',
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'typo' }, spec: { templat: {} } },
    ],
    [
      '.spec.replicas',
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'typo' }, spec: { replicas: '2' } },
    ],
    [
      '.stringData.port',
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'typo' }, stringData: { port: 5432 } },
    ],
    ['.data.port', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'typo' }, data: { port: 5432 } }],
  ])('are refused for a field that the type does not have so: %s', async (field, manifest) => {
    const owner = await anOwner();
    const wanted = wantedOf([manifest], owner, TYPES);
    const step = decideChildren({ wanted, there: [] });
    if (step === undefined || !('verb' in step)) throw new Error('there is nothing to create');
    const children = new ChildrenClient(cluster.client, owner);
    const { refusal, children: after } = await children.perform(step, { wanted, there: [] }, CONTEXT);
    expect(refusal?.classification).toBe('refused');
    expect(after.refused?.[0]?.cause.message).toContain(field);
    expect(after.refused?.[0]?.cause.advice[0]).toContain(field);
  });

  it('are deleted once they are no longer declared', async () => {
    const owner = await anOwner();
    await converge(owner, [deployment('left'), service('left')]);
    expect((await converge(owner, [deployment('left')])).steps).toEqual(['deleteService']);
    expect(await cluster.get({ type: SERVICES, namespace, name: 'left' })).toBeUndefined();
  });

  it('of a type that is retired are deleted by their owner reference, and others stay', async () => {
    const [owner, other] = [await anOwner(), await anOwner()];
    const name = uniqueName();
    await converge(owner, [service(name)]);
    await cluster.patch({ type: SERVICES, namespace, name }, { metadata: { labels: null } });
    await converge(other, [service(`${name}-other`)]);
    const retired = [{ ...SERVICES, manager: MANAGER, retired: true } as const];
    expect((await converge(owner, [], retired)).steps).toEqual(['deleteService']);
    expect(await cluster.get({ type: SERVICES, namespace, name })).toBeUndefined();
    expect(await cluster.get({ type: SERVICES, namespace, name: `${name}-other` })).toBeDefined();
  });

  it('are never taken from whoever has the name', async () => {
    const owner = await anOwner();
    const theirs = await cluster.create(SERVICES, {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'theirs', namespace } },
      spec: { ports: [{ port: 80 }] },
    });
    const { rest } = await converge(owner, [service('theirs')]);
    expect(rest).toMatchObject({ do: 'stalled', reason: 'NameTaken' });
    expect(await cluster.get({ type: SERVICES, namespace, name: 'theirs' })).toEqual(theirs);
  });

  it('get back the label by which they are found', async () => {
    const owner = await anOwner();
    await converge(owner, [service('unlabeled')]);
    const at = { type: SERVICES, namespace, name: 'unlabeled' };
    await cluster.patch(at, { metadata: { labels: null } });
    expect((await converge(owner, [service('unlabeled')])).steps).toEqual(['createService', 'applyService']);
    expect((await converge(owner, [service('unlabeled')])).steps).toEqual([]);
  });

  it('are taken back where they have lost their owner reference', async () => {
    const owner = await anOwner();
    await converge(owner, [service('orphaned')]);
    const at = { type: SERVICES, namespace, name: 'orphaned' };
    await cluster.patch(at, { metadata: { ownerReferences: null } });
    expect((await converge(owner, [service('orphaned')])).steps).toEqual(['createService', 'applyService']);
    const { metadata } = (await cluster.get(at)) ?? {};
    expect(metadata?.ownerReferences).toMatchObject([{ uid: owner.metadata.uid, controller: true }]);
    expect((await converge(owner, [service('orphaned')])).steps).toEqual([]);
  });

  it.each<readonly [string, (other: ChildOwner) => object]>([
    [
      'of a resource of the same name that is gone',
      () => ({ labels: { [OWNER_LABEL]: 'older' }, ownerReferences: null }),
    ],
    [
      'that another controller has taken since',
      ({ metadata: { name, uid } }) => ({
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }],
      }),
    ],
  ])('are not taken back: one %s', async (_, takenBy) => {
    const owner = await anOwner();
    const name = uniqueName();
    await converge(owner, [service(name)]);
    const metadata = takenBy(await anOwner());
    await cluster.patch({ type: SERVICES, namespace, name }, { metadata });
    const { rest } = await converge(owner, [service(name)]);
    expect(rest).toMatchObject({ do: 'stalled', reason: 'NameTaken' });
  });

  it('are adopted where that is asked for, unless another controller has them', async () => {
    const owner = await anOwner();
    const name = uniqueName();
    await cluster.create(SERVICES, {
      ...service(name),
      metadata: { name, namespace, labels: { [OWNER_LABEL]: 'older', team: 'a' } },
    });
    const adopted = child(service(name), { adopt: true });
    const { steps } = await converge(owner, [adopted]);
    expect(steps).toEqual(['createService', 'applyService']);
    const { metadata } = (await cluster.get({ type: SERVICES, namespace, name })) ?? {};
    expect(metadata).toMatchObject({ labels: { team: 'a' }, ownerReferences: [{ uid: owner.metadata.uid }] });
    expect((await converge(owner, [adopted])).steps).toEqual([]);
    expect((await converge(await anOwner(), [adopted])).rest).toMatchObject({ reason: 'NameTaken' });
  });

  it.each([
    ['orphan', 'stays, and is taken over'],
    ['foreground', 'is gone before'],
    ['background', 'goes after'],
  ] as const)('are created anew by %s, and their Pod %s', async (recreate, what) => {
    const owner = await anOwner();
    const name = uniqueName();
    const set = (serviceName: string): ChildManifest => ({
      ...deployment(name),
      kind: 'StatefulSet',
      spec: { ...fieldsOf(deployment(name)['spec']), replicas: 1, serviceName },
    });
    await converge(owner, [set('one')]);
    const podAt = { type: PODS, namespace, name: `${name}-0` };
    const setAt = { type: STATEFUL_SETS, namespace, name };
    const before = await eventually(() => cluster.get(podAt), 30_000);
    const changed = child(set('two'), { recreate });
    const { steps } = await converge(owner, [changed]);
    expect(steps).toContain('deleteStatefulSet');
    const gone = async () => (await cluster.get(setAt)) === undefined;
    if (recreate !== 'background') await eventually(gone, 30_000);
    const left = await cluster.get(podAt);
    if (recreate === 'foreground') expect(left?.metadata.uid).not.toBe(before.metadata.uid);
    if (recreate === 'orphan') expect(left?.metadata.uid).toBe(before.metadata.uid);
    await converge(owner, [changed]);
    const anew = (await cluster.get(setAt))?.metadata.uid;
    const pod = await eventually(async () => {
      const now = await cluster.get(podAt);
      return now?.metadata.ownerReferences?.some(({ uid }) => uid === anew) && now;
    }, 30_000);
    expect(pod.metadata.uid === before.metadata.uid).toBe(what.includes('taken over'));
  });

  it('are not taken from whoever has copied the label', async () => {
    const owner = await anOwner();
    const labels = { [OWNER_LABEL]: owner.metadata.uid };
    await cluster.create(SERVICES, { ...service('copied'), metadata: { name: 'copied', namespace, labels } });
    const { rest } = await converge(owner, [service('copied')]);
    expect(rest).toMatchObject({ do: 'stalled', reason: 'NameTaken' });
  });

  it('stall where a field cannot change, or are created anew where they may be', async () => {
    const owner = await anOwner();
    const renamed = (app: string): ChildManifest => ({
      ...deployment('fixed'),
      spec: {
        ...fieldsOf(deployment('fixed')['spec']),
        selector: { matchLabels: { app } },
        template: fieldsOf(deployment(app)['spec'])['template'],
      },
    });
    const claim = (storage: string): ChildManifest => ({
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data' } },
      spec: { accessModes: [storage], resources: { requests: { storage: '1Gi' } } },
    });
    await converge(owner, [renamed('one'), claim('ReadWriteOnce')]);
    const recreated = child(claim('ReadOnlyMany'), { recreate: 'background' });
    const { steps, rest } = await converge(owner, [renamed('two'), recreated]);
    expect(steps).toEqual(expect.arrayContaining(['applyDeployment', 'deletePersistentVolumeClaim']));
    expect(rest).toMatchObject({ do: 'stalled', reason: 'ImmutableField' });
  });

  it('are created anew for whatever the validation of their type refuses to change', async () => {
    const owner = await anOwner();
    const bindings = { ...ROLE_BINDINGS, kind: 'RoleBinding', namespaced: true } as const;
    const binding = (name: string): ChildManifest => ({
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name: 'bound' } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    });
    await converge(owner, [binding('view')], [bindings]);
    const edited = child(binding('edit'), { recreate: 'background' });
    const { steps } = await converge(owner, [edited], [bindings]);
    expect(steps).toEqual(['applyRoleBinding', 'deleteRoleBinding', 'createRoleBinding']);
    const at = { type: ROLE_BINDINGS, namespace, name: 'bound' };
    expect(await cluster.get(at)).toMatchObject({ roleRef: { name: 'edit' } });
  });

  it('stall for what a rule of their own schema refuses to change', async () => {
    const owner = await anOwner();
    const plural = `${uniqueName().replaceAll('-', '')}s`;
    const ruled: DeclaredType = {
      group: 'example.com',
      version: 'v1',
      plural,
      kind: 'Ruled',
      namespaced: true,
    };
    const rule = { rule: 'self == oldSelf', message: 'it stays as it is' };
    const spec = {
      type: 'object',
      properties: { size: { type: 'integer', 'x-kubernetes-validations': [rule] } },
    };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
    const names = { plural, kind: 'Ruled' };
    const crdOf = { group: 'example.com', scope: 'Namespaced', names };
    await cluster.create(CRDS, {
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      ...{ metadata: { name: `${plural}.example.com` } },
      spec: { ...crdOf, versions: [{ name: 'v1', served: true, storage: true, schema }] },
    });
    const sized = (size: number): ChildManifest => ({
      ...{ apiVersion: 'example.com/v1', kind: 'Ruled', metadata: { name: 'sized' }, spec: { size } },
    });
    await eventually(async () => {
      try {
        return (await converge(owner, [sized(1)], [ruled])).steps.length > 0;
      } catch (error) {
        if (isOf(error, 'api-missing')) return false;
        throw error;
      }
    }, 30_000);
    const { rest, refused } = await converge(owner, [sized(2)], [ruled]);
    await cluster.delete({ type: CRDS, name: `${plural}.example.com` });
    expect({ rest, refused }).toMatchObject({ rest: { do: 'stalled', reason: 'ImmutableField' } });
  });

  it('stall for a default that is in the way, until it was declared', async () => {
    const owner = await anOwner();
    const rolled = (strategy?: object): ChildManifest => {
      const plain = deployment('rolled');
      return { ...plain, spec: { ...fieldsOf(plain['spec']), ...(strategy && { strategy }) } };
    };
    await converge(owner, [rolled()]);
    const { rest, refused } = await converge(owner, [rolled({ type: 'Recreate' })]);
    expect({ rest, refused }).toMatchObject({
      rest: {
        ...{ do: 'stalled', reason: 'ImmutableField' },
        advice: [
          expect.stringContaining('spec.strategy.rollingUpdate'),
          expect.anything(),
          expect.anything(),
        ],
      },
    });
    await converge(owner, [rolled({ rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } })]);
    expect((await converge(owner, [rolled({ type: 'Recreate' })])).steps).toContain('applyDeployment');
    expect(await cluster.get({ type: DEPLOYMENTS, namespace, name: 'rolled' })).toMatchObject({
      spec: { strategy: { type: 'Recreate' } },
    });
  });

  it('are refused, and not created anew, where a policy denies the change, whatever it says', async () => {
    const owner = await anOwner();
    const name = uniqueName();
    const types = [{ ...CONFIG_MAPS, manager: MANAGER } as const];
    const guarded = (text: string): ChildManifest => ({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'guarded' }, data: { text } },
    });
    await converge(owner, [guarded('a')], types);
    const rules = [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['configmaps'] },
    ];
    await cluster.create(POLICIES, {
      ...{
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name },
      },
      spec: {
        matchConstraints: { resourceRules: rules },
        validations: [{ expression: 'false', message: 'field is immutable', reason: 'Invalid' }],
      },
    });
    const inNamespace = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
    await cluster.create(POLICY_BINDINGS, {
      ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicyBinding' },
      metadata: { name },
      spec: {
        ...{ policyName: name, validationActions: ['Deny'] },
        matchResources: { namespaceSelector: inNamespace },
      },
    });
    const at = { type: CONFIG_MAPS, namespace, name: 'guarded' };
    await eventually(
      () =>
        cluster.patch(at, { metadata: { labels: { tried: uniqueName() } } }).then(
          () => false,
          () => true,
        ),
      60_000,
    );
    const { steps, refused } = await converge(
      owner,
      [child(guarded('b'), { recreate: 'background' })],
      types,
    );
    await cluster.delete({ type: POLICY_BINDINGS, name });
    await cluster.delete({ type: POLICIES, name });
    expect(steps).toEqual([]);
    expect(refused).toContain('denied request: field is immutable');
  });

  it('of a cluster-scoped resource, in any namespace, go with it by the garbage collector', async () => {
    const { metadata } = await cluster.create<KubernetesObject>(CLUSTER_ROLES, {
      ...{
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: uniqueName() },
      },
    });
    const type = { ...CLUSTER_ROLES, kind: 'ClusterRole', namespaced: false };
    const owner: ChildOwner = { controller: 'website', type, metadata };
    const namespaces = [namespace, await cluster.aNamespace()];
    const everywhere = namespaces.map((each) => ({
      ...service('everywhere'),
      metadata: { name: 'everywhere', namespace: each },
    }));
    expect((await converge(owner, everywhere)).steps).toEqual(['createService']);
    expect((await converge(owner, everywhere)).steps).toEqual([]);
    await cluster.delete({ type: CLUSTER_ROLES, name: metadata.name });
    for (const each of namespaces)
      await eventually(
        async () =>
          (await cluster.get({ type: SERVICES, namespace: each, name: 'everywhere' })) === undefined,
        60_000,
      );
  });

  it('lose a field that is no longer declared, also the first time after their creation', async () => {
    const owner = await anOwner();
    const one = { name: 'ONE', value: '1' };
    await converge(owner, [deployment('fields', { env: [one, { name: 'TWO', value: '2' }] })]);
    const { steps } = await converge(owner, [deployment('fields', { env: [one] })]);
    expect(steps).toEqual(['applyDeployment']);
    const changed = await cluster.get({ type: DEPLOYMENTS, namespace, name: 'fields' });
    expect(containerOf(changed)['env']).toEqual([one]);
    expect(changed?.metadata.annotations).not.toHaveProperty([ANSWERED_ANNOTATION]);
  });
});

const LABELS = { app: 'ready' };
const TEMPLATE = {
  metadata: { labels: LABELS },
  spec: { containers: [{ name: 'web', image: 'nginx:1.29' }] },
};
const OF_APPS = { selector: { matchLabels: LABELS }, template: TEMPLATE };
const APPS = { group: 'apps', version: 'v1', namespaced: true };
const REPLICA_SETS: ResourceType = { ...APPS, plural: 'replicasets', kind: 'ReplicaSet' };

/** As it is to be in the end: of a Service, a person says which address it has. */
const IN_THE_END: readonly (readonly [
  ResourceType,
  name: string,
  fields: object,
  Readiness['is'],
  kstatus: string,
])[] = [
  [CONFIG_MAPS, 'ready', {}, 'ready', 'Current'],
  [DEPLOYMENTS, 'ready', { spec: { ...OF_APPS, replicas: 0 } }, 'ready', 'Current'],
  [DEPLOYMENTS, 'paused', { spec: { ...OF_APPS, replicas: 0, paused: true } }, 'progressing', 'InProgress'],
  [STATEFUL_SETS, 'ready', { spec: { ...OF_APPS, replicas: 0, serviceName: 'ready' } }, 'ready', 'Current'],
  [DAEMON_SETS, 'ready', { spec: { ...OF_APPS, template: nowhere() } }, 'ready', 'Current'],
  [REPLICA_SETS, 'ready', { spec: { ...OF_APPS, replicas: 0 } }, 'ready', 'Current'],
  [
    POD_DISRUPTION_BUDGETS,
    'ready',
    { spec: { minAvailable: 0, selector: { matchLabels: LABELS } } },
    'ready',
    'Current',
  ],
  [HORIZONTAL_POD_AUTOSCALERS, 'ready', { spec: scaling('ready') }, 'ready', 'Current'],
  [HORIZONTAL_POD_AUTOSCALERS, 'lost', { spec: scaling('none') }, 'failed', 'Current'],
  [
    INGRESSES,
    'ready',
    { spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } } },
    'ready',
    'Current',
  ],
  [SERVICES, 'ready', { spec: { ports: [{ port: 80 }] } }, 'ready', 'Current'],
  [SERVICES, 'waiting', { spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } }, 'progressing', 'Current'],
  [
    PERSISTENT_VOLUME_CLAIMS,
    'waiting',
    { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
    'progressing',
    'InProgress',
  ],
  [CRDS, 'readies.example.com', { spec: crd() }, 'ready', 'Current'],
];

function nowhere() {
  return { ...TEMPLATE, spec: { ...TEMPLATE.spec, nodeSelector: { is: 'none' } } };
}

function scaling(name: string) {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name };
  return { scaleTargetRef, maxReplicas: 1 };
}

function crd() {
  const schema = { openAPIV3Schema: { type: 'object' } };
  const versions = [{ name: 'v1', served: true, storage: true, schema }];
  const names = { plural: 'readies', kind: 'Readie' };
  return { group: 'example.com', scope: 'Namespaced', names, versions };
}

describe('the readiness of objects on a real API server', () => {
  it('is that of kstatus, but for the address of a Service and an autoscaler without a target', async () => {
    const created = await Promise.all(
      IN_THE_END.map(([type, name, fields]) => {
        const { group, version, kind, namespaced } = type;
        const metadata = { name, ...(namespaced && { namespace }) };
        const apiVersion = group === '' ? version : `${group}/${version}`;
        return cluster.create<KubernetesObject>(type, { apiVersion, kind, metadata, ...fields });
      }),
    );
    const isOf = (objects: readonly KubernetesObject[]) =>
      objects.map((object, place) => readinessOf(IN_THE_END[place]?.[0] ?? CONFIG_MAPS, object).is);
    const first = (await kstatusOf(created)).map(({ status }) => status);
    isOf(created).forEach((is, place) => {
      if (first[place] !== 'Current') expect([IN_THE_END[place]?.[0].kind, is]).not.toContain('ready');
    });
    const all = async () =>
      Promise.all(
        IN_THE_END.map(async ([type, name]) => {
          const object = await cluster.get({ type, name, ...(type.namespaced && { namespace }) });
          if (object === undefined) throw new Error(`${type.kind} ${name} is gone`);
          return object;
        }),
      );
    const wanted = IN_THE_END.map(([, , , is]) => is);
    const last = await eventually(async () => {
      const objects = await all();
      return isOf(objects).join() === wanted.join() && objects;
    }, 60_000);
    expect((await kstatusOf(last)).map(({ status }) => status)).toEqual(
      IN_THE_END.map(([, , , , status]) => status),
    );
    const loadBalancer = { ingress: [{ ip: '192.0.2.1' }] };
    const waiting = { type: SERVICES, namespace, name: 'waiting' };
    const addressed = await cluster.patch<KubernetesObject>(waiting, { status: { loadBalancer } }, 'status');
    expect(readinessOf(SERVICES, addressed).is).toBe('ready');
    await cluster.delete({ type: CRDS, name: 'readies.example.com' });
  });
});
