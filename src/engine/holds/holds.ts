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
import { reportHold, statusWrite } from './report.ts';

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
export interface Decides<O> extends Pick<Controller<unknown, unknown, O>, 'control' | 'statusStep'> {
  decide(observation: O, nowMs: number, circumstances?: Circumstances): NextStep;
}

function observe(because: string): Observe {
  return { do: 'observe', because, isOfEverything: true };
}

const LIVE: Circumstances = { isLive: true, isNamespacePaused: false };

/**
 * What it decides under what people ask of a resource by annotations: a pause and a required approval hold its next step back, and its
 * status says so.
 */
export function controlled<O>(
  its: Decides<O>,
  options: ControlOptions,
): Pick<Decides<O>, 'decide' | 'control'> {
  const controlOf = (observation: O) => {
    const control = its.control?.(observation);
    return control && withLeastInterval(control, options.minPollIntervalMs);
  };
  return {
    ...(its.control !== undefined && { control: controlOf }),
    decide(observation, nowMs, circumstances = LIVE) {
      const decision = its.decide(observation, nowMs, circumstances);
      const control = controlOf(observation);
      if (isObserve(decision)) return decision;
      if (control === undefined) return heldByNamespace(decision, circumstances) ?? decision;
      const statusStep = () => its.statusStep?.(observation, nowMs);
      return decideUnder({ decision, control, circumstances, options, nowMs, statusStep });
    },
  };
}

interface Situation {
  /** The controller's own. */
  readonly decision: Step | Rest;
  readonly control: Control;
  readonly circumstances: Circumstances;
  readonly options: ControlOptions;
  readonly nowMs: number;
  /** The controller's own, too. */
  readonly statusStep: () => Step | undefined;
}

function decideUnder(situation: Situation): NextStep {
  return acknowledgeRequest(situation) ?? acknowledgeApproval(situation) ?? decideHeld(situation);
}

/** The status goes on while a step is held. */
function decideHeld(situation: Situation): Step | Rest {
  const { decision, control, nowMs, statusStep } = situation;
  // The status is written first. What comes after it may be held.
  if (decision.do === 'updateStatus') return decision;
  const held = holdOf(situation);
  const report = reportHold(control, held, nowMs);
  if (report !== undefined) return report;
  if (held !== undefined) return statusStep() ?? held;
  return isStep(decision) ? withApproval(decision, situation) : withProblems(decision, control);
}

function holdOf(situation: Situation): Held | undefined {
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

function awaitApproval(step: Step, situation: Situation): Held | undefined {
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
function planToApprove(step: Step, { control, options }: Situation): DeletionPlan | undefined {
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
function withApproval(step: Step, situation: Situation): Step {
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
function acknowledgeRequest({
  control: { requestedAt, reported },
  circumstances,
}: Situation): Observe | Step | undefined {
  if (requestedAt === undefined || reported === undefined) return undefined;
  if (requestedAt === reported.lastHandledReconcileAt) return undefined;
  const because = `a reconcile was requested: ${requestedAt}`;
  if (!circumstances.isLive) return observe(because);
  return statusWrite(reported, because, { lastHandledReconcileAt: requestedAt });
}

/**
 * An approval counts once: it is used up when nothing is left to delete. One of a plan that is out of date stays until then:
 * nothing was done because of it.
 */
function acknowledgeApproval({
  decision,
  control,
  circumstances,
  options,
}: Situation): Observe | Step | undefined {
  const { answer, reported } = control;
  if (answer?.is !== 'approved' || reported === undefined) return undefined;
  if (answer.plan === reported.lastHandledApproval) return undefined;
  // A step does not end what was approved, nor does a wait between two of them.
  if (!isRest(decision) || (decision.do !== 'converged' && decision.do !== 'stalled')) return undefined;
  const because = `nothing is left to delete of plan ${answer.plan}, ${answerInWords(answer, options)}`;
  if (!circumstances.isLive) return observe(because);
  return statusWrite(reported, because, { lastHandledApproval: answer.plan });
}

function withProblems(rest: Rest, control: Control): Rest {
  const cause = invalidAnnotation(control);
  return cause === undefined || rest.event !== undefined
    ? rest
    : { ...rest, event: warning(cause, 'Reconcile') };
}
