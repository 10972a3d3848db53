/*
 * What people may do to any controller: pause, ask for a reconcile, poll, approve. In: a controller, and the annotations of a resource
 * and of its Namespace. Out: the same controller, whose `decide` may answer `held`. Nothing here reads or writes; a pause never holds
 * a finalizer.
 */

import { type Circumstances, type Control } from './control.ts';
import type { Controller } from '../controller.ts';
import {
  isObserve,
  isRest,
  isStep,
  warning,
  type Approval,
  type NextStep,
  type DecisionEvent,
  type Held,
  type Observe,
  type Rest,
  type Step,
} from '../../runs/decision.ts';
import { invalidAnnotation, withLeastInterval } from './annotations.ts';
import { answerTo, deletionInWords, planOf, type DeletionPlan } from './approval.ts';
import { answerInWords, heldMessage, partsOfAnswer, pausedBy } from './held-message.ts';
import { controlStep, reportHold, type ControlStep } from './report.ts';

/** The operator's options that concern all controllers. */
export interface ControlOptions {
  /** Whatever deletes more objects than that at once has to be approved; undefined: only where an annotation asks. */
  readonly requireApprovalOver?: number | undefined;
  /** Whether the API server compares the name of a person who answers with the user whose request it is. */
  readonly areApproversChecked?: boolean;
  /** The shortest interval that an annotation may ask for, in milliseconds. Default: any. */
  readonly minPollIntervalMs?: number;
  /** For a plan: what would come if nobody held a step back. */
  readonly areHoldsLifted?: boolean;
}

/** What of a controller is of interest here. */
export type Decides<O, S extends Step, L extends Observe> = Pick<
  Controller<unknown, unknown, O, S, L>,
  'decide' | 'control' | 'statusStep'
>;

/** A controller that may also write what its controls have to say into the status. */
export type Controlled<T, O, S extends Step, L extends Observe> = Omit<T, 'decide'> & {
  decide(
    observation: O,
    nowMs: number,
    circumstances?: Circumstances,
  ): NextStep<S | ControlStep, L | ControlObserve>;
};

/** Read everything, since what the watch shows does not suffice. */
export interface ControlObserve extends Observe {
  readonly ofControls: true;
}

export function isOfControls(asked: Observe): asked is ControlObserve {
  return 'ofControls' in asked;
}

function observe(because: string): ControlObserve {
  return { do: 'observe', because, ofControls: true };
}

const LIVE: Circumstances = { isLive: true, isNamespacePaused: false };

/**
 * The same controller, with what people ask of a resource by annotations: a pause and a required approval hold its next
 * step back, and its status says so.
 */
export function controlled<O, S extends Step, L extends Observe, T extends Decides<O, S, L>>(
  controller: T & Decides<O, S, L>,
  options: ControlOptions,
): Controlled<T, O, S, L> {
  const controlOf = (observation: O) => {
    const control = controller.control?.(observation);
    return control && withLeastInterval(control, options.minPollIntervalMs);
  };
  return {
    ...controller,
    ...(controller.control !== undefined && { control: controlOf }),
    decide(observation, nowMs, circumstances = LIVE) {
      const decision = controller.decide(observation, nowMs, circumstances);
      const control = controlOf(observation);
      if (isObserve(decision)) return decision;
      if (control === undefined) return heldByNamespace(decision, circumstances) ?? decision;
      const statusStep = () => controller.statusStep?.(observation, nowMs);
      return decideUnder({ decision, control, circumstances, options, nowMs, statusStep });
    },
  };
}

interface Situation<S extends Step> {
  /** The controller's own. */
  readonly decision: S | Rest;
  readonly control: Control;
  readonly circumstances: Circumstances;
  readonly options: ControlOptions;
  readonly nowMs: number;
  /** The controller's own, too. */
  readonly statusStep: () => S | undefined;
}

function decideUnder<S extends Step>(situation: Situation<S>): NextStep<S | ControlStep, ControlObserve> {
  return acknowledgeRequest(situation) ?? acknowledgeApproval(situation) ?? decideHeld(situation);
}

/** The status goes on while a step is held. */
function decideHeld<S extends Step>(situation: Situation<S>): S | ControlStep | Rest {
  const { decision, control, nowMs, statusStep } = situation;
  // Whether the step after it is held shows once it is written.
  if (decision.do === 'updateStatus') return decision;
  const held = holdOf(situation);
  const report = reportHold(control, held, nowMs);
  if (report !== undefined) return report;
  if (held !== undefined) return statusStep() ?? held;
  return isStep(decision) ? withApproval(decision, situation) : withProblems(decision, control);
}

function holdOf<S extends Step>(situation: Situation<S>): Held | undefined {
  const { decision, control, circumstances, options } = situation;
  if (!isStep(decision) || options.areHoldsLifted === true) return undefined;
  // A pause must never hold a finalizer.
  if (control.isBeingDeleted) return awaitApproval(decision, situation);
  if (control.isPaused) return paused(decision, 'resource');
  return heldByNamespace(decision, circumstances) ?? awaitApproval(decision, situation);
}

function heldByNamespace(decision: NextStep, { isNamespacePaused }: Circumstances): Held | undefined {
  if (!isNamespacePaused || !isStep(decision) || decision.do === 'updateStatus') return undefined;
  return paused(decision, 'Namespace');
}

function paused(step: Step, whose: 'resource' | 'Namespace'): Held {
  const reason = whose === 'resource' ? 'Paused' : 'NamespacePaused';
  const held = { reason, message: pausedBy(whose), would: inWords(step) } as const;
  const event: DecisionEvent = {
    type: 'Normal',
    reason: 'Paused',
    action: 'Pause',
    note: heldMessage(held),
  };
  return { do: 'held', by: 'pause', ...held, event };
}

function inWords({ do: step, because }: Step): string {
  return `${step}: ${because}`;
}

function awaitApproval<S extends Step>(step: Step, situation: Situation<S>): Held | undefined {
  const plan = planToApprove(step, situation);
  if (plan === undefined) return undefined;
  const answer = answerTo(plan, situation.control);
  if (answer?.is === 'approved') return undefined;
  const message =
    answer === undefined
      ? `awaiting approval to ${deletionInWords(plan.deletes, situation.control.namespace)}`
      : answerInWords(answer, situation.options);
  const reason = answer === undefined ? 'AwaitingApproval' : 'Rejected';
  const held = { reason, message, would: inWords(step), plan: plan.id } as const;
  const note = heldMessage(held);
  const event: DecisionEvent = { type: 'Normal', reason: 'AwaitingApproval', action: 'Delete', note };
  return { do: 'held', by: 'approval', ...held, event };
}

/** Undefined where the step needs no approval. */
function planToApprove<S extends Step>(
  step: Step,
  { control, options }: Situation<S>,
): DeletionPlan | undefined {
  const { deletes } = step;
  if (deletes === undefined || deletes.count === 0) return undefined;
  return control.isApprovalRequired || isAskedFirst(deletes, options)
    ? planOf(step, deletes, control)
    : undefined;
}

/** Whatever the annotations of the resource say. */
function isAskedFirst(
  { count, approval }: DeletionPlan['deletes'],
  { requireApprovalOver = Infinity }: ControlOptions,
): boolean {
  if (approval !== undefined) return approval === 'required';
  return count > requireApprovalOver;
}

/** The history of the run and an Event say who has approved of it, and why: one for all its batches. */
function withApproval<S extends Step>(step: S, situation: Situation<S>): S {
  const plan = planToApprove(step, situation);
  const answer = plan && answerTo(plan, situation.control);
  if (answer === undefined) return step;
  const words = answerInWords(answer, situation.options);
  const note = `${words}; plan ${answer.plan}`;
  const event: DecisionEvent = { type: 'Normal', reason: 'Approved', action: 'Delete', note };
  const approval: Approval = {
    event,
    action: { ...partsOfAnswer(answer, situation.options), isOnce: true },
  };
  return { ...step, because: `${step.because}; ${words}`, approval };
}

/** Flux's convention: the status repeats the last request that was met by looking at what is there. */
function acknowledgeRequest<S extends Step>({
  control: { requestedAt, reported },
  circumstances,
}: Situation<S>): ControlObserve | ControlStep | undefined {
  if (requestedAt === undefined || reported === undefined) return undefined;
  if (requestedAt === reported.lastHandledReconcileAt) return undefined;
  const because = `a reconcile was requested: ${requestedAt}`;
  if (!circumstances.isLive) return observe(because);
  return controlStep(reported, because, { lastHandledReconcileAt: requestedAt });
}

/**
 * An approval counts once: it is used up when nothing is left to delete. One of a plan that is out of date stays until then:
 * nothing was done because of it.
 */
function acknowledgeApproval<S extends Step>({
  decision,
  control,
  circumstances,
  options,
}: Situation<S>): ControlObserve | ControlStep | undefined {
  const { answer, reported } = control;
  if (answer?.is !== 'approved' || reported === undefined) return undefined;
  if (answer.plan === reported.lastHandledApproval) return undefined;
  // A step does not end what was approved, nor does a wait between two of them.
  if (!isRest(decision) || (decision.do !== 'converged' && decision.do !== 'stalled')) return undefined;
  const because = `nothing is left to delete of plan ${answer.plan}, ${answerInWords(answer, options)}`;
  if (!circumstances.isLive) return observe(because);
  return controlStep(reported, because, { lastHandledApproval: answer.plan });
}

function withProblems(rest: Rest, control: Control): Rest {
  const cause = invalidAnnotation(control);
  return cause === undefined || rest.event !== undefined
    ? rest
    : { ...rest, event: warning(cause, 'Reconcile') };
}
