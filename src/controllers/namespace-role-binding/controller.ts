import {
  allow,
  CLUSTER_ROLES,
  defineController,
  labelSelectorText,
  MANAGED_BY_LABEL,
  matchesLabels,
  NAMESPACES,
  ROLE_BINDINGS,
  withOptions,
} from '../../api/index.ts';
import type { Advice, Cause, Ignored, KubernetesObject, ObjectMeta, Decision } from '../../api/index.ts';
import type { NextOf, NamespacedName } from '../../api/index.ts';
import { bindingView, desiredRoleBinding, OUR_LABEL, type BindingView } from './binding.ts';
import { ROLE_BINDING_OPTIONS, type RoleBindingOptions } from './options.ts';

/** What a Namespace calls for. */
export type NamespaceState = 'terminating' | 'unselected' | 'selected';

/** Gives the directory group of each namespace's team `edit` in that namespace, by a RoleBinding. */
export const namespaceRoleBinding = withOptions(ROLE_BINDING_OPTIONS, namespaceRoleBindingWith);

function namespaceRoleBindingWith(options: RoleBindingOptions) {
  const { roleBindingClusterRole: clusterRole, roleBindingPrefix: prefix } = options;
  const nameFor = ({ name }: NamespacedName) => ({
    type: ROLE_BINDINGS,
    namespace: name,
    name: prefix + name,
  });
  return defineController({
    name: 'namespace-role-binding',
    summary: "binds its team's group to a ClusterRole",
    for: { ...NAMESPACES, metadataOnly: true },
    view: ({ metadata }) => namespaceState(metadata, options),
    owns: [
      {
        ...ROLE_BINDINGS,
        nameFor: nameFor,
        ownerOf: ({ metadata: { namespace } }) => (namespace === undefined ? undefined : { name: namespace }),
        view: (binding) => bindingView(binding, options),
      },
    ],
    steps: {
      createRoleBinding: {
        summary: "give the namespace's team its role",
        // A create meets AlreadyExists where there is a binding after all; but access must not be given back from a stale view.
        reads: 'resource',
        async run({ kube, resource: { metadata } }) {
          await kube.create(ROLE_BINDINGS, desiredRoleBinding(metadata.name, options));
          const message = `created RoleBinding ${nameFor(metadata).name} to ClusterRole ${clusterRole}`;
          return { message: message, event: { reason: 'Created', action: 'Create' } };
        },
      },
      updateRoleBinding: {
        summary: 'restore the subjects',
        async run({ kube, resource: { metadata } }, { resourceVersion }: BindingView) {
          const { subjects } = desiredRoleBinding(metadata.name, options);
          await kube.patch(nameFor(metadata), { metadata: { resourceVersion }, subjects });
          const message = `restored the subjects of RoleBinding ${nameFor(metadata).name}`;
          return { message: message, event: { reason: 'Restored', action: 'Update' } };
        },
      },
      replaceRoleBinding: {
        // RBAC documentation, "Changing roleRef".
        summary: 'restore the role, by delete and create: roleRef is immutable',
        deletes: ({ resource: { metadata } }, { uid }: BindingView) => ({
          ...{ what: 'RoleBinding', count: 1 },
          objects: () => [{ ...nameFor(metadata), uid }],
        }),
        async run({ kube, resource: { metadata }, progress }, { uid, resourceVersion, role }: BindingView) {
          const desired = desiredRoleBinding(metadata.name, options);
          await kube.dryRunCreate(ROLE_BINDINGS, desired);
          await kube.delete(nameFor(metadata), { uid, resourceVersion });
          progress(`deleted RoleBinding ${desired.metadata.name}`);
          await kube.create(ROLE_BINDINGS, desired);
          const message = `replaced RoleBinding ${desired.metadata.name}, which referred to ${role}`;
          return { message: message, event: { reason: 'Replaced', action: 'Replace' } };
        },
      },
      releaseRoleBinding: {
        summary: 'stop managing the RoleBinding, and leave it in place',
        async run({ kube, resource: { metadata } }, { resourceVersion }: BindingView) {
          const labels = { [MANAGED_BY_LABEL]: null };
          await kube.patch(nameFor(metadata), { metadata: { resourceVersion, labels } });
          const message = `released RoleBinding ${nameFor(metadata).name}: the namespace is no longer selected`;
          return { message: message, event: { reason: 'Released', action: 'Release' } };
        },
      },
    },
    decide({ resource: { metadata, view }, owned: [binding] }, next) {
      const place = { namespace: metadata.name, name: nameFor(metadata).name };
      if (view === 'terminating') return next.converged('the namespace is being deleted');
      if (view === 'unselected') return release(binding, place, next);
      if (binding === undefined) return next.do.createRoleBinding('the namespace has no RoleBinding');
      return restore(binding, place, next);
    },
    interruptOn: ({ resource: { view } }) => [`namespace ${view}`],
    messages: {
      desired: ({ object: { metadata } }) =>
        `RoleBinding ${nameFor(metadata).name}: Group ${nameFor(metadata).name} has ClusterRole ${clusterRole}`,
      current: ({ object: { metadata }, owned: [binding] }) => whatIsThere(nameFor(metadata).name, binding),
      ignored: (namespace) => ignored(namespace, options),
      gone: 'the namespace is gone',
    },
    permissions: [
      allow(ROLE_BINDINGS, ['create', 'patch', 'delete']),
      allow(CLUSTER_ROLES, ['bind'], { names: [clusterRole] }),
    ],
  });
}

function namespaceState(namespace: ObjectMeta, options: RoleBindingOptions): NamespaceState {
  if (namespace.deletionTimestamp !== undefined) return 'terminating';
  if (options.excludeNamespaces.includes(namespace.name)) return 'unselected';
  return matchesLabels(options.namespaceSelector, namespace.labels ?? {}) ? 'selected' : 'unselected';
}

type Next = NextOf<{
  readonly updateRoleBinding: BindingView;
  readonly replaceRoleBinding: BindingView;
  readonly releaseRoleBinding: BindingView;
}>;

function release(binding: BindingView | undefined, place: Required<NamespacedName>, next: Next): Decision {
  if (!binding?.state.includes('ours')) return next.converged('no update required');
  // Any change of a binding counts as granting its role, and the operator may grant only its own.
  if (binding.state === 'ours, with another role')
    return next.stalled(cannotRelease(binding, place), { action: 'Release' });
  return next.do.releaseRoleBinding('the namespace is no longer selected', binding);
}

function restore(binding: BindingView, place: Required<NamespacedName>, next: Next): Decision {
  switch (binding.state) {
    // Its deletion is an event of its own, and then it is created again.
    case 'being deleted':
    case 'up to date':
    case 'ours, up to date':
      return next.converged('no update required');
    case 'ours, with other subjects':
      return next.do.updateRoleBinding('the subjects of the RoleBinding were changed', binding);
    case 'ours, with another role':
      return next.do.replaceRoleBinding(`the RoleBinding refers to ${binding.role}`, binding);
    case 'foreign':
      return next.stalled(foreign(place), { action: 'Bind' });
  }
}

function cannotRelease({ role }: BindingView, place: Required<NamespacedName>): Cause {
  const { namespace, name } = place;
  return {
    reason: 'ForeignRoleBinding',
    message: `the operator cannot release RoleBinding ${namespace}/${name}: somebody changed its role to ${role}, which the operator may not grant`,
    advice: [
      `remove its label ${MANAGED_BY_LABEL} to keep it, or delete it`,
      ...toChange(place, `${MANAGED_BY_LABEL}-`, 'keep it, without the operator'),
    ],
  };
}

function foreign(place: Required<NamespacedName>): Cause {
  const { namespace, name } = place;
  return {
    reason: 'ForeignRoleBinding',
    message: `RoleBinding ${namespace}/${name} has other subjects or another role, and the operator does not manage it`,
    advice: [
      `label it ${OUR_LABEL}, or delete it: Group ${name} then gets its access, and everybody else in that RoleBinding loses theirs`,
      ...toChange(place, OUR_LABEL, 'let the operator change it'),
    ],
  };
}

function toChange(
  { namespace, name }: Required<NamespacedName>,
  label: string,
  to: string,
): readonly Advice[] {
  const binding = `rolebinding ${name} -n ${namespace}`;
  return [
    { run: `kubectl get ${binding} -o yaml`, to: 'show who has access through it' },
    { run: `kubectl label ${binding} ${label}`, to },
    { run: `kubectl delete ${binding}`, to: 'end that access' },
  ];
}

function whatIsThere(name: string, binding: BindingView | undefined): string {
  switch (binding?.state) {
    case undefined:
      return `no RoleBinding ${name}`;
    case 'being deleted':
      return `RoleBinding ${name}, which is being deleted`;
    case 'up to date':
      return 'that RoleBinding, which somebody else manages';
    case 'ours, up to date':
      return 'that RoleBinding';
    case 'ours, with other subjects':
      return `RoleBinding ${name}, with other subjects`;
    case 'ours, with another role':
      return `RoleBinding ${name}, to ${binding.role}`;
    case 'foreign':
      return `RoleBinding ${name} to ${binding.role}, which the operator does not manage`;
  }
}

/** One that left the selector may still have to be released: its binding says so, not the namespace. */
function ignored({ metadata }: KubernetesObject, options: RoleBindingOptions): Ignored | undefined {
  const { excludeNamespaces, namespaceSelector } = options;
  if (namespaceState(metadata, options) !== 'unselected') return undefined;
  return excludeNamespaces.includes(metadata.name)
    ? {
        message:
          'namespace-role-binding leaves this namespace out (--exclude-namespaces); other controllers work in it',
        advice: ['remove it from --exclude-namespaces, and restart the operator'],
      }
    : {
        message: `the labels of the namespace do not match ${labelSelectorText(namespaceSelector)} (--namespace-selector)`,
        advice: ['give the namespace these labels; that is noticed at once'],
      };
}
