import { type Step } from '../src/runs/decision.ts';
import { isAuthorsStep, type DefinedObservation, type SeenResource } from '../src/engine/observation.ts';
import { stepsOf, type AnyDefinition } from '../src/engine/definition.ts';
import { stepUnderWay } from '../src/engine/watched.ts';
import { type AttemptContext, type Confirmation } from './reconciler.ts';

import type { Served } from './served.ts';

/** A view of the watcher is made as good as live for a step. */
export async function confirm(
  { definition, observing }: Served,
  step: Step,
  shown: DefinedObservation,
  context: AttemptContext<DefinedObservation>,
): Promise<Confirmation<DefinedObservation>> {
  if (shown === 'gone') return 'unknown';
  const reads = readBefore(definition, step, shown);
  if (reads === 'cache') return 'as shown';
  const { view: seen, isOwnedShown, lookups } = shown;
  if (reads === 'resource') {
    if (isOwnedShown) return shown.live ? 'as shown' : { observation: { ...shown, live: {} } };
    const view = await observing.readView(context.ref);
    if (view === undefined) return { observation: 'gone' };
    if (view.resourceVersion === seen.resourceVersion)
      return { observation: { ...shown, view, live: {}, isOwnedShown: true } };
  }
  // A finalizer is removed only from the resource that was decided from. What a step deletes is decided from a resource that is no older
  // than the objects: with one that has been scaled since, what was just created would be deleted.
  const isKnown = step.do === 'removeFinalizer' || (isOwnedShown === true && step.deletes === undefined);
  const known = isKnown && !seen.hasOtherFinalizers ? seen : undefined;
  const live = await observing.observe(context, undefined, known);
  return { observation: live === 'gone' || lookups === undefined ? live : { ...live, lookups } };
}

/** A write of the resource alone is conditional on its version, and reads nothing. Where an attempt may be in progress, everything is read first. */
function readBefore(
  definition: AnyDefinition,
  step: Step,
  { view, live }: SeenResource,
): 'cache' | 'resource' | 'all' {
  if (isAuthorsStep(step)) return stepsOf(definition)[step.do]?.reads ?? 'all';
  const isToldAnew = live === undefined && stepUnderWay(view) !== undefined;
  if (definition.children !== undefined || isToldAnew) return 'all';
  const isOfFinalizers = step.do === 'addFinalizer' && view.hasOtherFinalizers === true;
  return step.do === 'removeFinalizer' || isOfFinalizers ? 'all' : 'cache';
}
