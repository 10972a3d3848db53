import type { NamespacedName, WatchedType } from '../../src/api/watched.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { isListed } from '../../src/engine/owned.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { kubeOf } from '../../src/kubernetes/kube.ts';
import { REQUEST_TIMEOUT_MS } from '../authors-kube.ts';

const how = { timeoutMs: REQUEST_TIMEOUT_MS };

/*
 * Objects are read as the watch selects them, or each look would see what the watch does not.
 */

/** Undefined: there is none, or the selectors of its type leave it out. @throws ApiError */
export async function readWatched(
  client: KubernetesClient,
  type: WatchedType,
  { namespace, name }: NamespacedName,
): Promise<KubernetesObject | undefined> {
  const { fieldSelector, metadataOnly } = type;
  if (!isListed(type))
    return kubeOf(client).get({ type, namespace, name }, { ...how, ...(metadataOnly && { metadataOnly }) });
  // Lists by name, since metadata does not contain what a field selector asks for.
  const named = [`metadata.name=${name}`, ...(fieldSelector === undefined ? [] : [fieldSelector])];
  const selected = { ...type, fieldSelector: named.join(',') };
  const [object] = await listWatched(client, selected, namespace, (object) => object);
  return object;
}

/**
 * All of a namespace, page by page.
 *
 * @param namespace undefined: of the cluster
 * @param viewOf what is kept of an object; undefined: nothing
 * @throws ApiError
 */
export function listWatched<View>(
  client: KubernetesClient,
  type: WatchedType,
  namespace: string | undefined,
  viewOf: (object: KubernetesObject) => View | undefined,
): Promise<readonly View[]> {
  const { fieldSelector, labelSelector, metadataOnly } = type;
  const objects = {
    ...{ type, fieldSelector, labelSelector, metadataOnly },
    ...(type.namespaced && { namespace }),
  };
  return kubeOf(client).list(objects, viewOf, how);
}
