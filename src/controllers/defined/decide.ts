import { keepsNote, type AnyKind } from '../../api/controller.ts';
import type { Decision } from '../../api/next.ts';
import type { DecisionContext } from '../../api/step.ts';
import type { Cause } from '../../contract/cause.ts';
import type { Circumstances } from '../../contract/control.ts';
import { converged, isStep, reasonOf, stalled, waitFor, type Rest } from '../../contract/decision.ts';
import { waitingFor } from '../../contract/sentences.ts';
import { conditionsAfter, rfc3339, withReconciling, type Finding } from '../condition.ts';
import { canonicalText, fieldsOf, type Fields } from '../fields.ts';
import { decideChildren, releaseChildren, type ChildStep } from './children/decide.ts';
import { isExternal, isHeld, nextOf, restFor, stepFor, UNBOUND, type AnyDefinition } from './definition.ts';
import { digestFinding, OWNED, REFERENCES, VIEW } from './digested.ts';
import { findingsOf, invalidSpecCause, type ReportedRest } from './findings.ts';
import type {
  DefinedDecision,
  DefinedObservation,
  DefinedStep,
  LibraryStep,
  LiveReads,
  LiveResource,
  StatusPatch,
} from './observation.ts';
import { noteOf } from './noted.ts';
import type { OwnedState } from './owned.ts';
import type { DefinedView } from './view.ts';
import { decideWatched, isSettled } from './watched.ts';

/** The attempts of `observe` fail once the status says so, and then Temporal's backoff counts. This is for what comes between. */
const OBSERVE_AGAIN_MS = 5_000;

/** @param nowMs milliseconds since the epoch */
export function decideDefined(
  definition: AnyDefinition,
  observation: DefinedObservation,
  nowMs: number,
  circumstances?: Circumstances,
): DefinedDecision {
  if (observation === 'gone')
    return converged(
      keepsNote(definition) ? 'the resource is gone, or no longer of interest' : 'the resource is gone',
    );
  const { view, live, owned } = observation;
  if (view.isBeingDeleted && !isHeld(definition, view.finalizers))
    return converged('the resource is being deleted');
  if (live === undefined) return decideWatched(definition, observation);
  const unknownForMs = Math.max((circumstances?.unknownUntilMs ?? 0) - nowMs, 0);
  return new Deciding(definition, { view, live, owned, nowMs, unknownForMs }).decide();
}

interface Situation {
  readonly view: DefinedView;
  readonly live: LiveReads;
  readonly owned: OwnedState | undefined;
  readonly nowMs: number;
  /** For how long an attempt whose outcome nobody knows may take effect yet. */
  readonly unknownForMs: number;
}

/** One decision from what a step has read. */
class Deciding {
  readonly #definition: AnyDefinition;
  readonly #at: Situation;

  constructor(definition: AnyDefinition, at: Situation) {
    this.#definition = definition;
    this.#at = at;
  }

  decide(): DefinedDecision {
    const { view, live } = this.#at;
    if (live.resource.invalid !== undefined && !view.isBeingDeleted)
      return this.#rest(stalled(invalidSpecCause(view, live.resource.invalid)));
    if (live.unobserved !== undefined) return this.#rest(unobservedRest(live.unobserved));
    // Of a type that is not ours, only a resource of which something is there has to be kept.
    return (view.seen === undefined ? this.#finalizerStep() : undefined) ?? this.#decideChildren();
  }

  /** Undefined: it has it, or is to have none. */
  #finalizerStep(): DefinedStep | undefined {
    const { view } = this.#at;
    const { finalizer } = this.#definition;
    if (finalizer === undefined || view.isBeingDeleted || isHeld(this.#definition, view.finalizers))
      return undefined;
    const because = 'what it stands for has to be removed with it';
    return this.#withFinalizers('addFinalizer', [...view.finalizers, finalizer], because);
  }

  /** Those elsewhere go with the resource, the others after it. */
  #decideChildren(): DefinedDecision {
    const { view, live } = this.#at;
    const { declared } = live;
    if (declared === undefined) return this.#decideItself();
    if ('outcome' in declared) return this.#take(declared.outcome);
    const next = view.isBeingDeleted
      ? releaseChildren(declared.there, view.generation)
      : decideChildren(declared, view.generation);
    if (next === undefined) return this.#decideItself();
    if (isStep(next)) return this.#childStep(next, declared.refused);
    return next.do === 'converged' ? this.#decideItself(next) : this.#rest(next);
  }

  /** Where an object can be left behind, an attempt to create it is waited for. */
  #childStep(step: ChildStep, refused: Cause | undefined): DefinedDecision {
    const isLeftBehind = this.#definition.finalizer !== undefined && step.verb === 'create';
    const isTold = isLeftBehind && isSettled(this.#at.view);
    const { do: name, because } = step;
    const report = this.#statusStep(announced(name, because, refused));
    if ((isTold || refused !== undefined) && report !== undefined) return report;
    return isLeftBehind ? { ...step, isDurable: true } : step;
  }

  #decideItself(notReady?: Rest): DefinedDecision {
    const definition = this.#definition;
    const next = nextOf(definition);
    const outcome =
      definition.decide?.(this.#facts(), next) ??
      (this.#at.view.isBeingDeleted
        ? next.removeFinalizer('nothing is left of it elsewhere')
        : next.converged('all declared objects are as they are declared'));
    return outcome.is === 'converged' && notReady !== undefined ? this.#rest(notReady) : this.#take(outcome);
  }

  #facts(): DecisionContext<LiveResource, unknown, unknown> {
    const { live, owned, nowMs } = this.#at;
    const { resource, observed } = live;
    return { ...UNBOUND, resource, owned: owned?.views ?? [], observed, nowMs };
  }

  #take(outcome: Decision): DefinedDecision {
    switch (outcome.is) {
      case 'step': {
        const { step, because } = outcome;
        const { view, live } = this.#at;
        const kept = this.#finalizerStep();
        if (kept !== undefined) return kept;
        const isNews = isExternal(this.#definition, step) && (isSettled(view) || isUnmarked(view));
        const isTold = isNews || live.refused !== undefined;
        const report = isTold ? this.#statusStep(announced(step, because, live.refused)) : undefined;
        return report ?? stepFor({ definition: this.#definition, facts: this.#facts() }, outcome);
      }
      case 'record':
        return this.#record(outcome);
      case 'removeFinalizer':
        return this.#release(outcome.because);
      case 'converged':
        return this.#awaitUnknown() ?? this.#keptRest(restFor(outcome));
      case 'wait':
      case 'stalled':
        return this.#keptRest(restFor(outcome));
    }
  }

  /** @throws Error where that would be decided again and again */
  #record({ because, status: recorded }: Decision & { is: 'record' }): LibraryStep {
    const { name } = this.#definition;
    const { resource } = this.#at.live;
    if (this.#at.view.seen !== undefined)
      throw new Error(`controller ${name} answers next.record, which is only for a kind of defineKind`);
    if (sameFields(recorded, resource.status))
      throw new Error(`controller ${name} records what the status says already: ${because}`);
    const status = { ...resource.status, ...recorded };
    const kept = this.#definition.status?.({ ...this.#facts(), resource: { ...resource, status } });
    if (kept !== undefined && !sameFields(recorded, kept))
      throw new Error(
        `controller ${name} records ${Object.keys(recorded).join(', ')}, but its status does not return that`,
      );
    const patch = this.#statusOf(announced('updateStatus', because), recorded);
    if (patch === undefined) throw new Error(`there is nothing to record: ${because}`);
    const { resourceVersion } = this.#at.view;
    return { do: 'updateStatus', because, status: patch, resourceVersion };
  }

  /** Ready says that no attempt can take effect any more, so that a later run need not wait for one. */
  #awaitUnknown(): Rest | undefined {
    const { unknownForMs } = this.#at;
    return unknownForMs > 0 ? waitFor('an attempt that may still be in progress', unknownForMs) : undefined;
  }

  #release(because: string): DefinedDecision {
    const { view } = this.#at;
    const { finalizer, name } = this.#definition;
    const mayRelease = view.isBeingDeleted || view.seen !== undefined;
    if (!mayRelease || finalizer === undefined)
      throw new Error(
        `controller ${name} releases a resource that is not being deleted, or has no finalizer`,
      );
    if (!isHeld(this.#definition, view.finalizers)) return this.#rest(converged(because));
    const others = view.finalizers.filter((each) => each !== finalizer);
    return this.#awaitUnknown() ?? this.#withFinalizers('removeFinalizer', others, because);
  }

  #withFinalizers(
    step: 'addFinalizer' | 'removeFinalizer',
    finalizers: readonly string[],
    because: string,
  ): DefinedStep {
    return { do: step, because, finalizers, resourceVersion: this.#at.view.resourceVersion };
  }

  /** Where there is something to remove, the resource is kept. */
  #keptRest(rest: Rest): DefinedDecision {
    const { live, owned } = this.#at;
    const isAnythingThere = isThere(live.observed) || (owned?.views.length ?? 0) > 0;
    return (isAnythingThere ? this.#finalizerStep() : undefined) ?? this.#rest(rest);
  }

  /** The status says it first. */
  #rest(rest: Rest): DefinedDecision {
    return this.#statusStep(rest) ?? rest;
  }

  /** Undefined where the status says it already. */
  #statusStep(reported: ReportedRest): LibraryStep | undefined {
    if (this.#at.view.seen !== undefined) return this.#noteStep(reported);
    const status = this.#statusOf(reported);
    if (status === undefined) return undefined;
    const because = `the status has to say: ${'for' in reported ? waitingFor(reported.for) : reasonOf(reported)}`;
    return { do: 'updateStatus', because, status, resourceVersion: this.#at.view.resourceVersion };
  }

  /** Undefined where the annotation says it already. */
  #noteStep(reported: ReportedRest): LibraryStep | undefined {
    const { view, nowMs } = this.#at;
    const { resourceVersion, uid, conditions: before } = view;
    const words = 'for' in reported ? waitingFor(reported.for) : reasonOf(reported);
    const step = { do: 'updateState', because: `to be remembered: ${words}`, resourceVersion } as const;
    if (view.seen?.view === undefined && !isHeld(this.#definition, view.finalizers))
      return view.seen?.isMarked ? { ...step, note: null } : undefined;
    const conditions = conditionsAfter(before, this.#found(reported), { generation: 0, now: rfc3339(nowMs) });
    return canonicalText(conditions) === canonicalText(before)
      ? undefined
      : { ...step, note: noteOf(uid, conditions) };
  }

  #found(reported: ReportedRest): readonly Finding[] {
    const { view, live, owned } = this.#at;
    const { ready, stall, isOver } = findingsOf(reported);
    const isKnown = live.unobserved === undefined;
    return [
      ...withReconciling(ready, stall, isOver),
      ...(isKnown ? digestFinding(VIEW, view.seen?.digest, view.conditions) : []),
      ...(isKnown ? digestFinding(REFERENCES, live.referred?.digest, view.conditions) : []),
      ...(isKnown ? digestFinding(OWNED, owned?.digest, view.conditions) : []),
    ];
  }

  /** @param recorded fields that differ from what is there */
  #statusOf(reported: ReportedRest, recorded: object = {}): StatusPatch | undefined {
    const { view, live, nowMs } = this.#at;
    const { generation } = view;
    const isKnown = live.unobserved === undefined;
    const now = rfc3339(nowMs);
    const conditions = conditionsAfter(view.conditions, this.#found(reported), { generation, now });
    const own = isKnown && live.resource.invalid === undefined ? this.#ownStatus() : {};
    const patch = { ...own, ...recorded, conditions, observedGeneration: generation };
    const before: Fields = {
      ...fieldsOf(live.resource.status),
      conditions: view.conditions,
      observedGeneration: view.observedGeneration,
    };
    const isNew = Object.entries(patch).some(
      ([field, value]) => canonicalText(value) !== canonicalText(before[field] ?? null),
    );
    return isNew ? patch : undefined;
  }

  /** Each field that the kind has; one that the author leaves out is removed. */
  #ownStatus(): Fields {
    const own = this.#definition.status?.(this.#facts());
    if (own === undefined) return {};
    const kind = this.#definition.for as AnyKind;
    return Object.fromEntries(
      Object.keys(kind.status.shape).map((field) => [field, fieldsOf(own)[field] ?? null]),
    );
  }
}

/** Without a note, nobody would remember what may come of a step once the finalizer is taken away by hand. */
function isUnmarked({ seen, observedGeneration }: DefinedView): boolean {
  return seen !== undefined && observedGeneration === undefined;
}

/** Whether `observe` has found anything. */
function isThere(observed: unknown): boolean {
  return Array.isArray(observed) ? observed.length > 0 : observed !== undefined && observed !== null;
}

function sameFields(some: object, all: unknown): boolean {
  return Object.entries(some).every(
    ([field, value]) => canonicalText(value ?? null) === canonicalText(fieldsOf(all)[field] ?? null),
  );
}

function unobservedRest(cause: Cause): Rest {
  return waitFor('observe to succeed', OBSERVE_AGAIN_MS, cause);
}

/** What the status says before a step is done. */
function announced(step: string, because: string, cause?: Cause): ReportedRest {
  return { do: 'wait', for: `${step}: ${because}`, ...(cause && { cause }) };
}
