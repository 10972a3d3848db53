import { digestOf } from './digest.ts';
import type { KubernetesObject, OwnerReference } from './object.ts';

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

/** As many characters as the name of a Service or a Job may have, and the value of a label. */
const NAME_MAX = 63;
const HASH_LENGTH = 10;

/**
 * The name of an object that belongs to another one: `web-backup`. Where that would be too long, the name of the other one is cut off, and
 * a hash keeps them apart: the same name each time, and another one for each parent.
 *
 * @param parent the name of the other one
 * @param suffix what the object is
 * @param max how long it may be. Default: 63, as a Service, a Job or the value of a label; most names of other types may have 253
 * @example
 * const name = childName(resource.metadata.name, 'backup');
 */
export function childName(parent: string, suffix: string, max: number = NAME_MAX): string {
  const name = `${parent}-${suffix}`;
  if (name.length <= max) return name;
  const end = `-${digestOf(name).slice(0, HASH_LENGTH)}`;
  const isShort = suffix.length + end.length + 1 < max;
  const kept = isShort ? `${end}-${suffix}` : end;
  return name.slice(0, max - kept.length).replace(/[^a-zA-Z0-9]+$/, '') + kept;
}
