import { type Step } from '../../src/runs/decision.ts';
import type { ChildStep } from '../../src/engine/children/decide.ts';
import { declaredBy, ownerOf, withoutMissing } from '../../src/engine/children/declared.ts';
import { type DefinedObservation, type LiveReads, type SeenResource } from '../../src/engine/observation.ts';
import { type AnyDefinition, type LiveResource } from '../../src/engine/definition.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { ChildrenClient, type LiveChildren } from './children.ts';
import { type AttemptContext, type Performed } from '../reconciler.ts';

/** Declared objects are written. */
export async function writeChildren(
  definition: AnyDefinition,
  writer: KubernetesClient,
  step: ChildStep,
  { observation, context, isRehearsing }: WritingChildren,
): Promise<Performed<DefinedObservation>> {
  const seen = liveOf(step, observation);
  const { view, live } = seen;
  const children = new ChildrenClient(writer, ownerOf(definition, view.resource), {
    isRehearsing: isRehearsing ?? definition.isRehearsing,
  });
  const end = await children.perform(step, live.declared as LiveChildren, context);
  const isOutdated = definition.observe !== undefined && end.did.length > 0;
  const declared = declaredAnew(definition, { resource: view.resource, seen, children: end.children });
  const after = { ...live, declared, ...(isOutdated && { isOutdated }) };
  return { ...end, observation: { ...seen, live: after } };
}

/** What is declared may depend on what was just written. */
function declaredAnew(
  definition: AnyDefinition,
  { resource, seen: { referred }, children }: Written,
): LiveReads['declared'] {
  if (!children.isByCurrent || resource.isBeingDeleted) return children;
  const { there } = children;
  const anew = declaredBy(definition, resource, { references: referred?.objects ?? [], there });
  return anew === undefined || 'outcome' in anew
    ? anew
    : { ...children, ...withoutMissing(anew, children.missing) };
}

interface Written {
  readonly resource: LiveResource;
  readonly seen: SeenResource;
  readonly children: LiveChildren;
}

interface WritingChildren {
  readonly observation: DefinedObservation;
  readonly context: AttemptContext<DefinedObservation>;
  readonly isRehearsing?: boolean;
}

function liveOf({ do: step }: Step, observation: DefinedObservation) {
  const { live, view } = observation === 'gone' ? {} : observation;
  if (observation === 'gone' || live === undefined || view?.resource === undefined)
    throw new Error(`step ${step} was decided without a look at its resource; this is a bug`);
  return { ...observation, live, view: { ...view, resource: view.resource } };
}
