import type { AnyKind, ResourceOf } from '../../api/controller.ts';
import type { Outcome } from '../../api/next.ts';
import type { Facts } from '../../api/step.ts';
import type { Cause } from '../../contract/cause.ts';
import type { Circumstances } from '../../contract/control.ts';
import type { ReferredState } from '../../contract/controller.ts';
import {
  converged,
  isStep,
  reasonOf,
  stalled,
  waitFor,
  type Decision,
  type Rest,
  type Step,
} from '../../contract/decision.ts';
import { waitingFor } from '../../contract/sentences.ts';
import { conditionsAfter, rfc3339, withReconciling, type Condition } from '../condition.ts';
import { canonicalText, fieldsOf, type Fields } from '../fields.ts';
import {
  decideChildren,
  NOT_READY,
  releaseChildren,
  type ChildrenSeen,
  type ChildStep,
} from './children/decide.ts';
import type { DeclaredView } from './children/declared.ts';
import type { ChildView } from './children/view.ts';
import type { Wanted } from './children/wanted.ts';
import {
  isExternal,
  isHeld,
  nextOf,
  restFor,
  stepFor,
  UNBOUND,
  type AnyDefinition,
  type AuthorsStep,
} from './definition.ts';
import { findingsOf, invalidSpec, type Reported } from './findings.ts';
import { isReferringToOther, referencesFinding } from './references.ts';
import type { DefinedView } from './view.ts';

/** What a decision is made from: what the watcher shows, or all that a step has read. */
export type DefinedObservation = 'gone' | SeenResource;

interface SeenResource {
  readonly view: DefinedView;
  /** Its declared objects, as the watcher shows them. */
  readonly there?: readonly ChildView[];
  /** What it declares, as far as the watcher knows. Undefined: none, or it cannot tell yet. */
  readonly declared?: DeclaredView | undefined;
  /** The digest of what it refers to, as the watcher shows it. */
  readonly referred?: string;
  readonly live?: Live;
}

/** What only a step reads. */
export interface Live {
  readonly resource: ResourceOf<AnyKind>;
  /** Absent where nothing is decided from it: the resource is invalid, or not ours any more. */
  readonly observed?: unknown;
  /** What it declares, and what there is of it. Absent: nothing is declared, or can be. */
  readonly declared?: ChildrenSeen | { readonly outcome: Outcome } | undefined;
  /** Why the step was refused that was just tried. */
  readonly refused?: Cause;
  /** What it refers to. Absent: its controller has no references. */
  readonly referred?: ReferredState | undefined;
}

export type DefinedStep = LibraryStep | ChildStep | AuthorsStep;

/** The library's own steps. */
export type LibraryStep =
  | (Step & {
      readonly do: 'addFinalizer' | 'removeFinalizer';
      readonly finalizers: readonly string[];
      readonly resourceVersion: string;
    })
  | (Step & { readonly do: 'updateStatus'; readonly status: StatusPatch; readonly resourceVersion: string });

/** Null: the field is removed. */
export type StatusPatch = Fields & {
  readonly conditions: readonly Condition[];
  readonly observedGeneration: number;
};

export const LIBRARY_STEPS = {
  addFinalizer: 'keep the resource until what it stands for is removed',
  updateStatus: 'update the status',
  removeFinalizer: 'allow the resource to be deleted',
} as const;

export function isLibraryStep(step: DefinedStep): step is LibraryStep {
  return Object.hasOwn(LIBRARY_STEPS, step.do);
}

export function isChildStep(step: Step): step is ChildStep {
  return 'verb' in step;
}

type DefinedDecision = Decision<DefinedStep>;

/** @param nowMs milliseconds since the epoch */
export function decideDefined(
  definition: AnyDefinition,
  observation: DefinedObservation,
  nowMs: number,
  circumstances?: Circumstances,
): DefinedDecision {
  if (observation === 'gone') return converged('the resource is gone');
  const { view, live } = observation;
  if (view.isBeingDeleted && !isHeld(definition, view.finalizers))
    return converged('the resource is being deleted');
  if (live === undefined) return decideWatched(definition, observation);
  const unknownForMs = Math.max((circumstances?.unknownUntilMs ?? 0) - nowMs, 0);
  return new Deciding(definition, { view, live, nowMs, unknownForMs }).decide();
}

/**
 * The watcher knows nothing of outside systems. It only says whether a run is needed: what the status says of this generation
 * stands until somebody asks, or declared objects say otherwise.
 */
function decideWatched(definition: AnyDefinition, seen: SeenResource): DefinedDecision {
  const { view } = seen;
  if (view.isBeingDeleted) return { do: 'observe', because: 'the resource is being deleted' };
  if (definition.finalizer !== undefined && !isHeld(definition, view.finalizers))
    return { do: 'observe', because: 'the resource has no finalizer yet' };
  if (isReferringToOther(view, seen.referred))
    return { do: 'observe', because: 'what it refers to has changed' };
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
  return { code: reason, because: message, advice: [] };
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

interface Situation {
  readonly view: DefinedView;
  readonly live: Live;
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
    const { finalizer } = this.#definition;
    if (live.resource.invalid !== undefined && !view.isBeingDeleted)
      return this.#rest(stalled(invalidSpec(view, live.resource.invalid)));
    if (finalizer !== undefined && !isHeld(this.#definition, view.finalizers))
      return this.#withFinalizers(
        'addFinalizer',
        [...view.finalizers, finalizer],
        'what it stands for has to be removed with it',
      );
    return this.#decideChildren();
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
        ? next.released('nothing is left of it elsewhere')
        : next.converged('all declared objects are as they are declared'));
    return outcome.is === 'converged' && notReady !== undefined ? this.#rest(notReady) : this.#take(outcome);
  }

  #facts(): Facts<ResourceOf<AnyKind>, unknown, unknown> {
    const { live, nowMs } = this.#at;
    return { ...UNBOUND, resource: live.resource, owned: [], observed: live.observed, nowMs };
  }

  #take(outcome: Outcome): DefinedDecision {
    switch (outcome.is) {
      case 'step': {
        const { step, because } = outcome;
        const { view, live } = this.#at;
        const isNews = isExternal(this.#definition, step) && isSettled(view);
        const isTold = isNews || live.refused !== undefined;
        const report = isTold ? this.#statusStep(announced(step, because, live.refused)) : undefined;
        return report ?? stepFor({ definition: this.#definition, facts: this.#facts() }, outcome);
      }
      case 'released':
        return this.#release(outcome.because);
      case 'converged':
        return this.#awaitUnknown() ?? this.#rest(restFor(outcome));
      case 'wait':
      case 'stalled':
        return this.#rest(restFor(outcome));
    }
  }

  /** Ready says that no attempt can take effect any more, so that a later run need not wait for one. */
  #awaitUnknown(): Rest | undefined {
    const { unknownForMs } = this.#at;
    return unknownForMs > 0 ? waitFor('an attempt that may still be in progress', unknownForMs) : undefined;
  }

  #release(because: string): DefinedDecision {
    const { view } = this.#at;
    const { finalizer, name } = this.#definition;
    if (!view.isBeingDeleted || finalizer === undefined)
      throw new Error(
        `controller ${name} releases a resource that is not being deleted, or has no finalizer`,
      );
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

  /** The status says it first. */
  #rest(rest: Rest): DefinedDecision {
    return this.#statusStep(rest) ?? rest;
  }

  /** Undefined where the status says it already. */
  #statusStep(reported: Reported): LibraryStep | undefined {
    const status = this.#statusOf(reported);
    if (status === undefined) return undefined;
    const because = `the status has to say: ${'because' in reported ? reported.because : waitingFor(reported.for)}`;
    return { do: 'updateStatus', because, status, resourceVersion: this.#at.view.resourceVersion };
  }

  #statusOf(reported: Reported): StatusPatch | undefined {
    const { view, live, nowMs } = this.#at;
    const { generation } = view;
    const { ready, stall, isOver } = findingsOf(reported);
    const found = [
      ...withReconciling(ready, stall, isOver),
      ...referencesFinding(live.referred?.digest, view.conditions),
    ];
    const conditions = conditionsAfter(view.conditions, found, { generation, now: rfc3339(nowMs) });
    const own = live.resource.invalid === undefined ? this.#ownStatus() : {};
    const patch = { ...own, conditions, observedGeneration: generation };
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

/** What the status says before a step is done. */
function announced(step: string, because: string, cause?: Cause): Reported {
  return { do: 'wait', for: `${step}: ${because}`, ...(cause && { cause }) };
}
