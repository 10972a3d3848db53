import type { Cause } from '../../contract/cause.ts';
import { converged, isStep, reasonOf, stalled } from '../../contract/decision.ts';
import type { Condition } from '../condition.ts';
import { decideChildren, NOT_READY } from './children/decide.ts';
import type { Wanted } from './children/wanted.ts';
import { isHeld, type AnyDefinition } from './definition.ts';
import { isOther, OWNED, REFERENCES, VIEW } from './digested.ts';
import { findingsOf } from './findings.ts';
import type { DefinedDecision, SeenResource } from './observation.ts';
import type { DefinedView } from './view.ts';

/**
 * The watcher knows nothing of outside systems. It only says whether a run is needed: what the status says of this generation
 * stands until somebody asks, or declared objects say otherwise.
 */
export function decideWatched(definition: AnyDefinition, seen: SeenResource): DefinedDecision {
  const { view } = seen;
  if (view.isBeingDeleted) return { do: 'observe', because: 'the resource is being deleted' };
  if (view.seen && isOther(VIEW, view.seen.digest, view.conditions))
    return { do: 'observe', because: 'what the watch shows of it has changed' };
  if (!view.seen && definition.finalizer !== undefined && !isHeld(definition, view.finalizers))
    return { do: 'observe', because: 'the resource has no finalizer yet' };
  if (view.refers && seen.referred && isOther(REFERENCES, seen.referred, view.conditions))
    return { do: 'observe', because: 'what it refers to has changed' };
  if (seen.owned && isOther(OWNED, seen.owned.digest, view.conditions))
    return { do: 'observe', because: 'what belongs to it has changed' };
  const { declared } = seen;
  if (declared === 'unknown') return { do: 'observe', because: 'what it declares is not known' };
  return (declared && decideDeclared(declared, seen)) ?? decideStated(view);
}

/** Undefined: what the status says stands. */
function decideDeclared(
  wanted: readonly Wanted[],
  { view, there = [] }: SeenResource,
): DefinedDecision | undefined {
  const { conditions, generation, observedGeneration } = view;
  if (isStalled(view)) return undefined;
  const next = decideChildren({ wanted, there }, generation);
  if (next !== undefined && isStep(next)) return next;
  if (observedGeneration !== generation) return undefined;
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (next === undefined)
    return ready?.reason.endsWith(NOT_READY) === true
      ? { do: 'observe', because: 'the declared objects are ready now' }
      : undefined;
  const isStated = ready?.message === findingsOf(next).ready.message;
  return isStated ? next : { do: 'observe', because: reasonOf(next) };
}

function decideStated(view: DefinedView): DefinedDecision {
  if (view.observedGeneration !== view.generation) return { do: 'observe', because: 'the spec is new' };
  const [ready, stall, reconciling] = ['Ready', 'Stalled', 'Reconciling'].map((type) =>
    view.conditions.find((each) => each.type === type),
  );
  if (ready?.status === 'True') return converged(ready.message);
  if (stall?.status === 'True') return stalled(causeIn(stall));
  if (ready !== undefined && reconciling?.status === 'False')
    return converged(ready.message, { notReady: causeIn(ready) });
  return { do: 'observe', because: 'the resource is not Ready' };
}

function causeIn({ reason, message }: Condition): Cause {
  return { reason: reason, message: message, advice: [] };
}

/**
 * Whether no attempt of a step may still take effect: Ready is written only then, and taken back before the next step. The API
 * server counts a deletion as a new generation.
 */
export function isSettled({
  conditions,
  generation,
  isBeingDeleted,
  observedGeneration = -1,
}: DefinedView): boolean {
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  return isReady && generation - observedGeneration <= (isBeingDeleted ? 1 : 0);
}

/** A person has to act, as the status says of this generation. */
export function isStalled({ conditions, generation, observedGeneration }: DefinedView): boolean {
  const isSaid = conditions.some(({ type, status }) => type === 'Stalled' && status === 'True');
  return isSaid && observedGeneration === generation;
}
