import { PAUSED_ANNOTATION } from '../../contract/control.ts';
import type { ResourceType } from '../../contract/controller.ts';
import type { KubernetesList, KubernetesObject } from '../../contract/object.ts';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { found } from '../../kubernetes/errors.ts';
import { resourcePath, type ResourceType as Collection } from '../../kubernetes/paths.ts';
import { FINALIZERS } from '../controllers.ts';

export interface ObjectName {
  readonly type: ResourceType;
  /** Of no meaning where the type is not namespaced. */
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

/** The object as it is now; undefined where there is none. @throws ApiError */
export function readObject(
  client: KubernetesClient,
  object: ObjectName,
  { metadataOnly = false }: Read = {},
): Promise<KubernetesObject | undefined> {
  return found(client.request<KubernetesObject>({ method: 'GET', path: pathOf(object), metadataOnly }));
}

interface Listing extends Read {
  /** Undefined: all. */
  readonly namespace: string | undefined;
  readonly fieldSelector?: string;
  readonly labelSelector?: string | undefined;
}

const PAGE = 500;

/** All of a collection, page after page. @throws ApiError */
export async function listObjects(
  client: KubernetesClient,
  type: Collection,
  { namespace, fieldSelector, labelSelector, metadataOnly = false }: Listing,
): Promise<readonly KubernetesObject[]> {
  const objects: KubernetesObject[] = [];
  const list = {
    method: 'GET',
    path: resourcePath(type, { namespace }),
    metadataOnly: metadataOnly && 'list',
  } as const;
  let next: string | undefined;
  do {
    const query = { fieldSelector, labelSelector, limit: PAGE, continue: next };
    const page: KubernetesList = await client.request({ ...list, query });
    objects.push(...(page.items ?? []));
    next = page.metadata.continue === '' ? undefined : page.metadata.continue;
  } while (next !== undefined);
  return objects;
}

/** The finalizers that hold an object, where none of them is the operator's. */
export function heldByOthers({ metadata: { finalizers = [] } }: KubernetesObject): readonly string[] {
  return finalizers.some((each) => FINALIZERS.includes(each)) ? [] : finalizers;
}

/** Whether a Namespace, or another object, is paused. */
export function isPaused({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
}
