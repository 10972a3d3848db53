import type { Controller } from '../../engine/controller.ts';
import type { ResourceType } from '../../api/resource-type.ts';
import type { KubernetesList, KubernetesObject } from '../../api/object.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { found, isOf } from '../../kubernetes/errors.ts';
import { resourcePath, type PathType as Collection } from '../../kubernetes/paths.ts';
import { AskProblem } from '../ask.ts';

export interface ObjectName {
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly name: string;
}

interface Read {
  /** Only its `metadata`. Default: the whole object. */
  readonly metadataOnly?: boolean;
}

export function pathOf({ type, namespace, name }: ObjectName): string {
  return resourcePath(type, { name, namespace: type.namespaced ? namespace : undefined });
}

/** The object as it is now; undefined if there is none. @throws ApiError */
export function readObject(
  client: KubernetesClient,
  object: ObjectName,
  { metadataOnly = false }: Read = {},
): Promise<KubernetesObject | undefined> {
  return found(client.request<KubernetesObject>({ method: 'GET', path: pathOf(object), metadataOnly }));
}

interface Listing extends Read {
  readonly namespace: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** From the server's cache and in one page, as a watch begins: much faster, and maybe a moment late. */
  readonly isFromCache?: true;
}

const PAGE = 500;
const LIST_TIMEOUT_MS = 30_000;

export async function listObjects(
  client: KubernetesClient,
  type: Collection,
  { namespace, fieldSelector, labelSelector, metadataOnly = false, isFromCache }: Listing,
): Promise<readonly KubernetesObject[]> {
  const objects: KubernetesObject[] = [];
  let next: string | undefined;
  do {
    const paging = isFromCache ? { resourceVersion: '0' } : { limit: PAGE, continue: next };
    const page = await client.request<KubernetesList>({
      method: 'GET',
      path: resourcePath(type, { namespace }),
      metadataOnly: metadataOnly && 'list',
      query: { fieldSelector, labelSelector, ...paging },
      timeoutMs: LIST_TIMEOUT_MS,
    });
    objects.push(...(page.items ?? []));
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  } while (next !== undefined);
  return objects;
}

/** The finalizers of a resource, if none of them is the operator's. */
export function heldByOthers(
  { finalizer, otherFinalizers = [] }: Pick<Controller, 'finalizer' | 'otherFinalizers'>,
  { metadata: { finalizers = [] } }: KubernetesObject,
): readonly string[] {
  const ours = [finalizer, ...otherFinalizers];
  return finalizers.some((each) => ours.includes(each)) ? [] : finalizers;
}

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

/** Those of a type. @param namespace undefined: all namespaces. @throws ApiError */
export async function listTargets(
  client: KubernetesClient,
  type: ResourceType,
  { namespace, labelSelector }: Pick<Listing, 'namespace' | 'labelSelector'>,
): Promise<readonly LiveTarget[]> {
  const listing = { namespace: type.namespaced ? namespace : undefined, labelSelector, metadataOnly: true };
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
