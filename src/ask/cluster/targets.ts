import type { ResourceType } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { isOf } from '../../kubernetes/errors.ts';
import { AskProblem } from '../ask.ts';
import { listObjects, pathOf, readObject, type ObjectName } from './objects.ts';

/** An object that gets annotations. */
export interface Target extends ObjectName {
  readonly uid: string;
}

export interface LiveTarget extends Target {
  readonly annotations: Readonly<Record<string, string>>;
  readonly resourceVersion: string;
}

/** null removes one. */
export type Annotations = Readonly<Record<string, string | null>>;

/** @throws AskProblem if there is none; ApiError */
export async function readTarget(client: KubernetesClient, target: ObjectName): Promise<LiveTarget> {
  const object = await readObject(client, target, { metadataOnly: true });
  return object === undefined ? missing(target) : targetFrom(object, target.type);
}

export function missing({ type, namespace, name }: ObjectName): never {
  const place = type.namespaced ? ` in namespace ${namespace ?? ''}` : '';
  const check = type.namespaced ? 'check the name and -n' : 'check the name';
  throw new AskProblem(`there is no ${type.kind} ${name}${place}; ${check}`);
}

/** All of a type. @param namespace undefined: all namespaces. @throws ApiError */
export async function listTargets(
  client: KubernetesClient,
  type: ResourceType,
  namespace: string | undefined,
): Promise<readonly LiveTarget[]> {
  const listing = { namespace: type.namespaced ? namespace : undefined, metadataOnly: true };
  return (await listObjects(client, type, listing)).map((object) => targetFrom(object, type));
}

export function targetFrom({ metadata }: KubernetesObject, type: ResourceType): LiveTarget {
  const { namespace, name, uid, resourceVersion, annotations = {} } = metadata;
  return { type, namespace, name, uid, resourceVersion, annotations };
}

/**
 * Writes annotations with the user's own rights, and never to another object of the same name.
 *
 * @param resourceVersion if they are about the object as it was read
 * @returns false if the object is gone, or has changed since
 * @throws ApiError
 */
export async function annotate(
  client: KubernetesClient,
  target: Target,
  annotations: Annotations,
  resourceVersion?: string,
): Promise<boolean> {
  const { uid } = target;
  const metadata = { uid, ...(resourceVersion !== undefined && { resourceVersion }), annotations };
  try {
    await client.request({ method: 'PATCH', path: pathOf(target), body: { metadata }, metadataOnly: true });
    return true;
  } catch (error) {
    if (isOf(error, 'not-found', 'conflict')) return false;
    throw error;
  }
}
