import type { ChildManifest, Children, Current, WrappedChild } from '../../api/child.ts';
import { declaredOf } from '../../api/controller.ts';
import type { Decision } from '../../api/next.ts';
import { allow, type PolicyRule } from '../../api/policy-rule.ts';
import { typeNameOf, type ResourceType } from '../../api/resource-type.ts';
import { type ReferencedObject } from '../../api/reference.ts';
import { type ReferredState, type WatchedChild } from '../controller.ts';
import { MANAGED_BY } from '../../api/kinds.ts';
import { isDeclaring, nextOf, UNBOUND, type AnyDefinition, type LiveResource } from '../definition.ts';
import { errorOf, failing } from '../failing.ts';
import { referredTypes } from '../references.ts';
import { currentOf } from './current.ts';
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
export type Declared = ({ readonly wanted: readonly WantedObject[] } | { readonly outcome: Decision }) & {
  readonly isByCurrent?: true;
};

/** As the watcher keeps it. `unknown`: a step finds out. */
export type DeclaredView =
  | { readonly wanted: readonly Wanted[]; readonly isByCurrent?: true }
  | { readonly outcome: Decision; readonly isByCurrent?: true }
  | 'unknown';

/** What a resource declares while it refers to that, and these are there. Undefined: nobody knows what it refers to. */
export type Declares = (
  referred: ReferredState | undefined,
  there: readonly ChildView[],
) => DeclaredView | undefined;

export function declaredTypes(definition: AnyDefinition): readonly DeclaredType[] {
  const { retired = [], operator: manager = MANAGED_BY } = definition;
  const types: readonly Omit<DeclaredType, 'manager'>[] = declaredOf(definition);
  return [
    ...types.map((type) => ({ ...type, manager })),
    ...retired.map((type) => ({ ...type, manager, retired: true as const })),
  ];
}

export function ownerOf({ name, for: type }: AnyDefinition, { metadata }: LiveResource): ChildOwner {
  return { controller: name, type: type, metadata };
}

/** @throws Error where an object cannot be declared like that: a mistake of the controller */
export function declaredBy(
  definition: AnyDefinition,
  resource: LiveResource,
  { references, there }: DeclaredFrom,
): Declared | undefined {
  if (!isDeclaring(definition) || resource.invalid !== undefined) return undefined;
  if (definition.children === undefined) return { wanted: [] };
  const find = currentOf({ wanted: [], there }, resource.metadata.namespace);
  const asked = { isCurrent: false };
  const current: Current<unknown> = (...place) => {
    asked.isCurrent = true;
    return find(...place);
  };
  const facts = { ...UNBOUND, resource, references, current };
  const answer: Children = definition.children(facts, nextOf(definition));
  const by = asked.isCurrent ? ({ isByCurrent: true } as const) : {};
  if (isOutcome(answer)) return { outcome: answer, ...by };
  try {
    return { wanted: wantedFrom(definition, resource, answer), ...by };
  } catch (error) {
    throw errorOf(definition.name, { reason: 'ChildrenFailed', what: 'children' }, error);
  }
}

/** Besides the resource. */
export interface DeclaredFrom {
  readonly references: readonly ReferencedObject[];
  readonly there: readonly ChildView[];
}

function wantedFrom(
  definition: AnyDefinition,
  resource: LiveResource,
  answer: readonly (ChildManifest | WrappedChild)[],
): readonly WantedObject[] {
  const said = answer.map((each) =>
    'manifest' in each ? sayingChild(definition, each as WrappedChild) : each,
  );
  const wanted = wantedOf(said, ownerOf(definition, resource), declaredTypes(definition));
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

function sayingChild({ name }: AnyDefinition, its: WrappedChild): WrappedChild {
  const { kind, metadata } = its.manifest;
  const functions = { ready: 'ReadyFailed', generate: 'GenerateFailed', adopt: 'AdoptFailed' };
  return { ...its, ...failing(its, functions, { name, whose: ` of child ${kind} ${metadata.name}` }) };
}

function isOutcome(answer: Children): answer is Decision {
  return 'is' in answer && !isList(answer);
}

function isList(answer: Children): answer is readonly (ChildManifest | WrappedChild)[] {
  return Array.isArray(answer);
}

/** Only what depends on references or on `current` keeps the resource. */
export function declaresOf(definition: AnyDefinition, resource: LiveResource): Declares | undefined {
  if (!isDeclaring(definition) || resource.invalid !== undefined) return undefined;
  if (referredTypes(definition).length === 0) {
    const declared = declaredView(definition, resource, { references: [], there: [] });
    return isByCurrent(declared)
      ? (_, there) => declaredView(definition, resource, { references: [], there })
      : () => declared;
  }
  let last: { readonly digest: string; readonly declared: DeclaredView } | undefined;
  return (referred, there) => {
    if (referred === undefined) return undefined;
    const { digest, objects: references } = referred;
    if (last?.digest !== digest || isByCurrent(last.declared))
      last = { digest, declared: declaredView(definition, resource, { references, there }) };
    return last.declared;
  };
}

/** Without the types whose API is missing. What there is of them stays as it is: the answer of a gateway looks the same. */
export function withoutMissing<D extends { readonly wanted: readonly Wanted[] }>(
  declared: D,
  missing: readonly ResourceType[] = [],
): D {
  if (missing.length === 0) return declared;
  const names = missing.map(typeNameOf);
  return { ...declared, wanted: declared.wanted.filter(({ type }) => !names.includes(typeNameOf(type))) };
}

/** Also where a mistake of the controller was found: it may have come of what is there. */
function isByCurrent(declared: DeclaredView): boolean {
  return declared === 'unknown' || declared.isByCurrent === true;
}

/** A mistake of the controller shows in the run of the resource. */
function declaredView(definition: AnyDefinition, resource: LiveResource, from: DeclaredFrom): DeclaredView {
  try {
    const declared = declaredBy(definition, resource, from);
    if (declared === undefined) return 'unknown';
    if ('outcome' in declared) return declared;
    // eslint-disable-next-line @typescript-eslint/no-unused-vars -- left out of the rest
    const wanted = declared.wanted.map(({ object, generate, adopt, ...kept }) => kept);
    return { ...declared, wanted };
  } catch {
    return 'unknown';
  }
}

export function watchedChildren(definition: AnyDefinition): readonly WatchedChild<ChildView>[] {
  const whose = { controller: definition.name, type: definition.for };
  return declaredTypes(definition).map((type) => ({
    type,
    ...(type.optional && { isOptional: true as const }),
    ...(type.retired ? { metadataOnly: true as const } : type.view ? {} : { labelSelector: OWNER_LABEL }),
    ownerKey: (object) =>
      // With a view, one watch is for all objects of the type.
      type.view && object.metadata.labels?.[OWNER_LABEL] === undefined
        ? undefined
        : childOwnerKey(object, whose),
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
    allow(definition.for, ['update'], { subresource: 'finalizers' }),
    ...types.map((type) =>
      allow(type, type.retired ? ['list', 'delete'] : ['get', 'list', 'create', 'patch', 'delete']),
    ),
  ];
}
