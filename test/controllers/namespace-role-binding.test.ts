import { describe, expect, it } from '@jest/globals';
import type { ObjectMeta } from '../../src/contract/object.ts';
import { namespaceRoleBinding } from '../../src/controllers/namespace-role-binding/controller.ts';
import {
  bindingState,
  decideRoleBinding,
  namespaceState,
  wantedRoleBinding,
  type BindingState,
  type NamespaceState,
  type RoleBinding,
  type RoleBindingOptions,
  type RoleBindingStep,
} from '../../src/controllers/namespace-role-binding/decide.ts';
import { parseLabelSelector } from '../../src/controllers/label-selector.ts';

const DEFAULTS: RoleBindingOptions = {
  clusterRole: 'edit',
  prefix: 'ad-kubernetes-',
  namespaceSelector: [],
  excludeNamespaces: ['kube-system'],
};

function aNamespace(fields: Partial<ObjectMeta> = {}): ObjectMeta {
  return { name: 'team-1', uid: 'uid-1', resourceVersion: '7', ...fields };
}

/** As wanted and ours, unless told otherwise. */
function aBinding(fields: Partial<RoleBinding> = {}, metadata: Partial<ObjectMeta> = {}): RoleBinding {
  const wanted = wantedRoleBinding('team-1', DEFAULTS);
  const identity = { uid: 'uid-2', resourceVersion: '8' };
  return { ...wanted, ...fields, metadata: { ...wanted.metadata, ...identity, ...metadata } };
}

const FOREIGN = { labels: { app: 'other' } };
const ADMIN = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' };
const group = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name });

describe('the role binding of a namespace', () => {
  it('binds the group of its name to edit, and carries our label', () => {
    expect(wantedRoleBinding('team-1', DEFAULTS)).toEqual({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: {
        name: 'ad-kubernetes-team-1',
        namespace: 'team-1',
        labels: { 'app.kubernetes.io/managed-by': 'durable-operator' },
      },
      subjects: [{ kind: 'Group', name: 'ad-kubernetes-team-1', apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
    });
  });

  it('has the prefix and the ClusterRole that the options say', () => {
    const options = { ...DEFAULTS, prefix: 'team:', clusterRole: 'view' };
    expect(wantedRoleBinding('a', options)).toMatchObject({
      metadata: { name: 'team:a' },
      subjects: [{ name: 'team:a' }],
      roleRef: { name: 'view' },
    });
  });
});

describe('a namespace', () => {
  const selecting = (text: string) => ({ ...DEFAULTS, namespaceSelector: parseLabelSelector(text) });

  it.each<[rule: string, namespace: ObjectMeta, options: RoleBindingOptions, state: NamespaceState]>([
    ['is selected by default', aNamespace(), DEFAULTS, 'selected'],
    ['is not selected where it is excluded', aNamespace({ name: 'kube-system' }), DEFAULTS, 'unselected'],
    ['is selected by its labels', aNamespace({ labels: { team: 'a' } }), selecting('team=a'), 'selected'],
    ['is not selected without them', aNamespace(), selecting('team=a'), 'unselected'],
    [
      'that terminates is so whatever else',
      aNamespace({ name: 'kube-system', deletionTimestamp: '2026-11-21T00:00:00Z' }),
      DEFAULTS,
      'terminating',
    ],
  ])('%s', (_, namespace, options, state) => {
    expect(namespaceState(namespace, options)).toBe(state);
  });
});

describe('a binding that is there', () => {
  it.each<[rule: string, binding: RoleBinding | undefined, state: BindingState]>([
    ['is absent where there is none', undefined, 'absent'],
    ['is being deleted', aBinding({}, { deletionTimestamp: '2026-11-21T00:00:00Z' }), 'being-deleted'],
    ['is as wanted and ours', aBinding(), 'as-wanted-and-ours'],
    ['is as wanted, whoever made it', aBinding({}, FOREIGN), 'as-wanted'],
    ['has other subjects', aBinding({ subjects: [group('others')] }), 'ours-with-other-subjects'],
    [
      'has other subjects where one was added',
      aBinding({ subjects: [group('ad-kubernetes-team-1'), group('others')] }),
      'ours-with-other-subjects',
    ],
    ['has other subjects where it has none', aBinding({ subjects: [] }), 'ours-with-other-subjects'],
    ['has another role', aBinding({ roleRef: ADMIN }), 'ours-with-other-role'],
    [
      'has another role, whatever its subjects',
      aBinding({ roleRef: ADMIN, subjects: [] }),
      'ours-with-other-role',
    ],
    [
      'has another role where it is a Role of that name',
      aBinding({ roleRef: { ...ADMIN, kind: 'Role', name: 'edit' } }),
      'ours-with-other-role',
    ],
    ['is foreign where it differs and is not ours', aBinding({ roleRef: ADMIN }, FOREIGN), 'foreign'],
    [
      'is foreign where somebody else manages it',
      aBinding({ subjects: [] }, { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }),
      'foreign',
    ],
  ])('%s', (_, binding, state) => {
    expect(bindingState(binding, 'team-1', DEFAULTS)).toBe(state);
  });
});

describe('what is done', () => {
  const STATES: readonly BindingState[] = [
    'absent',
    'being-deleted',
    'as-wanted',
    'as-wanted-and-ours',
    'ours-with-other-subjects',
    'ours-with-other-role',
    'foreign',
  ];
  const steps = (namespace: NamespaceState) =>
    Object.fromEntries(STATES.map((binding) => [binding, decideRoleBinding(namespace, binding)]));
  const ALWAYS_NOTHING = Object.fromEntries(
    STATES.map((state) => [state, 'nothing' satisfies RoleBindingStep]),
  );

  it('in a terminating namespace is nothing at all', () => {
    expect(steps('terminating')).toEqual(ALWAYS_NOTHING);
  });

  it('in a namespace that is not selected is to release what is ours', () => {
    expect(steps('unselected')).toEqual({
      ...ALWAYS_NOTHING,
      'as-wanted-and-ours': 'release',
      'ours-with-other-subjects': 'release',
      'ours-with-other-role': 'release',
    });
  });

  it('in a selected namespace is to put back what is ours, and to refuse what is foreign', () => {
    expect(steps('selected')).toEqual({
      ...ALWAYS_NOTHING,
      absent: 'create',
      'ours-with-other-subjects': 'correct-subjects',
      'ours-with-other-role': 'replace',
      foreign: 'refuse',
    });
  });
});

describe('what the watcher knows', () => {
  const controller = namespaceRoleBinding(DEFAULTS);
  const namespace = controller.primary.project({ metadata: aNamespace() });

  it('of a binding of the name that is wanted is its state', () => {
    expect(controller.children[0]?.project(aBinding())).toEqual({
      key: 'team-1/ad-kubernetes-team-1',
      belongsTo: 'team-1',
      uid: 'uid-2',
      resourceVersion: '8',
      state: 'as-wanted-and-ours',
    });
  });

  it('of a binding of any other name is nothing', () => {
    expect(controller.children[0]?.project(aBinding({}, { name: 'admins' }))).toBeUndefined();
  });

  it('asks for a run where the binding is missing', () => {
    if (namespace === undefined) throw new Error('every Namespace is of interest');
    expect(controller.needsWork(namespace, [])).toEqual({
      needsWork: true,
      reason: 'the namespace has no role binding',
      seen: { step: 'create' },
    });
  });

  it('asks for permission to bind the configured ClusterRole alone', () => {
    const { permissions } = namespaceRoleBinding({ ...DEFAULTS, clusterRole: 'view' });
    const binds = permissions.filter(({ verbs }) => verbs.includes('bind'));
    expect(binds).toEqual([
      {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['clusterroles'],
        verbs: ['bind'],
        resourceNames: ['view'],
      },
    ]);
  });
});
