import { allow, RECORD_EVENTS, type Controller } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { controlOf } from '../control/annotations.ts';
import { CLUSTER_ROLES, NAME_MAX, NAMESPACES, ROLE_BINDINGS } from '../kinds.ts';
import { startOf } from '../../contract/text.ts';
import {
  bindingNameFor,
  bindingState,
  decideRoleBinding,
  namespaceState,
  type BindingView,
  type NamespaceView,
  type Observation,
  type RoleBinding,
  type RoleBindingOptions,
  type RoleBindingStep,
} from './decide.ts';
import { roleBindingWords } from './words.ts';

export type NamespaceRoleBinding = Controller<NamespaceView, BindingView, Observation, RoleBindingStep>;

/** Gives the directory group of each namespace's team `edit` in that namespace, by a RoleBinding. */
export function namespaceRoleBinding(options: RoleBindingOptions): NamespaceRoleBinding {
  return {
    name: 'namespace-role-binding',
    workflowType: 'namespaceRoleBinding',
    summary: (ref) => `Namespace ${ref.name}: binds its team's group to a ClusterRole`,
    words: roleBindingWords(options),
    steps: {
      createRoleBinding: "give the namespace's team its role",
      updateRoleBinding: 'restore the subjects',
      replaceRoleBinding: 'restore the role, by delete and create: roleRef is immutable',
      releaseRoleBinding: 'stop managing the RoleBinding, and leave it in place',
    },
    primary: {
      type: NAMESPACES,
      metadataOnly: true,
      view: (namespace) => namespaceView(namespace, options),
    },
    children: [
      {
        type: ROLE_BINDINGS,
        view: (binding) => bindingView(binding, options),
        ownerKey: ({ metadata }) => metadata.namespace,
      },
    ],
    observation: (namespace, [binding]) => observationOf(namespace, binding, options),
    decide: decideRoleBinding,
    control: ({ namespace }) => namespace.control,
    inputs: ({ namespace }) => [`namespace ${namespace.state}`],
    permissions: [
      allow(NAMESPACES, ['get']),
      allow(ROLE_BINDINGS, ['get', 'create', 'patch', 'delete']),
      allow(CLUSTER_ROLES, ['bind'], { names: [options.clusterRole] }),
      RECORD_EVENTS,
    ],
  };
}

export function observationOf(
  namespace: NamespaceView,
  binding: BindingView | undefined,
  options: RoleBindingOptions,
): Observation {
  return { namespace, binding, bindingName: bindingNameFor(namespace.name, options) };
}

export function namespaceView(object: KubernetesObject, options: RoleBindingOptions): NamespaceView {
  const { metadata } = object;
  const { name, resourceVersion } = metadata;
  const control = controlOf(object);
  return { name, resourceVersion, state: namespaceState(metadata, options), ...(control && { control }) };
}

/** Undefined where it is not the one with our name. */
export function bindingView(object: KubernetesObject, options: RoleBindingOptions): BindingView | undefined {
  const { namespace = '', name, uid, resourceVersion } = object.metadata;
  if (name !== bindingNameFor(namespace, options) || !isRoleBinding(object)) return undefined;
  const { kind, name: role } = object.roleRef;
  const state = bindingState(object, namespace, options);
  return { uid, resourceVersion, state, role: `${kind} ${startOf(role, NAME_MAX)}` };
}

/** The API server's schema requires `roleRef`; only its kind is left to see. */
function isRoleBinding(object: KubernetesObject): object is RoleBinding {
  return typeof object['roleRef'] === 'object' && object['roleRef'] !== null;
}
