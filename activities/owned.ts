import type { OwnedType, Place, WatchedType } from '../src/api/watched.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { ownedView, ownerKeyOf, type OwnedView } from '../src/controllers/defined/viewed.ts';
import { keyOf } from '../src/controllers/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { REQUEST_TIMEOUT_MS } from './authors-kube.ts';

const how = { timeoutMs: REQUEST_TIMEOUT_MS };

/** Whose objects are read. */
interface Owner {
  readonly type: WatchedType;
  readonly ref: ResourceRef;
}

/** The views of the objects of one type that belong to a resource. @throws ApiError */
export async function readOwned(
  client: KubernetesClient,
  owned: OwnedType<unknown>,
  { type, ref: { namespace, name } }: Owner,
): Promise<readonly OwnedView[]> {
  const place: Place = { name, ...(type.namespaced && { namespace }) };
  const objects = await objectsOf(client, owned, place);
  return objects
    .filter((object) => ownerKeyOf(type, owned, object) === keyOf(place))
    .flatMap((object) => ownedView(owned, object) ?? []);
}

/** As the watch selects them, or each look would see what the watch does not. */
async function objectsOf(
  client: KubernetesClient,
  owned: OwnedType<unknown>,
  place: Place,
): Promise<readonly KubernetesObject[]> {
  const { at, labelSelector, fieldSelector, metadataOnly } = owned;
  const kube = kubeOf(client);
  if (at !== undefined && labelSelector === undefined && fieldSelector === undefined) {
    const object = await kube.get(
      { type: owned, ...at(place) },
      { ...how, ...(metadataOnly && { metadataOnly }) },
    );
    return object === undefined ? [] : [object];
  }
  const its = at?.(place);
  const fields = [
    ...(its === undefined ? [] : [`metadata.name=${its.name}`]),
    ...(fieldSelector === undefined ? [] : [fieldSelector]),
  ];
  const { namespace } = its ?? place;
  const objects = {
    ...{ type: owned, namespace, labelSelector, metadataOnly },
    fieldSelector: fields.length === 0 ? undefined : fields.join(','),
  };
  return kube.list(objects, (object) => object, how);
}
