import { isLabelValue } from '../src/api/label-selector.ts';
import type { OwnedType, NamespacedName, WatchedType } from '../src/api/watched.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { ownedView, ownerKeyByType, type OwnedView } from '../src/controllers/defined/owned.ts';
import { keyOf } from '../src/controllers/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { listWatched, readWatched } from './watched.ts';

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
  const place: NamespacedName = { name, ...(type.namespaced && { namespace }) };
  const viewOf = (object: KubernetesObject) =>
    ownerKeyByType(type, owned, object) === keyOf(place) ? ownedView(owned, object) : undefined;
  if (owned.nameFor === undefined) {
    const selected = selectedFor(owned, name);
    return selected === undefined ? [] : listWatched(client, selected, place.namespace, viewOf);
  }
  const object = await readWatched(client, owned, owned.nameFor(place));
  const view = object && viewOf(object);
  return view === undefined ? [] : [view];
}

/** Of a type whose label holds the name of the resource, those with that name. Undefined: a label cannot hold it. */
function selectedFor({ ownerOf, ...owned }: OwnedType<unknown>, name: string): WatchedType | undefined {
  if (typeof ownerOf !== 'string') return owned;
  if (!isLabelValue(name)) return undefined;
  const { labelSelector } = owned;
  const its = `${ownerOf}=${name}`;
  return { ...owned, labelSelector: labelSelector === undefined ? its : `${labelSelector},${its}` };
}
