import { isLabelValue } from '../../src/api/label-selector.ts';
import type { OwnedType, NamespacedName, WatchedType } from '../../src/api/watched.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { ownedView, ownerKeyByType, type OwnedView } from '../../src/engine/owned.ts';
import { keyOf } from '../../src/api/kinds.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
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
  { type, ref }: Owner,
): Promise<readonly OwnedView[]> {
  const { namespace, name } = ref;
  const place: NamespacedName = { name, ...(type.namespaced && { namespace }) };
  const viewOf = (object: KubernetesObject) =>
    ownerKeyByType(type, owned, object) === keyOf(place) ? ownedView(owned, object) : undefined;
  if (owned.nameFor === undefined) {
    const selected = selectedFor(owned, ref);
    return selected === undefined ? [] : listWatched(client, selected, place.namespace, viewOf);
  }
  const object = await readWatched(client, owned, owned.nameFor(place));
  const view = object && viewOf(object);
  return view === undefined ? [] : [view];
}

/** Those with the labels of its objects, or with its name in a label. Undefined: a label cannot hold it. */
function selectedFor(
  { ownerOf, labelsFor, ...owned }: OwnedType<unknown>,
  { namespace, name, uid }: ResourceRef,
): WatchedType | undefined {
  const named = typeof ownerOf === 'string' ? { [ownerOf]: name } : {};
  if (!Object.values(named).every(isLabelValue)) return undefined;
  const its = { ...named, ...labelsFor?.({ namespace, name, uid, resourceVersion: '' }) };
  const { labelSelector } = owned;
  const all = [
    ...(labelSelector === undefined ? [] : [labelSelector]),
    ...Object.entries(its).map(([label, value]) => `${label}=${value}`),
  ];
  return all.length === 0 ? owned : { ...owned, labelSelector: all.join(',') };
}
