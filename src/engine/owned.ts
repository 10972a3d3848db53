import type { OwnedType, WatchedType } from '../api/watched.ts';
import { allow, type PolicyRule } from '../api/policy-rule.ts';
import { apiVersionOf } from '../api/resource-type.ts';
import { type WatchedChild } from './controller.ts';
import type { KubernetesObject } from '../api/object.ts';
import { controllerOf, keyOf } from '../api/kinds.ts';
import type { AnyDefinition } from './definition.ts';

/*
 * What follows from the types of `owns` with a view: `decide` is given these views.
 */

/** What is kept of an object that belongs to a resource. */
export interface OwnedView {
  readonly uid: string;
  /** The UID in its owner reference, where that says whose it is. */
  readonly owner?: string;
  readonly view: unknown;
}

export function ownedTypes({ owns = [] }: AnyDefinition): readonly OwnedType<unknown>[] {
  const all = owns as readonly OwnedType<unknown>[];
  return all.filter((type) => type.view !== undefined);
}

export function watchedOwned(definition: AnyDefinition): readonly WatchedChild<OwnedView>[] {
  const type = definition.for;
  return ownedTypes(definition).map((owned) => ({
    ...watchOf(owned),
    ...(owned.optional && { isOptional: true as const }),
    ownerKey: (object) => ownerKeyByType(type, owned, object),
    view: (object) => ownedView(owned, object),
  }));
}

export function ownedPermissions(definition: AnyDefinition): readonly PolicyRule[] {
  return ownedTypes(definition).map((owned) =>
    allow(owned, [owned.nameFor === undefined || isListed(owned) ? 'list' : 'get']),
  );
}

/** Lists by name where only a list can leave out what is not watched. */
export function isListed({ fieldSelector, labelSelector }: WatchedType): boolean {
  return fieldSelector !== undefined || labelSelector !== undefined;
}

export function watchOf(type: WatchedType) {
  const { metadataOnly, fieldSelector, labelSelector } = type;
  return {
    type,
    ...(metadataOnly && { metadataOnly }),
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(labelSelector !== undefined && { labelSelector }),
  };
}

/** The key of the resource that an object belongs to, as the watcher knows it. */
export function ownerKeyByType(
  { group, kind, namespaced }: WatchedType,
  { ownerOf, nameFor }: OwnedType<unknown>,
  object: KubernetesObject,
): string | undefined {
  const { metadata } = object;
  const { namespace } = metadata;
  const keyIn = (name: string) =>
    keyOf({ name, ...(namespaced && namespace !== undefined && { namespace }) });
  if (typeof ownerOf === 'function') {
    const place = ownerOf(object);
    // A step lists those in the namespace of the resource.
    const isElsewhere = namespaced && nameFor === undefined && place?.namespace !== namespace;
    return place === undefined || isElsewhere ? undefined : keyOf(place);
  }
  if (typeof ownerOf === 'string') {
    const name = metadata.labels?.[ownerOf];
    return name === undefined ? undefined : keyIn(name);
  }
  const owner = controllerOf(metadata);
  const isOurs = owner?.kind === kind && groupIn(owner.apiVersion) === group;
  return isOurs ? keyIn(owner.name) : undefined;
}

function groupIn(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

export function ownedView(owned: OwnedType<unknown>, object: KubernetesObject): OwnedView | undefined {
  // An item of a list does not say what it is.
  const view = owned.view?.({ ...object, apiVersion: apiVersionOf(owned), kind: owned.kind });
  if (view === undefined) return undefined;
  const owner = owned.ownerOf === undefined ? controllerOf(object.metadata)?.uid : undefined;
  return { uid: object.metadata.uid, ...(owner !== undefined && { owner }), view };
}

/** Without those of another resource that had the name. */
export function belongingTo(uid: string, owned: readonly OwnedView[]): readonly OwnedView[] {
  return owned.filter(({ owner = uid }) => owner === uid);
}

/** As the author's functions have them. */
export function viewsOf(owned: readonly OwnedView[]): readonly unknown[] {
  return owned.map(({ view }) => view);
}
