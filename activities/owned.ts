import type { OwnedType, NamespacedName, WatchedType } from '../src/api/watched.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { ownedView, ownerKeyByType, type OwnedView } from '../src/controllers/defined/viewed.ts';
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
  const objects =
    owned.nameFor === undefined
      ? await listWatched(client, owned, place.namespace)
      : [await readWatched(client, owned, owned.nameFor(place))];
  return objects
    .filter((object) => object !== undefined)
    .filter((object) => ownerKeyByType(type, owned, object) === keyOf(place))
    .flatMap((object) => ownedView(owned, object) ?? []);
}
