import type { ResourceType } from '../contract/controller.ts';
import type { ObjectMeta, OwnerReference } from '../contract/object.ts';

/** The types of Kubernetes' own that our controllers watch, read or write. */
export const PODS: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
  shortNames: ['po'],
};
export const NODES: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
};
export const NAMESPACES: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
  shortNames: ['ns'],
};
export const QUOTAS: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'resourcequotas',
  kind: 'ResourceQuota',
  namespaced: true,
};
export const JOBS: ResourceType = {
  group: 'batch',
  version: 'v1',
  plural: 'jobs',
  kind: 'Job',
  namespaced: true,
};
export const EVENTS: ResourceType = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};
export const RBAC_GROUP = 'rbac.authorization.k8s.io';
export const ROLE_BINDINGS: ResourceType = {
  group: RBAC_GROUP,
  version: 'v1',
  plural: 'rolebindings',
  kind: 'RoleBinding',
  namespaced: true,
};
export const CLUSTER_ROLES: ResourceType = {
  group: RBAC_GROUP,
  version: 'v1',
  plural: 'clusterroles',
  kind: 'ClusterRole',
  namespaced: false,
};

/** On what the operator creates, where an owner reference does not say it. */
export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
export const MANAGED_BY = 'durable-operator';
/** What our own annotations and labels begin with. */
export const OUR_PREFIX = 'durable-operator.dev/';

/** The longest name of an object. Source: Kubernetes docs, "Object Names and IDs", DNS subdomains. */
export const NAME_MAX = 253;

/** Whether there may be a Pod or a Node of that name. */
export function isObjectName(name: string): boolean {
  return name.length <= NAME_MAX && DNS_SUBDOMAIN.test(name);
}

const DNS_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** The owner reference whose `controller` is true. */
export function controllerOf({ ownerReferences = [] }: ObjectMeta): OwnerReference | undefined {
  return ownerReferences.find(({ controller }) => controller === true);
}

/** `namespace/name`, or `name` where the object is cluster-scoped: what the watcher knows a resource by. */
export function keyOf({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
