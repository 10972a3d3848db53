import type { Cause } from '../api/cause.ts';
import { converged, isConverged, isStep, stalled } from '../runs/decision.ts';
import type { Condition, Finding } from './condition.ts';
import type { ChildrenSeen } from './children/decide.ts';
import { nextOfChildren } from './children/done.ts';
import { readsPods, withPods } from './children/hanging.ts';
import type { AnyDefinition } from './definition.ts';
import { PERMANENT_FAILURE } from './failing.ts';
import { inputsDigest, observedAgainMs } from './inputs.ts';
import { childrenIn, type DefinedDecision, type SeenResource } from './observation.ts';
import type { DefinedView } from './view.ts';

/**
 * With `observe`, the watcher does not know all that decisions are made from. It only says whether a run is needed: what was
 * remembered stands while what the watch shows is the same.
 */
export function decideWatched(definition: AnyDefinition, seen: SeenResource, nowMs: number): DefinedDecision {
  const { view, declared } = seen;
  if (view.isBeingDeleted) return { do: 'observe', because: 'the resource is being deleted' };
  if (hasRetired(definition, view))
    return { do: 'observe', because: 'it has a finalizer of an earlier version' };
  if (declared === 'unknown') return { do: 'observe', because: 'what it declares or refers to is not known' };
  const digest = inputsDigest(definition, seen);
  const againMs = digest === undefined ? undefined : observedAgainMs(digest, view, nowMs);
  if (againMs === 0) return { do: 'observe', because: 'what the watch shows is not what was observed' };
  const children = childrenIn(seen);
  const decision = (children && decideDeclared(definition, children, view, nowMs)) ?? decideStated(view);
  const isRechecked = againMs !== undefined && isConverged(decision);
  return isRechecked ? { ...decision, recheckMs: againMs } : decision;
}

/** Undefined: what the status says stands. */
function decideDeclared(
  definition: AnyDefinition,
  children: ChildrenSeen,
  view: DefinedView,
  nowMs: number,
): DefinedDecision | undefined {
  if (isStalled(view)) return undefined;
  const next = nextOfChildren(children, view);
  if (next === undefined || isStep(next)) return next;
  // Its words are a part of the digest, so the status says it.
  if (next.do !== 'converged' || view.observedGeneration !== view.generation) return undefined;
  return readsPods(definition) ? withPods(next, { view, nowMs }) : next;
}

/** Whether it has a finalizer of an earlier version. */
export function hasRetired({ retiredFinalizers = [] }: AnyDefinition, { finalizers }: DefinedView): boolean {
  return finalizers.some((each) => retiredFinalizers.includes(each));
}

/** As the status says. */
export function decideStated(view: DefinedView): DefinedDecision {
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

const EXTERNAL = 'ExternalStep';

/** The step of which an attempt may be in progress: what is remembered says so before the first one begins. */
export function stepUnderWay({ conditions }: DefinedView): string | undefined {
  return conditions.find(({ type, status }) => type === EXTERNAL && status === 'True')?.message;
}

/** Whether a step was ever begun that can leave something: then it had its finalizer. */
export function hasBegunSteps({ conditions }: DefinedView): boolean {
  return conditions.some(({ type }) => type === EXTERNAL);
}

/** @param step undefined: none is in progress any more */
export function externalFinding(step: string | undefined): Finding {
  return step === undefined
    ? { type: EXTERNAL, status: 'False', reason: 'NoneInProgress', message: '' }
    : { type: EXTERNAL, status: 'True', reason: 'MayBeInProgress', message: step };
}

/** Whether the status says of this generation that it is not Ready, and that reason. */
export function isSaid({ conditions, generation, observedGeneration }: DefinedView, code: string): boolean {
  const isThere = conditions.some(
    ({ type, status, reason }) => type === 'Ready' && status === 'False' && reason === code,
  );
  return isThere && observedGeneration === generation;
}

/** Trying again does not help until something changes, as the status says of this generation. */
export function isFailedForGood(view: DefinedView): boolean {
  return (
    isStalled(view) &&
    view.conditions.some(({ type, reason }) => type === 'Stalled' && reason === PERMANENT_FAILURE)
  );
}

export function saysReady({ conditions }: DefinedView): boolean {
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

/** A person has to act, as the status says of this generation. */
export function isStalled({ conditions, generation, observedGeneration }: DefinedView): boolean {
  const isSaid = conditions.some(({ type, status }) => type === 'Stalled' && status === 'True');
  return isSaid && observedGeneration === generation;
}
