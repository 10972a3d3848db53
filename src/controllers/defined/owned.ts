import type { OwnedType, WatchedType } from '../../api/watched.ts';
import type { PolicyRule, WatchedChild } from '../../contract/controller.ts';
import { digestOf } from '../../contract/digest.ts';
import { canonicalText } from '../fields.ts';
import type { AnyDefinition } from './definition.ts';
import { belongingTo, childrenOf, ownedPermission, type OwnedView } from './viewed.ts';

/*
 * What follows from the types of `owns` with a view, of a controller for a kind of `defineKind`: `decide` is given these views.
 */

export function ownedTypes({ owns = [] }: AnyDefinition): readonly OwnedType<unknown>[] {
  const all = owns as readonly OwnedType<unknown>[];
  return all.filter((type) => type.view !== undefined);
}

export function watchedOwned(definition: AnyDefinition): readonly WatchedChild<OwnedView>[] {
  return ownedTypes(definition).map((owned) => childrenOf(definition.for as WatchedType, owned));
}

export function ownedPermissions(definition: AnyDefinition): readonly PolicyRule[] {
  return ownedTypes(definition).map(ownedPermission);
}

/** What belongs to a resource. */
export interface OwnedState {
  /** What `decide` is given. */
  readonly views: readonly unknown[];
  /** Another one once a view changes, comes or goes. Without UIDs: `decide` is not given them, so they decide nothing. */
  readonly digest: string;
}

export function ownedState(uid: string, objects: readonly OwnedView[]): OwnedState {
  const views = belongingTo(uid, objects).map(({ view }) => view);
  return { views, digest: digestOf(views.map(canonicalText)) };
}
