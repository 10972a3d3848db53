import {
  NO_WORK,
  type ChildProjection,
  type Controller,
  type Projection,
} from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import {
  bindingNameFor,
  bindingState,
  decideRoleBinding,
  namespaceState,
  RBAC_API_GROUP,
  type BindingState,
  type NamespaceState,
  type RoleBinding,
  type RoleBindingOptions,
  type RoleBindingStep,
  type SeenNamespace,
} from './decide.ts';

interface NamespaceProjection extends Projection {
  readonly state: NamespaceState;
}

interface BindingProjection extends ChildProjection {
  readonly state: BindingState;
}

/** Gives the directory group of each namespace's team `edit` in that namespace, by a RoleBinding. */
export function namespaceRoleBinding(
  options: RoleBindingOptions,
): Controller<NamespaceProjection, BindingProjection, SeenNamespace> {
  return {
    name: 'namespace-role-binding',
    workflowType: 'namespaceRoleBinding',
    summary: (ref) => `Namespace ${ref.name}: its team's group is bound to a ClusterRole`,
    primary: {
      group: '',
      version: 'v1',
      plural: 'namespaces',
      namespaced: false,
      metadataOnly: true,
      project: ({ metadata }) => ({
        key: metadata.name,
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
        state: namespaceState(metadata, options),
      }),
    },
    children: [
      {
        group: RBAC_API_GROUP,
        version: 'v1',
        plural: 'rolebindings',
        namespaced: true,
        metadataOnly: false,
        project: (object) => projectBinding(object, options),
      },
    ],
    needsWork: (namespace, [binding]) => {
      const step = decideRoleBinding(namespace.state, binding?.state ?? 'absent');
      return step === 'nothing' ? NO_WORK : { needsWork: true, reason: REASONS[step], seen: { step } };
    },
    isNamespaceGoing: ({ state }) => state === 'terminating',
    permissions: [
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
      {
        apiGroups: [RBAC_API_GROUP],
        resources: ['rolebindings'],
        verbs: ['get', 'create', 'patch', 'delete'],
      },
      {
        apiGroups: [RBAC_API_GROUP],
        resources: ['clusterroles'],
        verbs: ['bind'],
        resourceNames: [options.clusterRole],
      },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    ],
  };
}

const REASONS = {
  create: 'the namespace has no role binding',
  'correct-subjects': 'the subjects of the role binding were changed',
  replace: 'the role of the role binding was changed',
  release: 'the namespace is not selected any more',
  refuse: 'a different role binding of that name exists and is not ours',
} as const satisfies Record<Exclude<RoleBindingStep, 'nothing'>, string>;

function projectBinding(
  object: KubernetesObject,
  options: RoleBindingOptions,
): BindingProjection | undefined {
  const { metadata } = object;
  const namespace = metadata.namespace ?? '';
  if (metadata.name !== bindingNameFor(namespace, options) || !isRoleBinding(object)) return undefined;
  return {
    key: `${namespace}/${metadata.name}`,
    belongsTo: namespace,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    state: bindingState(object, namespace, options),
  };
}

/** The API server's schema requires `roleRef`; only its kind is left to see. */
function isRoleBinding(object: KubernetesObject): object is RoleBinding {
  return typeof object['roleRef'] === 'object' && object['roleRef'] !== null;
}
