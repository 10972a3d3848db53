import { writesStatus } from '../api/controller.ts';
import { isHeld, isOurs } from './definition.ts';
import { type LibraryStep } from './observation.ts';
import { ownedTypes } from './owned.ts';
import { type DecisionBasis } from './reporting.ts';
import type { DefinedView } from './view.ts';
import { hasBegunSteps, hasRetired } from './watched.ts';

/** Replaces the finalizer of an earlier version. Undefined: there is none, or the deletion removes it anyway. */
export function retiredStep({ definition, view }: DecisionBasis): LibraryStep | undefined {
  const { finalizer } = definition;
  if (!hasRetired(definition, view) || (view.isBeingDeleted && finalizer !== undefined)) return undefined;
  const others = view.finalizers.filter((each) => !isOurs(definition, each));
  return finalizer === undefined
    ? withFinalizers('removeFinalizer', others, { view, because: 'it is of an earlier version' })
    : withFinalizers('addFinalizer', [...others, finalizer], {
        view,
        because: 'that of an earlier version is replaced',
      });
}

/** Undefined: it has it, or is to have none. */
export function finalizerStep({ definition, view }: DecisionBasis): LibraryStep | undefined {
  const { finalizer } = definition;
  if (finalizer === undefined || view.isBeingDeleted || isHeld(definition, view.finalizers)) return undefined;
  const because = 'what is made for this resource has to be removed before it';
  return withFinalizers('addFinalizer', [...view.finalizers, finalizer], { view, because });
}

/** Undefined: it has none any more. */
export function releaseStep({ definition, view }: DecisionBasis, because: string): LibraryStep | undefined {
  if (!isHeld(definition, view.finalizers)) return undefined;
  const others = view.finalizers.filter((each) => !isOurs(definition, each));
  return withFinalizers('removeFinalizer', others, { view, because });
}

function withFinalizers(
  step: 'addFinalizer' | 'removeFinalizer',
  finalizers: readonly string[],
  { view, because }: { readonly view: DefinedView; readonly because: string },
): LibraryStep {
  return { do: step, because, finalizers, resourceVersion: view.resourceVersion };
}

/** Whether there is anything to remove with the resource. */
export function isAnythingThere({ seen, reads, view, definition }: DecisionBasis): boolean {
  const there = reads.declared !== undefined && 'there' in reads.declared ? reads.declared.there : [];
  if (isThere(reads.observed) || seen.owned.length > 0 || there.length > 0) return true;
  // Its finalizer was removed by hand, although a step had begun that may have left something.
  if (writesStatus(definition) && definition.observe === undefined && hasBegunSteps(view)) return true;
  // Where nothing would show it, the note that a step has begun counts as something to remove.
  const isShown =
    ['observe', 'children'].some((member) => member in definition) || ownedTypes(definition).length > 0;
  return !isShown && view.note !== 'missing';
}

/** Whether `observe` has found anything. */
function isThere(observed: unknown): boolean {
  return Array.isArray(observed) ? observed.length > 0 : observed !== undefined && observed !== null;
}
