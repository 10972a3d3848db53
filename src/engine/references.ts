import type { ReferencedType } from '../api/reference.ts';
import { allow, type PolicyRule } from '../api/policy-rule.ts';
import { type ReferenceWatch, type References } from './controller.ts';
import { keyOf } from '../api/kinds.ts';
import { UNBOUND, type AnyDefinition, type LiveResource } from './definition.ts';

/*
 * What follows from `references` of a controller.
 */

type AnyReferred = ReferencedType<unknown>;

export function referredTypes({ references = [] }: AnyDefinition): readonly AnyReferred[] {
  return references as readonly AnyReferred[];
}

/** What a resource refers to, by type. @throws Error where the author's function does */
export function referencesOf(definition: AnyDefinition, resource: LiveResource): readonly References[] {
  const { namespace } = resource.metadata;
  return referredTypes(definition).map((type) => {
    const referring = { ...UNBOUND, resource };
    const places = type.names?.(referring) ?? [];
    const keyed = places.map(({ name, namespace: its = namespace }) =>
      keyOf({ name, ...(type.namespaced && its !== undefined && { namespace: its }) }),
    );
    const labels = type.matchLabels?.(referring);
    return { keys: [...new Set(keyed)], labels, ...(type.namespaced && { namespace }) };
  });
}

/** As the watcher keeps them; undefined: a step finds out. */
export function referencesView(
  definition: AnyDefinition,
  resource: LiveResource,
): readonly References[] | undefined {
  if (referredTypes(definition).length === 0 || resource.invalid !== undefined) return undefined;
  try {
    return referencesOf(definition, resource);
  } catch {
    return undefined;
  }
}

/** As the watcher keeps a resource. */
interface Referring {
  readonly refers?: readonly References[] | undefined;
}

export function watchedReferences(definition: AnyDefinition): readonly ReferenceWatch<Referring>[] {
  return referredTypes(definition).map((type, place) => ({
    type,
    isSelected: type.matchLabels !== undefined,
    of: ({ refers }) => refers?.[place] ?? { keys: [] },
  }));
}

export function referencePermissions(definition: AnyDefinition): readonly PolicyRule[] {
  return referredTypes(definition).map((type) =>
    allow(type, [...(type.names ? ['get'] : []), ...(type.matchLabels ? ['list'] : [])]),
  );
}
