import { hash } from 'node:crypto';
import type { OwnedType, WatchedType } from '../../api/watched.ts';
import type { PolicyRule, WatchedChild } from '../../contract/controller.ts';
import { NONE } from '../../contract/references.ts';
import { canonicalText } from '../fields.ts';
import type { AnyDefinition } from './definition.ts';
import { childrenOf, ownedPermission, type OwnedView } from './viewed.ts';

/*
 * What follows from the types of `owns` with a view, of a controller for a kind of `defineKind`: `decide` is given these views.
 */

const DIGEST_LENGTH = 16;

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

/** Another one once a view changes, comes or goes. Without UIDs: `decide` is not given them, so they decide nothing. */
export function ownedDigest(owned: readonly OwnedView[]): string {
  if (owned.length === 0) return NONE;
  const views = owned.map(({ view }) => canonicalText(view)).sort();
  return `Sha256_${hash('sha256', views.join('\n')).slice(0, DIGEST_LENGTH)}`;
}
