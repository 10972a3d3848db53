import type { ObjectMeta, OwnerReference } from './object.ts';

export {
  CLUSTER_ROLES,
  EVENTS,
  JOBS,
  NAMESPACES,
  NODES,
  PODS,
  RESOURCE_QUOTAS,
  ROLE_BINDINGS,
} from './built-in.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** On what the operator creates, where an owner reference does not say it. */
export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
export const MANAGED_BY = 'durable-operator';
/** What our own annotations and labels begin with. */
export const OUR_PREFIX = 'durable-operator.dev/';

/** The longest name of an object. Source: Kubernetes docs, "Object Names and IDs", DNS subdomains. */
export const NAME_MAX = 253;

/**
 * Whether there may be an object of that name: a DNS subdomain of at most 253 characters, as most kinds ask for. Check a name that anybody may
 * have written, such as that of a Node in a status, before you ask for the object.
 */
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
