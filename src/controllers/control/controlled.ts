import { type Circumstances, type Control } from '../../contract/control.ts';
import type { Controller } from '../../contract/controller.ts';
import {
  isObserve,
  isRest,
  isStep,
  type Decision,
  type DecisionEvent,
  type Held,
  type Observe,
  type Rest,
  type Step,
} from '../../contract/decision.ts';
import { pausedBy, rejectedBy } from '../../contract/sentences.ts';
import { answerTo, deletionInWords, planOf } from './approval.ts';
import { controlStep, reportHold, type ControlStep } from './report.ts';

/** The operator's options that concern all controllers. */
export interface ControlOptions {
  /** Whatever deletes more objects than that at once has to be approved; undefined: only where an annotation asks. */
  readonly requireApprovalOver?: number | undefined;
}

/** What of a controller is of interest here. */
export type Decides<O, S extends Step, L extends Observe> = Pick<
  Controller<unknown, unknown, O, S, L>,
  'decide' | 'control'
>;

/** A controller that may also write what its controls have to say into the status. */
export type Controlled<T, O, S extends Step, L extends Observe> = Omit<T, 'decide'> & {
  decide(
    observation: O,
    nowMs: number,
    circumstances?: Circumstances,
  ): Decision<S | ControlStep, L | ControlObserve>;
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
  return {
    ...controller,
    decide(observation, nowMs, circumstances = LIVE) {
      const decision = controller.decide(observation, nowMs, circumstances);
      const control = controller.control?.(observation);
      if (isObserve(decision)) return decision;
      if (control === undefined) return heldByNamespace(decision, circumstances) ?? decision;
      return decideUnder({ decision, control, circumstances, options, nowMs });
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
}

function decideUnder<S extends Step>(situation: Situation<S>): Decision<S | ControlStep, ControlObserve> {
  const { decision, control, nowMs } = situation;
  const held = holdOf(situation);
  return (
    acknowledgeRequest(situation) ??
    acknowledgeApproval(situation) ??
    reportHold(control, held, nowMs) ??
    held ??
    withProblems(decision, control)
  );
}

function holdOf<S extends Step>(situation: Situation<S>): Held | undefined {
  const { decision, control, circumstances } = situation;
  if (!isStep(decision) || decision.do === 'updateStatus') return undefined;
  // A pause must never hold a finalizer.
  if (control.isBeingDeleted) return awaitApproval(decision, situation);
  if (control.isPaused) return paused(decision, 'resource');
  return heldByNamespace(decision, circumstances) ?? awaitApproval(decision, situation);
}

function heldByNamespace(decision: Decision, { isNamespacePaused }: Circumstances): Held | undefined {
  if (!isNamespacePaused || !isStep(decision) || decision.do === 'updateStatus') return undefined;
  return paused(decision, 'Namespace');
}

function paused(step: Step, whose: 'resource' | 'Namespace'): Held {
  const because = pausedBy(whose);
  const event: DecisionEvent = {
    type: 'Normal',
    reason: 'Paused',
    action: 'Pause',
    note: `${because}; held is ${inWords(step)}`,
  };
  return { do: 'held', by: 'pause', because, would: inWords(step), event };
}

function inWords({ do: step, because }: Step): string {
  return `${step}: ${because}`;
}

function awaitApproval<S extends Step>(step: Step, { control, options }: Situation<S>): Held | undefined {
  const plan = planOf(step, control);
  if (plan === undefined) return undefined;
  const { requireApprovalOver = Infinity } = options;
  const { id, deletes } = plan;
  if (!control.isApprovalRequired && deletes.count <= requireApprovalOver) return undefined;
  const answer = answerTo(plan, control);
  if (answer?.is === 'approved') return undefined;
  const because =
    answer === undefined ? `awaiting approval to ${deletionInWords(deletes)}` : rejectedBy(answer);
  const note = `${because}; held is ${inWords(step)}; plan ${id}`;
  const event: DecisionEvent = { type: 'Normal', reason: 'AwaitingApproval', action: 'Delete', note };
  return { do: 'held', by: 'approval', because, would: inWords(step), plan: id, event };
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

/** An approval counts once: what it was about is done, or not needed any more. */
function acknowledgeApproval<S extends Step>({
  decision,
  control,
  circumstances,
}: Situation<S>): ControlObserve | ControlStep | undefined {
  const { answer, reported } = control;
  if (answer?.is !== 'approved' || reported === undefined) return undefined;
  if (answer.plan === reported.lastHandledApproval) return undefined;
  const plan = isStep(decision) ? planOf(decision, control) : undefined;
  // A step that deletes nothing does not end what was approved, nor does a wait between two that do.
  const isAtRest = decision.do === 'converged' || decision.do === 'stalled';
  const isOver = plan === undefined ? isAtRest : answerTo(plan, control) === undefined;
  if (!isOver) return undefined;
  const because = `what was approved by ${answer.by === '' ? 'somebody' : answer.by} is done`;
  if (!circumstances.isLive) return observe(because);
  return controlStep(reported, because, { lastHandledApproval: answer.plan });
}

/** An annotation that cannot be followed is no reason not to reconcile, but somebody has to know. */
function withProblems<S extends Step>(decision: S | Rest, { problems }: Control): S | Rest {
  if (problems.length === 0 || !isRest(decision) || decision.event !== undefined) return decision;
  const note = problems.join('; ');
  return { ...decision, event: { type: 'Warning', reason: 'InvalidAnnotation', action: 'Reconcile', note } };
}
