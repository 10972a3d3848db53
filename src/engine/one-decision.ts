import { writesStatus } from '../api/controller.ts';
import type { DecidedEvent, Decision } from '../api/next.ts';
import type { Cause } from '../api/cause.ts';
import {
  converged,
  isConverged,
  isObserve,
  isRest,
  isStep,
  reasonOf,
  stalled,
  waitFor,
  warning,
  type Rest,
  type Stalled,
  type Wait,
} from '../runs/decision.ts';
import { unknownUntil } from '../api/unknown-attempt.ts';
import { OutsideNotAsked } from './bound.ts';
import { nextOfChildren } from './children/done.ts';
import {
  releaseChildren,
  type ChildrenNotReady,
  type ChildrenSeen,
  type ChildStep,
} from './children/decide.ts';
import { readsPods, withPods } from './children/hanging.ts';
import { mayLeave, nextOf, restFor, stepFor, type AuthorsStep } from './definition.ts';
import { invalidSpecCause, type ReportedRest } from './findings.ts';
import { type DefinedDecision, type LibraryStep } from './observation.ts';
import { askDecide, lookupsInWords } from './lookups.ts';
import { contextOf, isSameIn, reportStep, statusPatch, unknownFor, type DecisionBasis } from './reporting.ts';
import { decideStated, decideWatched, isStalled, saysReady, stepUnderWay } from './watched.ts';
import { finalizerStep, isAnythingThere, releaseStep, retiredStep } from './finalizers.ts';

/** At most so many attempts in a row may decide on other data than the one before: what it is decided from may have changed. */
const OTHER_DATA_MAX = 2;
const IN_PROGRESS = 'an attempt that may still be in progress';

/** A mistake of the controller: no watch shows what its rest follows from. */
export class RestsByLookup extends Error {}

/** One decision from all that it is made from. */
export class OneDecision {
  readonly #at: DecisionBasis;
  /** The lookups that `decide` has asked for. */
  readonly #asked: Set<string>;

  constructor(at: DecisionBasis, asked = new Set<string>()) {
    this.#at = at;
    this.#asked = asked;
  }

  decide(): DefinedDecision {
    const { view, resource, reads } = this.#at;
    const renamed = retiredStep(this.#at);
    if (renamed !== undefined) return renamed;
    if (resource.invalid !== undefined && !view.isBeingDeleted)
      return this.#rest(this.#invalidRest(resource.invalid));
    if (reads.never !== undefined)
      return this.#rest(stalled(reads.never, { event: warning(reads.never, 'Reconcile') }));
    if (reads.unobserved !== undefined) return this.#rest(unobservedRest(reads.unobserved));
    if (reads.waiting !== undefined) return this.#waitToTry(reads.waiting);
    return this.#decideChildren();
  }

  /** The step stays marked as under way: to clear the mark at each try would change the status, which ends the wait. */
  #waitToTry(wait: Wait): DefinedDecision {
    const external = stepUnderWay(this.#at.view);
    const reported = external === undefined ? wait : { do: 'wait' as const, for: wait.for, external };
    return reportStep(this.#at, reported) ?? wait;
  }

  #invalidRest(message: string): Rest {
    const cause = invalidSpecCause(this.#at.view, message);
    // A type that is not ours has no condition that shows it.
    return stalled(cause, this.#writesStatus ? {} : { event: warning(cause, 'Reconcile') });
  }

  /** On deletion, those that garbage collection misses are deleted first. It collects the others. */
  #decideChildren(): DefinedDecision {
    const { view, reads } = this.#at;
    const { declared, refused } = reads;
    if (declared === undefined) return this.#decideItself();
    if ('outcome' in declared) return this.#take(declared.outcome);
    const next = view.isBeingDeleted ? releaseChildren(declared) : nextOfChildren(declared, view);
    if (next === undefined) return this.#decideItself();
    const beside = this.#decideBeside(next);
    if (beside !== undefined) return beside;
    if (isStep(next)) return this.#childStep(next, refused?.cause ?? causeOfChildren(declared));
    return next.do === 'converged' ? this.#decideItself(next) : this.#restWithFinalizer(next);
  }

  /** An object that cannot be as it is declared does not keep the author from a step, and from a deadline. Undefined: nothing else is to be done. */
  #decideBeside(next: NonNullable<ReturnType<typeof nextOfChildren>>): DefinedDecision | undefined {
    const { definition, view, reads } = this.#at;
    const isAllElseDone = 'isAgain' in next || next.do === 'stalled';
    if (!isAllElseDone || definition.decide === undefined || view.isBeingDeleted || definition.isUnobserved)
      return undefined;
    if (reads.isOutdated) return OUTDATED;
    const outcome = this.#ask();
    if (outcome === undefined || 'do' in outcome) return outcome;
    if (outcome.is === 'converged') return undefined;
    if (outcome.is !== 'wait') return this.#take(outcome);
    return isStep(next) ? undefined : this.#rest(sooner(next, outcome));
  }

  /** Where an object can be left behind, an attempt to create it is waited for. */
  #childStep(step: ChildStep, refused: Cause | undefined): DefinedDecision {
    const { view, seen } = this.#at;
    // The watch does not show why the server refused it. The run that is open goes on once something changes.
    if (seen.live === undefined && isStalled(view)) return decideStated(view);
    const finalizer = finalizerStep(this.#at);
    if (finalizer !== undefined) return finalizer;
    const isLeftBehind = this.#at.definition.finalizer !== undefined && step.verb === 'create';
    const { do: name, because } = step;
    const isTold = this.#mustTakeReadyBack(name) || (isLeftBehind && stepUnderWay(view) === undefined);
    const external = isLeftBehind ? { external: name } : {};
    const report = reportStep(this.#at, { ...announced(name, because, refused), ...external });
    if ((isTold || refused !== undefined) && report !== undefined) return report;
    return isLeftBehind ? { ...step, isDurable: true } : step;
  }

  #decideItself(notReady?: ChildrenNotReady): DefinedDecision {
    const { definition } = this.#at;
    if (definition.isUnobserved) return this.#decideUnobserved();
    if (this.#at.reads.isOutdated) return OUTDATED;
    const next = nextOf(definition);
    const outcome =
      this.#ask() ??
      (this.#at.view.isBeingDeleted
        ? next.removeFinalizer('nothing is left of it elsewhere')
        : next.converged('all declared objects are as they are declared'));
    if ('do' in outcome) return outcome;
    return outcome.is === 'converged' && notReady !== undefined
      ? this.#notReady(notReady)
      : this.#take(outcome);
  }

  #ask(): ReturnType<typeof askDecide> {
    const { definition, seen } = this.#at;
    return askDecide(definition, contextOf(this.#at), {
      ...{ next: nextOf(definition), values: seen.lookups },
      asked: this.#asked,
    });
  }

  /** As on the watch: the operator would start no run while its last verdict stands. */
  #decideUnobserved(): Rest {
    const { definition, seen, nowMs } = this.#at;
    const next = decideWatched(definition, seen, nowMs);
    if (isRest(next)) return next;
    throw new OutsideNotAsked(reasonOf(next));
  }

  #notReady(next: ChildrenNotReady): DefinedDecision {
    const { definition, view, nowMs, reads } = this.#at;
    const said = readsPods(definition) ? withPods(next, { view, nowMs, pods: reads.pods }) : next;
    return isObserve(said) ? said : this.#restWithFinalizer(said);
  }

  #take(outcome: Decision): DefinedDecision {
    switch (outcome.is) {
      case 'step': {
        const { step } = outcome;
        const { view, reads } = this.#at;
        const finalizer = finalizerStep(this.#at);
        if (finalizer !== undefined) return finalizer;
        const named = stepFor({ definition: this.#at.definition, facts: contextOf(this.#at) }, outcome);
        this.#checkData(named);
        const unseen = this.#awaitUnseen(step);
        if (unseen !== undefined) return this.#restWithFinalizer(unseen);
        const isLate = mayLeave(this.#at.definition, step);
        const isRefused = reads.refused?.step === step;
        const isTold =
          this.#mustTakeReadyBack(step) || (isLate && stepUnderWay(view) === undefined) || isRefused;
        const report = isTold ? reportStep(this.#at, this.#announcedStep(outcome)) : undefined;
        return report ?? named;
      }
      case 'record':
        return this.#record(outcome);
      case 'reason':
        return this.#taking(outcome).#take(outcome.then);
      case 'removeFinalizer':
        return this.#release(outcome);
      case 'converged':
        return this.#awaitUnknown() ?? this.#restWithFinalizer(restFor(outcome));
      case 'wait':
      case 'stalled':
        // A type that is not ours has no status that shows it to people.
        return this.#restWithFinalizer(restFor(outcome, this.#writesStatus ? undefined : 'Reconcile'));
    }
  }

  /** A step that is not done at once takes Ready back first. Where that fails, that is tried again, not the step. */
  #mustTakeReadyBack(step: string): boolean {
    const { reads, view } = this.#at;
    const { notDone } = reads;
    return (notDone === step || notDone === 'updateStatus' || notDone === 'updateState') && saysReady(view);
  }

  #announcedStep({ step, because }: Decision & { is: 'step' }): ReportedRest {
    const { refused: last } = this.#at.reads;
    const refused = last?.step === step ? last.cause : undefined;
    const external = mayLeave(this.#at.definition, step) ? { external: step } : {};
    return { ...announced(step, because, refused), ...external, ...(refused && { isRefused: true }) };
  }

  /** What can be said in the same write: what the next decision will come to, if nothing changes. */
  #reportedWith(then: Decision): ReportedRest | undefined {
    if (then.is === 'step') return this.#announcedStep(then);
    if (then.is === 'wait' || then.is === 'stalled') return restFor(then);
    const isLast = then.is === 'converged' && this.#awaitUnknown() === undefined;
    return isLast && finalizerStep(this.#at) === undefined ? restFor(then) : undefined;
  }

  #taking({ reason, isReady = false }: Decision & { is: 'reason' }): OneDecision {
    return new OneDecision({ ...this.#at, told: { reason, isReady } }, this.#asked);
  }

  /** Writes these fields together with what is said before the step that follows. @throws Error where it would never end */
  #record({ status: recorded, then, event }: Decision & { is: 'record' }): DefinedDecision {
    if (then.is === 'reason')
      return this.#taking(then).#record({
        is: 'record',
        status: recorded,
        then: then.then,
        ...(event && { event }),
      });
    const { name } = this.#at.definition;
    const { resource, view } = this.#at;
    if (!this.#writesStatus)
      throw new Error(
        `controller ${name} answers next.record, which is only for the controller that writes the status of a kind`,
      );
    if (isSameIn(recorded, view.status)) return this.#take(then);
    const finalizer = then.is === 'step' ? finalizerStep(this.#at) : undefined;
    if (finalizer !== undefined) return finalizer;
    const status = { ...resource.status, ...recorded };
    const own = this.#at.definition.status?.({ ...contextOf(this.#at), resource: { ...resource, status } });
    if (own !== undefined && !isSameIn(recorded, own))
      throw new Error(
        `controller ${name} records ${Object.keys(recorded).join(', ')}, but its status does not return that`,
      );
    const fields = Object.keys(recorded).join(', ');
    const because = `${fields} has to be recorded first`;
    const reported = this.#reportedWith(then) ?? announced('updateStatus', because);
    const patch = statusPatch(this.#at, reported, recorded);
    if (patch === undefined) throw new Error(`there is nothing to record: ${fields}`);
    const { resourceVersion } = view;
    return { do: 'updateStatus', because, status: patch, resourceVersion, ...this.#with(event) };
  }

  /** Each write is an occasion of its own. */
  #with(event: DecidedEvent | undefined): Pick<LibraryStep, 'event'> {
    if (event === undefined) return {};
    const { uid, resourceVersion } = this.#at.view;
    const { message: note, ...said } = event;
    return { event: { type: 'Normal', ...said, note, occasion: `${uid} ${resourceVersion}` } };
  }

  /** @throws Error where each attempt would decide on other data than the one before, and so none would begin */
  #checkData({ do: step, digest }: AuthorsStep): void {
    const { asking } = this.#at;
    if (asking?.step !== step || asking.digest === digest || asking.otherData < OTHER_DATA_MAX) return;
    throw new Error(`it hands over other data each time it decides on ${step}`);
  }

  /** An attempt whose end nobody saw is waited for: a second one beside it would do the work twice. */
  #awaitUnseen(step: string): Rest | undefined {
    const { unknown, nowMs } = this.#at;
    const unseen = unknown.filter((each) => each.step === step && each.isEndUnseen);
    const untilMs = unknownUntil(unseen);
    return untilMs > nowMs ? waitFor(IN_PROGRESS, untilMs - nowMs) : undefined;
  }

  /** Ready says that no attempt can take effect any more, so that a later run need not wait for one. */
  #awaitUnknown(): Rest | undefined {
    const forMs = unknownFor(this.#at);
    return forMs > 0 ? waitFor(IN_PROGRESS, forMs) : undefined;
  }

  #release({ because, event }: Decision & { is: 'removeFinalizer' }): DefinedDecision {
    const { finalizer, name } = this.#at.definition;
    if (finalizer === undefined)
      throw new Error(`controller ${name} answers next.removeFinalizer, but has no finalizer`);
    const unknown = this.#awaitUnknown();
    if (unknown !== undefined) return unknown;
    const step = releaseStep(this.#at, because);
    return step === undefined ? this.#rest(converged(because)) : { ...step, ...this.#with(event) };
  }

  /** Where something has to be removed on deletion, the finalizer comes first. */
  #restWithFinalizer(rest: Rest): DefinedDecision {
    return (isAnythingThere(this.#at) ? finalizerStep(this.#at) : undefined) ?? this.#rest(rest);
  }

  /** The status says it first. @throws Error where it converges by a lookup, which no watch shows: each change would begin a run */
  #rest(its: Rest): DefinedDecision {
    const rest = this.#untilNoneIsInProgress(its);
    const report = reportStep(this.#at, rest);
    if (report === undefined && isConverged(rest) && this.#asked.size > 0)
      throw new RestsByLookup(
        `decide asks for ${lookupsInWords(this.#asked)} on the way to next.converged: no watch shows it, so that each change begins a run; decide that from what is watched, or from observe`,
      );
    return report ?? rest;
  }

  /** That an attempt may be in progress is no longer said once none can be. */
  #untilNoneIsInProgress(rest: Rest): Rest {
    const forMs = unknownFor(this.#at);
    const isSaid = stepUnderWay(this.#at.view) !== undefined;
    if (!isSaid || forMs === 0 || (rest.do !== 'wait' && rest.do !== 'stalled')) return rest;
    return { ...rest, recheckMs: Math.min(rest.recheckMs ?? Infinity, forMs) };
  }

  get #writesStatus(): boolean {
    return writesStatus(this.#at.definition);
  }
}

const OUTDATED = { do: 'observe', because: 'the declared objects have changed' } as const;

/** The same rest, checked again no later than an author's wait is. */
function sooner(rest: Stalled, wait: Decision & { is: 'wait' }): Stalled {
  const rested = restFor(wait);
  const otherMs = rested.do === 'wait' ? rested.recheckMs : Infinity;
  return { ...rest, recheckMs: Math.min(rest.recheckMs ?? Infinity, otherMs) };
}

/** Why a write of a declared object was in vain just now. */
export function causeOfChildren({ overridden, refused: [first] = [] }: ChildrenSeen): Cause | undefined {
  return overridden ?? first?.cause;
}

/** The attempts of `observe` fail once the status says so, and then Temporal's backoff counts. This is for what comes between. */
const OBSERVE_AGAIN_MS = 5_000;

export function unobservedRest(cause: Cause): Rest {
  return waitFor('the controller to succeed', OBSERVE_AGAIN_MS, cause);
}

/** What the status says before a step is done. */
export function announced(step: string, because: string, cause?: Cause): ReportedRest {
  return { do: 'wait', for: `${step}: ${because}`, ...(cause && { cause }) };
}
