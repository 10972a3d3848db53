import { keepsNote } from '../api/controller.ts';
import type { Circumstances } from './holds/control.ts';
import { converged, isStep } from '../runs/decision.ts';
import { stillUnknown } from '../api/unknown-attempt.ts';
import { isDeclaring, isHeld, remembers, type AnyDefinition } from './definition.ts';
import { ControllerError, isNever, neverCause, PassedOn } from './failing.ts';
import { causeWithin } from './findings.ts';
import {
  isLibraryStep,
  type DefinedDecision,
  type DefinedObservation,
  type LibraryStep,
  type LiveReads,
  type SeenResource,
} from './observation.ts';
import { referredTypes } from './references.ts';
import { reportStep, type DecisionBasis } from './reporting.ts';
import type { DefinedView } from './view.ts';
import { decideStated, decideWatched, isFailedForGood, isSaid } from './watched.ts';
import { announced, causeOfChildren, OneDecision, RestsByLookup, unobservedRest } from './one-decision.ts';

/** @param nowMs milliseconds since the epoch */
export function decideDefined(
  definition: AnyDefinition,
  observation: DefinedObservation,
  nowMs: number,
  circumstances?: Circumstances,
): DefinedDecision {
  if (observation === 'gone') return converged(goneIn(definition));
  const { view } = observation;
  if (view.isBeingDeleted && isKeptByNobody(definition, view))
    return converged('the resource is being deleted');
  const unknown = stillUnknown(circumstances?.unknown, nowMs);
  const at = basisIn(definition, observation, { nowMs, unknown, asking: circumstances?.asking });
  if (at === undefined) return decideWatched(definition, observation, nowMs);
  const isLive = observation.live !== undefined;
  // The watch does not show what has failed. The run that is open goes on once something changes.
  if (!isLive && isFailedForGood(view) && !view.isBeingDeleted) return decideStated(view);
  return decidedIn(at);
}

function decidedIn(at: DecisionBasis): DefinedDecision {
  try {
    return new OneDecision(at).decide();
  } catch (error) {
    const { reads, definition } = at;
    if (error instanceof PassedOn) throw error;
    if (isNever(error))
      return new OneDecision({ ...at, reads: { ...reads, never: neverCause(error) } }).decide();
    const failure =
      error instanceof ControllerError
        ? error
        : new ControllerError(definition.name, { reason: 'DecideFailed', what: 'decide' }, error);
    // Where a lookup is the mistake, the status says the rest already: the two would overwrite each other for ever.
    const report = error instanceof RestsByLookup ? undefined : failureReport(at, failure);
    if (report !== undefined) return report;
    // A run reads everything, and says it.
    if (at.seen.live === undefined) return { do: 'observe', because: failure.message };
    throw failure;
  }
}

/** The status says it once. Where it does already, the attempt fails with it. */
function failureReport(at: DecisionBasis, { asCause }: ControllerError): LibraryStep | undefined {
  if (isSaid(at.view, asCause.reason)) return undefined;
  const cause = causeWithin(at.view, asCause);
  const reads = { ...at.reads, unobserved: cause };
  return reportStep({ ...at, reads }, unobservedRest(cause));
}

/** What is to be remembered while a person holds the next step. */
export function statusStepOf(
  definition: AnyDefinition,
  observation: DefinedObservation,
  nowMs: number,
): LibraryStep | undefined {
  if (observation === 'gone') return undefined;
  const at = basisIn(definition, observation, { nowMs, unknown: [] });
  if (at === undefined) return undefined;
  const next = decidedIn(at);
  if (!isStep(next) || isLibraryStep(next)) return undefined;
  const { declared } = at.reads;
  const cause = declared && 'there' in declared ? causeOfChildren(declared) : undefined;
  return reportStep(at, announced(next.do, next.because, cause));
}

/** Undefined: something has to be read before it can be decided. */
function basisIn(
  definition: AnyDefinition,
  seen: SeenResource,
  circumstances: Pick<DecisionBasis, 'nowMs' | 'unknown' | 'asking'>,
): DecisionBasis | undefined {
  const { view } = seen;
  const { resource } = view;
  const reads = readsIn(definition, seen);
  if (reads === undefined || resource === undefined) return undefined;
  return { definition, seen, view, resource, reads, ...circumstances };
}

function goneIn(definition: AnyDefinition): string {
  const said = keepsNote(definition)
    ? 'the resource is gone, or no longer of interest'
    : 'the resource is gone';
  return definition.messages?.gone ?? said;
}

/** A type that is not ours, without a finalizer, may still mean something to its controller. */
function isKeptByNobody(definition: AnyDefinition, { finalizers }: DefinedView): boolean {
  return remembers(definition) && !isHeld(definition, finalizers);
}

/** Without `observe`, the watch shows all that is decided from. Undefined: something has to be read. */
function readsIn(
  definition: AnyDefinition,
  { live, view, declared, there = [], referred, missing }: SeenResource,
): LiveReads | undefined {
  if (live !== undefined) return live;
  if (definition.observe !== undefined) return undefined;
  if (view.isBeingDeleted) return isDeclaring(definition) ? { declared: { wanted: [], there } } : {};
  const isInvalid = view.resource?.invalid !== undefined;
  // Not all of it is watched where the operator may only see some namespaces.
  const isReferredUnknown = referredTypes(definition).length > 0 && referred === undefined && !isInvalid;
  if (declared === 'unknown' || isReferredUnknown) return undefined;
  return declared !== undefined && 'wanted' in declared
    ? { declared: { ...declared, there, ...(missing && { missing }) } }
    : { declared };
}
