import type { ChildManifest, Children } from '../../../api/child.ts';
import type { Decision } from '../../../api/next.ts';
import type { WatchedType } from '../../../api/watched.ts';
import {
  allow,
  type PolicyRule,
  type ReferencedObject,
  type ReferredState,
  type WatchedChild,
} from '../../../contract/controller.ts';
import { MANAGED_BY } from '../../kinds.ts';
import { isDeclaring, nextOf, UNBOUND, type AnyDefinition } from '../definition.ts';
import { errorOf } from '../failing.ts';
import { referredTypes } from '../references.ts';
import type { LiveResource } from '../definition.ts';
import { childView, type ChildView } from './view.ts';
import {
  OWNER_LABEL,
  childOwnerKey,
  wantedOf,
  type DeclaredType,
  type ChildOwner,
  type Wanted,
  type WantedObject,
} from './wanted.ts';

/*
 * What follows from `owns` and `children` of a controller.
 */

/** What a resource declares: objects; or a decision, and then they stay as they are. */
export type Declared = { readonly wanted: readonly WantedObject[] } | { readonly outcome: Decision };

/** As the watcher keeps it. `unknown`: a step finds out. */
export type DeclaredView =
  { readonly wanted: readonly Wanted[] } | { readonly outcome: Decision } | 'unknown';

/** What a resource declares while it refers to that. Undefined: nobody knows what it refers to. */
export type Declares = (referred: ReferredState | undefined) => DeclaredView | undefined;

export function declaredTypes(definition: AnyDefinition): readonly DeclaredType[] {
  const { owns = [], retired = [], operator: manager = MANAGED_BY } = definition;
  const types = owns as readonly (Omit<DeclaredType, 'manager'> & { readonly view?: unknown })[];
  return [
    ...types.filter(({ view }) => view === undefined).map((type) => ({ ...type, manager })),
    ...retired.map((type) => ({ ...type, manager, retired: true as const })),
  ];
}

export function ownerOf({ name, for: type }: AnyDefinition, { metadata }: LiveResource): ChildOwner {
  return { controller: name, type: type as WatchedType, metadata };
}

/** @throws Error where an object cannot be declared like that: a mistake of the controller */
export function declaredBy(
  definition: AnyDefinition,
  resource: LiveResource,
  references: readonly ReferencedObject[],
): Declared | undefined {
  if (!isDeclaring(definition) || resource.invalid !== undefined) return undefined;
  if (definition.children === undefined) return { wanted: [] };
  const answer: Children = definition.children({ ...UNBOUND, resource, references }, nextOf(definition));
  if (isOutcome(answer)) return { outcome: answer };
  try {
    return { wanted: wantedFrom(definition, resource, answer) };
  } catch (error) {
    throw errorOf(definition.name, { reason: 'ChildrenFailed', what: 'children' }, error);
  }
}

function wantedFrom(
  definition: AnyDefinition,
  resource: LiveResource,
  answer: readonly ChildManifest[],
): readonly WantedObject[] {
  const wanted = wantedOf(answer, ownerOf(definition, resource), declaredTypes(definition));
  const elsewhere = wanted.find(({ isElsewhere }) => isElsewhere);
  if (elsewhere !== undefined && definition.finalizer === undefined)
    throw new Error(
      `children declares ${elsewhere.type.kind} ${elsewhere.name} outside of the namespace of its resource, so the controller needs a finalizer`,
    );
  if (elsewhere !== undefined && definition.isNarrow)
    throw new Error(
      `children declares ${elsewhere.type.kind} ${elsewhere.name} outside of the namespace of its resource, which an operator with --namespaces cannot watch`,
    );
  return wanted;
}

function isOutcome(answer: Children): answer is Decision {
  return 'is' in answer && !isList(answer);
}

function isList(answer: Children): answer is readonly ChildManifest[] {
  return Array.isArray(answer);
}

/** Only what depends on references keeps the resource. */
export function declaresOf(definition: AnyDefinition, resource: LiveResource): Declares | undefined {
  if (!isDeclaring(definition) || resource.invalid !== undefined) return undefined;
  if (referredTypes(definition).length === 0) {
    const declared = declaredView(definition, resource, []);
    return () => declared;
  }
  let last: { readonly digest: string; readonly declared: DeclaredView } | undefined;
  return (referred) => {
    if (referred === undefined) return undefined;
    const { digest, objects } = referred;
    if (last?.digest !== digest) last = { digest, declared: declaredView(definition, resource, objects) };
    return last.declared;
  };
}

/** A mistake of the controller shows in the run of the resource. */
function declaredView(
  definition: AnyDefinition,
  resource: LiveResource,
  referred: readonly ReferencedObject[],
): DeclaredView {
  try {
    const declared = declaredBy(definition, resource, referred);
    if (declared === undefined) return 'unknown';
    if ('outcome' in declared) return declared;
    const wanted = declared.wanted.map(({ type, namespace, name, digest, isElsewhere }) => ({
      ...{ type, namespace, name, digest, isElsewhere },
    }));
    return { wanted };
  } catch {
    return 'unknown';
  }
}

export function watchedChildren(definition: AnyDefinition): readonly WatchedChild<ChildView>[] {
  const whose = { controller: definition.name, type: definition.for as WatchedType };
  return declaredTypes(definition).map((type) => ({
    type,
    ...(type.retired ? { metadataOnly: true as const } : { labelSelector: OWNER_LABEL }),
    ownerKey: (object) => childOwnerKey(object, whose),
    view: (object) => childView(type, object),
  }));
}

/** What the Temporal UI shows of the steps on declared objects. */
export function childSummaries(definition: AnyDefinition): Readonly<Record<string, string>> {
  const summaries = declaredTypes(definition).flatMap(({ kind, retired }) => [
    ...(retired
      ? []
      : [
          [`create${kind}`, `create what is declared: ${kind}`],
          [`apply${kind}`, `make it as it is declared: ${kind}`],
        ]),
    [`delete${kind}`, `delete what is no longer declared: ${kind}`],
  ]);
  return Object.fromEntries(summaries) as Readonly<Record<string, string>>;
}

export function childPermissions(definition: AnyDefinition): readonly PolicyRule[] {
  const types = declaredTypes(definition);
  if (types.length === 0) return [];
  return [
    // To set blockOwnerDeletion, where the plugin OwnerReferencesPermissionEnforcement guards that.
    allow(definition.for as WatchedType, ['update'], { subresource: 'finalizers' }),
    ...types.map((type) =>
      allow(type, type.retired ? ['list', 'delete'] : ['get', 'list', 'create', 'patch', 'delete']),
    ),
  ];
}
