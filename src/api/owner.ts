import type { KubernetesObject, OwnerReference } from '../contract/object.ts';

/**
 * The owner reference of an object that belongs to a resource: Kubernetes deletes it after the resource. For objects in the
 * namespace of the resource; in any namespace, if the resource is cluster-scoped.
 *
 * @throws Error if the resource has no apiVersion or kind, as an item of a list
 * @example
 * await kube.create(JOBS, { metadata: { name, namespace, ownerReferences: [controllerReference(resource)] }, spec });
 */
export function controllerReference(resource: KubernetesObject): OwnerReference {
  const { apiVersion, kind, metadata } = resource;
  const { name, uid } = metadata;
  if (apiVersion === undefined || kind === undefined)
    throw new Error(`object ${name} has no apiVersion or kind`);
  // No `blockOwnerDeletion`: some clusters demand a further right for it.
  return { apiVersion, kind, name, uid, controller: true };
}
