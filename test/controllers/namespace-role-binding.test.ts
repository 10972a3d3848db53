import { describe, expect, it } from '@jest/globals';
import type { ObjectMeta } from '../../src/api/object.ts';
import type { DefinedView } from '../../src/engine/view.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import {
  bindingState,
  desiredRoleBinding,
  type BindingState,
  type RoleBinding,
} from '../../src/controllers/namespace-role-binding/binding.ts';
import {
  namespaceRoleBinding,
  type NamespaceState,
} from '../../src/controllers/namespace-role-binding/controller.ts';
import { parseLabelSelector } from '../../src/api/label-selector.ts';
import { withValues } from '../../src/engine/bound.ts';
import type { RoleBindingOptions } from '../../src/controllers/namespace-role-binding/options.ts';

const DEFAULTS: RoleBindingOptions = {
  roleBindingClusterRole: 'edit',
  roleBindingPrefix: 'ad-kubernetes-',
  namespaceSelector: [],
  excludeNamespaces: ['kube-system'],
};

/** As the watcher keeps a namespace that is in this state. */
function inState(state: NamespaceState): DefinedView {
  const { primary } = definedController({ ...namespaceRoleBinding, view: () => state });
  const view = primary.view({ metadata: aNamespace() });
  if (view === undefined) throw new Error('it is of no interest');
  return view;
}

function aNamespace(fields: Partial<ObjectMeta> = {}): ObjectMeta {
  return { name: 'team-1', uid: 'uid-1', resourceVersion: '7', ...fields };
}

/** Up to date and ours, where nothing else is said. */
function aBinding(fields: Partial<RoleBinding> = {}, metadata: Partial<ObjectMeta> = {}): RoleBinding {
  const desired = desiredRoleBinding('team-1', DEFAULTS);
  const identity = { uid: 'uid-2', resourceVersion: '8' };
  return { ...desired, ...fields, metadata: { ...desired.metadata, ...identity, ...metadata } };
}

const { metadata: METADATA, roleRef: ROLE_REF } = aBinding();
const WITHOUT_SUBJECTS: RoleBinding = { metadata: METADATA, roleRef: ROLE_REF };
const WITHOUT_LABELS = {
  ...aBinding(),
  metadata: { name: METADATA.name, namespace: 'team-1', uid: 'uid-2', resourceVersion: '8' },
};
const FOREIGN = { labels: { app: 'other' } };
const ADMIN = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' };
const TEAM = 'ad-kubernetes-team-1';
const group = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name });

describe('the role binding of a namespace', () => {
  it('binds the group of its name to edit, and carries our label', () => {
    expect(desiredRoleBinding('team-1', DEFAULTS)).toEqual({
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
    const options = { ...DEFAULTS, roleBindingPrefix: 'team:', roleBindingClusterRole: 'view' };
    expect(desiredRoleBinding('a', options)).toMatchObject({
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
      'that is being deleted is nothing else',
      aNamespace({ name: 'kube-system', deletionTimestamp: '2026-11-21T00:00:00Z' }),
      DEFAULTS,
      'terminating',
    ],
  ])('%s', (_, namespace, options, state) => {
    const controller = definedController(withValues(namespaceRoleBinding, options));
    expect(controller.primary.view({ metadata: namespace })).toMatchObject({ resource: { view: state } });
  });
});

describe('a binding that is there', () => {
  it.each<[rule: string, binding: RoleBinding, state: BindingState]>([
    ['is being deleted', aBinding({}, { deletionTimestamp: '2026-11-21T00:00:00Z' }), 'being deleted'],
    ['is ours and up to date', aBinding(), 'ours, up to date'],
    ['is up to date, whoever made it', aBinding({}, FOREIGN), 'up to date'],
    ['has other subjects', aBinding({ subjects: [group('others')] }), 'ours, with other subjects'],
    [
      'has other subjects where one was added',
      aBinding({ subjects: [group('ad-kubernetes-team-1'), group('others')] }),
      'ours, with other subjects',
    ],
    ['has other subjects where it has none', aBinding({ subjects: [] }), 'ours, with other subjects'],
    ['has other subjects where it names none', WITHOUT_SUBJECTS, 'ours, with other subjects'],
    [
      'has other subjects where it is a User of that name',
      aBinding({ subjects: [{ ...group(TEAM), kind: 'User' }] }),
      'ours, with other subjects',
    ],
    [
      'has other subjects where it is of another API group',
      aBinding({ subjects: [{ ...group(TEAM), apiGroup: 'other.io' }] }),
      'ours, with other subjects',
    ],
    [
      'has other subjects where it is of a namespace',
      aBinding({ subjects: [{ ...group(TEAM), namespace: 'team-1' }] }),
      'ours, with other subjects',
    ],
    [
      'is up to date where the namespace of its subject is empty',
      aBinding({ subjects: [{ ...group(TEAM), namespace: '' }] }),
      'ours, up to date',
    ],
    [
      'has another role where that is of another API group',
      aBinding({ roleRef: { ...ADMIN, name: 'edit', apiGroup: 'other.io' } }),
      'ours, with another role',
    ],
    ['is not ours where it has no labels', WITHOUT_LABELS, 'up to date'],
    ['has another role', aBinding({ roleRef: ADMIN }), 'ours, with another role'],
    [
      'has another role, whatever its subjects',
      aBinding({ roleRef: ADMIN, subjects: [] }),
      'ours, with another role',
    ],
    [
      'has another role where it is a Role of that name',
      aBinding({ roleRef: { ...ADMIN, kind: 'Role', name: 'edit' } }),
      'ours, with another role',
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
    'being deleted',
    'up to date',
    'ours, up to date',
    'ours, with other subjects',
    'ours, with another role',
    'foreign',
  ];
  const controller = definedController(namespaceRoleBinding);
  const decide = (state: NamespaceState | 'gone', binding?: BindingState) => {
    if (state === 'gone') return controller.decide('gone', 0);
    const view = binding && { uid: 'uid-2', resourceVersion: '8', state: binding, role: 'ClusterRole admin' };
    const owned = view === undefined ? [] : [{ uid: 'uid-2', view }];
    return controller.decide(controller.observation(inState(state), owned, aNamespace()), 0);
  };
  const decisions = (state: NamespaceState | 'gone') => ({
    'no binding': decide(state).do,
    ...Object.fromEntries(STATES.map((binding) => [binding, decide(state, binding).do])),
  });
  const NOTHING = Object.fromEntries(['no binding', ...STATES].map((state) => [state, 'converged']));

  it.each(['terminating', 'gone'] as const)('in a namespace that is %s is nothing at all', (state) => {
    expect(decisions(state)).toEqual(NOTHING);
  });

  it.each<[state: NamespaceState | 'gone', binding: BindingState, because: string]>([
    ['gone', 'ours, up to date', 'the namespace is gone'],
    ['terminating', 'ours, up to date', 'the namespace is being deleted'],
    ['unselected', 'up to date', 'no update required'],
    ['unselected', 'ours, up to date', 'the namespace is no longer selected'],
    ['selected', 'ours, up to date', 'no update required'],
    ['selected', 'ours, with other subjects', 'the subjects of the RoleBinding were changed'],
    ['selected', 'ours, with another role', 'the RoleBinding refers to ClusterRole admin'],
  ])('says why: the namespace is %s, and the binding %s', (state, binding, because) => {
    expect(decide(state, binding)).toMatchObject({ because });
  });

  it('in a namespace that is not selected is to release what is ours', () => {
    expect(decisions('unselected')).toEqual({
      ...NOTHING,
      'ours, up to date': 'releaseRoleBinding',
      'ours, with other subjects': 'releaseRoleBinding',
      'ours, with another role': 'stalled',
    });
  });

  it('in a selected namespace is to restore what is ours, and to refuse what is foreign', () => {
    expect(decisions('selected')).toEqual({
      ...NOTHING,
      'no binding': 'createRoleBinding',
      'ours, with other subjects': 'updateRoleBinding',
      'ours, with another role': 'replaceRoleBinding',
      foreign: 'stalled',
    });
  });

  it('to a binding is conditional on the very binding that was observed', () => {
    expect(decide('selected', 'ours, with another role')).toEqual({
      do: 'replaceRoleBinding',
      because: 'the RoleBinding refers to ClusterRole admin',
      data: expect.objectContaining({ uid: 'uid-2', resourceVersion: '8' }),
      deletes: { what: 'RoleBinding', count: 1, objects: expect.any(Function) },
    });
  });

  it('where the binding is foreign is a cause, with commands on that very binding, and an Event', () => {
    const message =
      'RoleBinding team-1/ad-kubernetes-team-1 has other subjects or another role, and the operator does not manage it';
    const label =
      'label it app.kubernetes.io/managed-by=durable-operator, or delete it: Group ad-kubernetes-team-1 then gets its access, ' +
      'and everybody else in that RoleBinding loses theirs';
    const run = 'kubectl delete rolebinding ad-kubernetes-team-1 -n team-1';
    expect(decide('selected', 'foreign')).toMatchObject({
      do: 'stalled',
      reason: 'ForeignRoleBinding',
      message,
      advice: expect.arrayContaining([label, { run, to: 'end that access' }]),
      event: {
        type: 'Warning',
        reason: 'ForeignRoleBinding',
        action: 'Bind',
        note: `${message}; ${label}`,
      },
    });
  });
});

describe('what the watcher keeps', () => {
  const controller = definedController(namespaceRoleBinding);
  const [bindings] = controller.children;

  it('of a namespace is whether it is selected', () => {
    expect(controller.primary.view({ metadata: aNamespace({ labels: { team: 'a' } }) })).toMatchObject({
      resource: { view: 'selected' },
    });
  });

  it('of the binding with our name is its state, and what a write is conditional on', () => {
    expect(bindings?.ownerKey(aBinding())).toBe('team-1');
    expect(bindings?.view(aBinding())).toEqual({
      uid: 'uid-2',
      view: { uid: 'uid-2', resourceVersion: '8', state: 'ours, up to date', role: 'ClusterRole edit' },
    });
  });

  it('of a binding of any other name is nothing', () => {
    expect(bindings?.view(aBinding({}, { name: 'admins' }))).toBeUndefined();
  });

  it.each([undefined, null, 'edit'])('of a binding without a role is nothing: %s', (roleRef) => {
    expect(bindings?.view({ ...aBinding(), roleRef })).toBeUndefined();
  });

  it('is news to an open run where the namespace is selected or not', () => {
    const inputsOf = (state: NamespaceState) =>
      controller.inputs?.(controller.observation(inState(state), [], aNamespace()));
    expect([inputsOf('selected'), inputsOf('unselected')]).toEqual([
      ['namespace selected'],
      ['namespace unselected'],
    ]);
  });

  it('may be decided on with permission to bind the configured ClusterRole alone', () => {
    const { permissions } = definedController(
      withValues(namespaceRoleBinding, { ...DEFAULTS, roleBindingClusterRole: 'view' }),
    );
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
