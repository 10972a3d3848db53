import { definedReconciler } from '../../../activities/defined-reconciler.ts';
import { definedController } from '../../../src/engine/defined-controller.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import {
  CLUSTER_ROLES,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  NAMESPACES,
  ROLE_BINDINGS,
} from '../../../src/api/kinds.ts';
import { parseLabelSelector } from '../../../src/api/label-selector.ts';
import { namespaceRoleBinding } from '../../../src/controllers/namespace-role-binding/controller.ts';
import {
  bindingState,
  desiredRoleBinding,
  type RoleBinding,
} from '../../../src/controllers/namespace-role-binding/binding.ts';
import { statusAnswer } from '../../../testing/explorer/api-server.ts';
import { activityOf } from '../../../testing/explorer/attempt.ts';
import { objectKey, type SimulatedCluster, type Created } from '../../../testing/explorer/cluster.ts';
import { wrongIn, type Move, type World } from '../../../testing/explorer/world.ts';
import { withValues } from '../../../src/engine/bound.ts';
import type { RoleBindingOptions } from '../../../src/controllers/namespace-role-binding/options.ts';

const OPTIONS: RoleBindingOptions = {
  roleBindingClusterRole: 'edit',
  roleBindingPrefix: 'ad-kubernetes-',
  namespaceSelector: parseLabelSelector('team'),
  excludeNamespaces: [],
};
const TEAM = objectKey(NAMESPACES, 'shop');
const BINDING = objectKey(ROLE_BINDINGS, 'ad-kubernetes-shop');
const DESIRED = desiredRoleBinding('shop', OPTIONS);

const IS_TO_BE_RELEASED: ReadonlySet<string> = new Set(['ours, up to date', 'ours, with other subjects']);

/** One namespace that is to have a role binding. */
export const ROLE_BINDING_WORLD: World = {
  controller: definedController(withValues(namespaceRoleBinding, OPTIONS)),
  activity: activityOf((client) => definedReconciler(withValues(namespaceRoleBinding, OPTIONS), client)),
  types: [NAMESPACES, CLUSTER_ROLES, { ...ROLE_BINDINGS, refuse: (_, cluster) => refusalIn(cluster) }],
  objects: [[NAMESPACES, { metadata: { name: 'shop', uid: 'uid-of-shop', labels: { team: 'shop' } } }]],
  others: {
    select: (cluster) => {
      if (cluster.get(TEAM) === undefined) return [];
      const isSelected = cluster.get(TEAM)?.metadata.labels?.['team'] !== undefined;
      const labels: Record<string, string> = isSelected ? {} : { team: 'shop' };
      return [
        {
          what: isSelected ? 'the namespace leaves the selector' : 'the namespace is selected',
          change: (it) => it.changeMetadata(TEAM, () => ({ labels })),
        },
      ];
    },
    edit: (cluster) => (cluster.get(BINDING) === undefined ? [] : EDITS),
    create: (cluster) =>
      canCreate(cluster) ? [create('somebody creates a binding of our name', FOREIGN)] : [],
    remove: (cluster) =>
      cluster.get(BINDING) === undefined
        ? []
        : [{ what: 'somebody deletes the binding', change: (it) => it.remove(BINDING) }],
    end: (cluster) =>
      cluster.get(TEAM) === undefined || isTerminating(cluster)
        ? []
        : [{ what: 'the namespace is deleted', change: (it) => it.markDeleted(TEAM, ['kubernetes']) }],
  },
  happenings: (cluster) => {
    if (!isTerminating(cluster)) return [];
    const key = cluster.get(BINDING) === undefined ? TEAM : BINDING;
    return [{ what: `${key} is gone`, change: (it) => it.remove(key) }];
  },
  needsApproval: () => true,
  violation: (_, cluster) => {
    const binding = cluster.get<RoleBinding>(BINDING);
    const isForeign = binding !== undefined && bindingState(binding, 'shop', OPTIONS) === 'foreign';
    return isForeign ? 'the role binding of somebody else is written' : undefined;
  },
  shortcomings: (cluster) => {
    const namespace = cluster.get(TEAM);
    if (namespace === undefined || isTerminating(cluster)) return [];
    const binding = cluster.get<RoleBinding>(BINDING);
    const state = binding && bindingState(binding, 'shop', OPTIONS);
    const isSelected = namespace.metadata.labels?.['team'] !== undefined;
    return wrongIn({
      'the role binding is missing': isSelected && binding === undefined,
      [`the role binding is ${String(state)}`]: isSelected && state?.startsWith('ours, with') === true,
      // Where it has another role, RBAC lets nobody of us release it.
      'the role binding is still ours': !isSelected && IS_TO_BE_RELEASED.has(String(state)),
    });
  },
};

const OTHER_SUBJECTS = [{ kind: 'User', name: 'somebody', apiGroup: 'rbac.authorization.k8s.io' }];
const OTHER_ROLE = { ...DESIRED.roleRef, name: 'admin' };
const FOREIGN: Created = {
  ...DESIRED,
  metadata: { name: DESIRED.metadata.name, namespace: 'shop' },
  roleRef: OTHER_ROLE,
};

const EDITS: readonly Move[] = [
  {
    what: 'somebody edits the subjects',
    change: (cluster) => cluster.change(BINDING, (binding) => ({ ...binding, subjects: OTHER_SUBJECTS })),
  },
  {
    what: 'somebody edits the subjects and takes our label away',
    change: (cluster) => {
      cluster.change(BINDING, (binding) => ({ ...unlabelled(binding), subjects: OTHER_SUBJECTS }));
    },
  },
  {
    what: 'somebody replaces the binding by one to another role',
    change: (cluster) => {
      cluster.remove(BINDING);
      cluster.create(ROLE_BINDINGS, {
        ...FOREIGN,
        metadata: { ...FOREIGN.metadata, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } },
      });
    },
  },
];

function unlabelled(object: KubernetesObject): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, labels: {} } };
}

function create(what: string, object: Created): Move {
  return { what, change: (cluster) => cluster.create(ROLE_BINDINGS, object) };
}

function canCreate(cluster: SimulatedCluster): boolean {
  return cluster.get(BINDING) === undefined && refusalIn(cluster) === undefined;
}

function isTerminating(cluster: SimulatedCluster): boolean {
  return cluster.get(TEAM)?.metadata.deletionTimestamp !== undefined;
}

function refusalIn(cluster: SimulatedCluster) {
  if (cluster.get(TEAM) === undefined)
    return statusAnswer(404, { reason: 'NotFound', details: { name: 'shop', kind: 'namespaces' } });
  if (!isTerminating(cluster)) return undefined;
  const causes = [{ reason: 'NamespaceTerminating' }];
  return statusAnswer(403, { reason: 'Forbidden', details: { name: 'shop', causes } });
}
