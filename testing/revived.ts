import type { KnownObservation } from '../activities/run-memory.ts';
import type { ReferencedObject } from '../src/api/reference.ts';
import { declaredBy } from '../src/engine/children/declared.ts';
import { isSame, type Wanted, type WantedObject } from '../src/engine/children/wanted.ts';
import type { ChildView } from '../src/engine/children/view.ts';
import type { AnyDefinition } from '../src/engine/definition.ts';
import type { DefinedObservation, SeenResource } from '../src/engine/observation.ts';

/**
 * What a step of the controller has left for the next one, as its process has it. A state is text, and has lost the functions of the
 * declared objects.
 */
export function revived(
  definition: AnyDefinition,
  known: KnownObservation<DefinedObservation> | undefined,
): KnownObservation<DefinedObservation> | undefined {
  if (known === undefined || known.observation === 'gone') return known;
  return { ...known, observation: withFunctions(definition, known.observation) };
}

function withFunctions(definition: AnyDefinition, seen: SeenResource): SeenResource {
  const { view, live, declared, there = [], referred } = seen;
  const { resource } = view;
  if (resource === undefined) return seen;
  const references = referred?.objects ?? [];
  const anew = (its: readonly Wanted[], children: readonly ChildView[]) =>
    revivedIn(its, declaredOf(definition, resource, { references, there: children }));
  const isLive = live?.declared !== undefined && 'wanted' in live.declared;
  const isShown = declared !== undefined && declared !== 'unknown' && 'wanted' in declared;
  return {
    ...seen,
    ...(isShown && { declared: { ...declared, wanted: anew(declared.wanted, there) } }),
    ...(isLive && {
      live: {
        ...live,
        declared: { ...live.declared, wanted: anew(live.declared.wanted, live.declared.there) },
      },
    }),
  };
}

function declaredOf(
  definition: AnyDefinition,
  resource: NonNullable<SeenResource['view']['resource']>,
  from: { readonly references: readonly ReferencedObject[]; readonly there: readonly ChildView[] },
): readonly WantedObject[] {
  if (resource.isBeingDeleted) return [];
  const declared = declaredBy(definition, resource, from);
  return declared !== undefined && 'wanted' in declared ? declared.wanted : [];
}

function revivedIn<W extends Wanted>(wanted: readonly W[], anew: readonly WantedObject[]): readonly W[] {
  return wanted.map((each) => {
    const its = anew.find((other) => isSame(other, each));
    if (its === undefined) return each;
    const { type, ready, generate, adopt } = its;
    return { ...each, type, ...(ready && { ready }), ...(generate && { generate }), ...(adopt && { adopt }) };
  });
}
