import type {
  AnyKind,
  ControllerDefinition,
  Facts,
  NextOf,
  Outcome,
  ResourceOf,
} from '../../api/controller.ts';
import { inOneLine, type Cause } from '../../contract/cause.ts';
import type { Circumstances } from '../../contract/control.ts';
import { converged, stalled, waitFor, type Decision, type Rest, type Step } from '../../contract/decision.ts';
import { conditionsAfter, rfc3339, withReconciling, type Condition, type Finding } from '../condition.ts';
import { canonicalText, fieldsOf, type Fields } from '../fields.ts';
import type { DefinedView } from './view.ts';

/** Any controller that an author has defined. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what its own types say, each call checks
export type AnyDefinition = ControllerDefinition<any, any, any>;

/** What a decision is made from: what the watcher shows, or all that a step has read. */
export type DefinedObservation = 'gone' | { readonly view: DefinedView; readonly live?: Live };

/** What only a step reads. */
export interface Live {
  readonly resource: ResourceOf<AnyKind>;
  /** Absent where nothing is decided from it: the resource is invalid, or not ours any more. */
  readonly observed?: unknown;
}

export type DefinedStep = LibraryStep | AuthorsStep;

/** The library's own steps. */
export type LibraryStep =
  | (Step & {
      readonly do: 'addFinalizer' | 'removeFinalizer';
      readonly finalizers: readonly string[];
      readonly resourceVersion: string;
    })
  | (Step & { readonly do: 'updateStatus'; readonly status: StatusPatch; readonly resourceVersion: string });

export interface AuthorsStep extends Step {
  readonly data: unknown;
}

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
  const { finalizer } = definition;
  if (view.isBeingDeleted && (finalizer === undefined || !view.finalizers.includes(finalizer)))
    return converged('the resource is being deleted');
  if (live === undefined) return decideWatched(definition, view);
  const unknownForMs = Math.max((circumstances?.unknownUntilMs ?? 0) - nowMs, 0);
  return new Deciding(definition, { view, live, nowMs, unknownForMs }).decide();
}

/**
 * The watcher knows nothing of outside systems. It only says whether a run is needed: what the status says of this generation
 * stands until somebody asks.
 */
function decideWatched({ finalizer }: AnyDefinition, view: DefinedView): DefinedDecision {
  if (view.isBeingDeleted) return { do: 'observe', because: 'the resource is being deleted' };
  if (finalizer !== undefined && !view.finalizers.includes(finalizer))
    return { do: 'observe', because: 'the resource has no finalizer yet' };
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
    if (finalizer !== undefined && !view.finalizers.includes(finalizer))
      return this.#withFinalizers(
        'addFinalizer',
        [...view.finalizers, finalizer],
        'what it stands for has to be removed with it',
      );
    return this.#take(this.#definition.decide(this.#facts(), nextOf(this.#definition)));
  }

  #facts(): Facts<AnyKind, unknown> {
    const { live, nowMs } = this.#at;
    return { resource: live.resource, observed: live.observed, nowMs };
  }

  #take(outcome: Outcome): DefinedDecision {
    switch (outcome.is) {
      case 'step': {
        const { step, because, data } = outcome;
        if (isSettled(this.#at.view)) return this.#rest(waitFor(`${step}: ${because}`, 0));
        // Whether an attempt came to its end is known only of durable ones.
        return { do: step, because, data, isDurable: true };
      }
      case 'released':
        return this.#release(outcome.because);
      case 'converged': {
        const { because, notReady } = outcome;
        return this.#awaitUnknown() ?? this.#rest(converged(because, notReady && { notReady }));
      }
      case 'wait':
        return this.#rest(waitFor(outcome.what, outcome.atMostMs, outcome.cause));
      case 'stalled': {
        const { cause, atMostMs } = outcome;
        return this.#rest(stalled(cause, atMostMs === undefined ? {} : { atMostMs }));
      }
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
    const status = this.#statusOf(rest);
    if (status === undefined) return rest;
    const because = `the status has to say: ${'because' in rest ? rest.because : `waiting for ${rest.for}`}`;
    return { do: 'updateStatus', because, status, resourceVersion: this.#at.view.resourceVersion };
  }

  #statusOf(rest: Rest): StatusPatch | undefined {
    const { view, live, nowMs } = this.#at;
    const { generation } = view;
    const { ready, stall, isOver } = findingsOf(rest);
    const found = withReconciling(ready, stall, isOver);
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

function invalidSpec({ namespace, name }: DefinedView, because: string): Cause {
  return {
    code: 'InvalidSpec',
    because,
    advice: [`correct the spec of ${namespace}/${name}; that is noticed at once`],
  };
}

interface Findings {
  readonly ready: Finding;
  readonly stall: Finding;
  /** Nothing is left to do, even if it is not Ready. */
  readonly isOver: boolean;
}

const NOT_STALLED: Finding = { type: 'Stalled', status: 'False', reason: 'NotStalled', message: '' };

function findingsOf(rest: Rest): Findings {
  switch (rest.do) {
    case 'converged': {
      const { because, notReady } = rest;
      const ready: Finding = notReady
        ? notReadyFor(notReady)
        : { type: 'Ready', status: 'True', reason: 'AsSpecified', message: because };
      return { ready, stall: NOT_STALLED, isOver: true };
    }
    case 'wait': {
      const message = `waiting for ${rest.for}`;
      const ready: Finding = rest.cause
        ? notReadyFor(rest.cause)
        : { type: 'Ready', status: 'False', reason: 'Waiting', message };
      return { ready, stall: NOT_STALLED, isOver: false };
    }
    case 'stalled':
    case 'held': {
      const ready = notReadyFor({ ...rest, advice: 'advice' in rest ? rest.advice : [] });
      return { ready, stall: { ...ready, type: 'Stalled', status: 'True' }, isOver: false };
    }
  }
}

function notReadyFor(cause: Cause): Finding {
  return { type: 'Ready', status: 'False', reason: cause.code, message: inOneLine(cause) };
}

export function nextOf({ steps }: AnyDefinition): NextOf<Record<string, unknown>> {
  const named = Object.keys(steps as object).map((step) => {
    const does = (because: string, data?: unknown): Outcome => ({ is: 'step', step, because, data });
    return [step, does] as const;
  });
  return {
    do: Object.fromEntries(named),
    converged: (because, more = {}) => ({ is: 'converged', because, ...more }),
    wait: (what, atMostMs, cause) => ({ is: 'wait', what, atMostMs, ...(cause && { cause }) }),
    stalled: (cause, more = {}) => ({ is: 'stalled', cause, ...more }),
    released: (because) => ({ is: 'released', because }),
  };
}
