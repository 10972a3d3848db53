import type { Cause } from '../../api/cause.ts';
import { REJECTED_ANNOTATION } from '../../api/annotations.ts';
import { causeOf, isRest, isRestNamed, type HeldReason } from '../../runs/decision.ts';
import { RETRYING } from '../../runs/search-attributes.ts';
import { isTaskFailing, pendingStepOf, type PauseInTemporal } from '../../temporal/run-reader.ts';
import { failedStepIn, lastNextOf, type TimelineEntry, type PendingStep } from '../../temporal/timeline.ts';
import { durationText } from '../output.ts';
import { stateOfRun } from '../state.ts';
import { showOperator, workerProblem, type AdvisedProblem } from './advice.ts';
import { facts } from './explanation.ts';
import {
  ago,
  begunBy,
  commandOn,
  counted,
  decisionText,
  deletion,
  lastWriterOf,
  readable,
  desiredAndCurrent,
  type ExplanationBody,
} from './facts.ts';
import { liveIn, type CompleteFindings, type Open } from './findings.ts';

interface Rest {
  readonly because: string | undefined;
  readonly cause: Cause | undefined;
  readonly heldBy: HeldReason | undefined;
}

/** The part of an explanation that depends on the state of the open run. */
type Part = Omit<ExplanationBody, 'link'>;

export function explainOpenRun(open: Open): ExplanationBody {
  const { temporal } = open;
  const problem = workerProblem(temporal.workers, open.run, temporal);
  if (problem === undefined) return answerFrom(open, partForState(open));
  if (isDue(open)) return answerFrom(open, withoutWorker(open, problem));
  const answer = answerFrom(open, partForState(open));
  const but = facts({ but: `${problem.message}: the next step has to wait` });
  return { ...answer, facts: [...answer.facts, ...but], advice: [...problem.advice, ...answer.advice] };
}

/** What is wrong comes first. */
function answerFrom(
  open: Open,
  { reason: reason, headline, facts: own, advice, ...part }: Part,
): ExplanationBody {
  const { run, nowMs, link, temporal } = open;
  const signal = lastOf(temporal.timeline?.entries, 'signal');
  const last = signal && `${ago(signal.atMs, nowMs)} ago: ${readable(signal.reason) ?? ''}`;
  return {
    state: stateOfRun(run),
    ...part,
    reason: reason,
    headline: `${headline}${reason === undefined ? '' : `: ${reason}`}${counted(open)}, for ${ago(run.startedAtMs, nowMs)}`,
    facts: [...own, ...deletion(open), ...desiredAndCurrent(open), ...facts({ signal: last })],
    advice: [...advice, commandOn(open, 'history', 'what happened before')],
    link,
  };
}

/** Whether only a worker is missing. */
function isDue({ run, nowMs, live }: Open): boolean {
  const hasTaskAlone = run.workflowTaskAttempt !== undefined && run.pending.length === 0;
  const isOverdue = run.pending.some(({ nextTryAtMs }) => nextTryAtMs !== undefined && nextTryAtMs <= nowMs);
  // Such as an annotation that was removed while no worker was there.
  const now = liveIn({ live })?.next;
  const isRestOver =
    run.runState !== undefined &&
    run.runState !== RETRYING &&
    now !== undefined &&
    !(isRest(now) && now.do === (run.runState === 'Stalled' ? 'stalled' : 'held'));
  return hasTaskAlone || isOverdue || isRestOver;
}

function withoutWorker({ run, nowMs }: Open, { message, advice }: AdvisedProblem): Part {
  const pending = pendingStepOf(run);
  return {
    state: 'Waiting',
    headline: 'is waiting for a worker',
    facts: facts({ because: message, step: stepText(pending, nowMs), failed: failureText(pending) }),
    advice,
  };
}

function partForState(open: Open): Part {
  const { pause } = open.run;
  if (pause !== undefined) return pausedInTemporal(open, pause);
  switch (stateOfRun(open.run)) {
    case 'Retrying':
      if (isTaskFailing(open.run)) return failingTask(open);
      return backingOff(open) ?? retrying(open);
    case 'Stalled':
      return resting(open, 'stalled');
    case 'Paused':
      return paused(open);
    case 'AwaitingApproval':
      return awaitingApproval(open);
    case 'Waiting':
      return resting(open, 'wait');
    case 'Reconciling':
    case 'UpToDate':
    case 'NotReady':
    case 'Ignored':
      return reconciling(open);
  }
}

/** Workers take the run up, but it gets to no step. */
function failingTask({ run, temporal }: Open): Part {
  const attempt = `workflow task, attempt ${run.workflowTaskAttempt ?? 1}: it fails before any step`;
  const because = readable(temporal.timeline?.taskFailure?.message) ?? 'its history does not say';
  return {
    headline: 'is retrying',
    facts: facts({ step: attempt, because }),
    advice: [
      'bring back the version of the worker or the payload key that the run needs, as named above',
      'or terminate the run: a new one starts within minutes, and reads everything from the cluster',
      { run: `temporal workflow terminate --workflow-id ${run.workflowId}`, to: 'terminate the run' },
    ],
  };
}

function retrying(open: Open): Part {
  const pending = pendingStepOf(open.run);
  const { type, cause } = pending?.failure ?? {};
  const advice = cause?.advice ?? ["look into the operator's log", showOperator(open.temporal.program)];
  return {
    reason: cause?.reason ?? type,
    headline: 'is retrying',
    facts: facts({ because: failureText(pending), step: stepText(pending, open.nowMs) }),
    advice: [...advice, commandOn(open, 'retry', 'try again now')],
  };
}

/** The result of the last attempt is known, so the run itself waits for the next. */
function backingOff(open: Open): Part | undefined {
  const { temporal, nowMs } = open;
  const wait = lastOf(temporal.timeline?.entries, 'wait', ({ end }) => end.how === 'in progress');
  const failed = failedStepIn(temporal.timeline);
  if (open.run.runState !== RETRYING || wait === undefined || failed === undefined) return undefined;
  const { cause, type, message } = failed.failure ?? {};
  const again = durationText(Math.max(wait.atMs + wait.timeoutMs - nowMs, 0));
  return {
    reason: cause?.reason ?? type,
    headline: 'is retrying',
    facts: facts({ because: cause?.message ?? readable(message), step: `${failed.step}, next in ${again}` }),
    advice: [...(cause?.advice ?? []), commandOn(open, 'retry', 'try again now')],
  };
}

function paused(open: Open): Part {
  const { because = 'it is paused', heldBy } = restOf(open, 'held');
  const resume =
    heldBy === 'NamespacePaused'
      ? {
          run: `kubectl durable resume namespace/${open.place.namespace}`,
          to: 'resume everything in the namespace',
        }
      : commandOn(open, 'resume', 'end the pause');
  return {
    headline: 'is paused',
    facts: facts({ because, held: heldStep(open) }),
    advice: [resume, commandOn(open, 'plan', 'show what it would do')],
  };
}

function pausedInTemporal({ run, nowMs }: Open, { atMs, words, undo }: PauseInTemporal): Part {
  const pending = pendingStepOf(run);
  return {
    headline: 'is paused in Temporal',
    facts: facts({
      step: pending && `${pending.step}, attempt ${pending.attempt}`,
      failed: failureText(pending),
      paused: `${ago(atMs, nowMs)} ago ${words}`,
    }),
    advice: [{ run: undo, to: 'end the pause' }],
  };
}

function awaitingApproval(open: Open): Part {
  const { because = 'a person has to approve', heldBy } = restOf(open, 'held');
  const plan = commandOn(open, 'plan', 'show what it would delete');
  const held = facts({ because, held: heldStep(open) });
  if (heldBy !== 'Rejected') {
    const approve = commandOn(open, 'approve', 'allow the deletion');
    const advice = [plan, approve, commandOn(open, 'reject', 'refuse the deletion')];
    return { headline: 'is awaiting approval', facts: held, advice };
  }
  const approve = commandOn(open, 'approve', 'allow the deletion after all');
  const advice = [approve, plan, 'change the spec back, so that nothing has to be deleted'];
  const rejected = facts({ because, rejected: whenRejected(open), held: heldStep(open) });
  return { headline: 'is held by a rejection', facts: rejected, advice };
}

/** It does nothing until something changes. */
function resting(open: Open, rest: 'stalled' | 'wait'): Part {
  const { temporal, nowMs } = open;
  const { because: what, cause } = restOf(open, rest);
  const wait = lastOf(temporal.timeline?.entries, 'wait', ({ end }) => end.how === 'in progress');
  const againMs = wait === undefined ? nowMs : wait.atMs + wait.timeoutMs;
  const again = againMs <= nowMs ? '' : `, or in ${durationText(againMs - nowMs)}`;
  const waits = cause === undefined ? 'is waiting' : 'cannot continue yet';
  return {
    reason: cause?.reason,
    headline: rest === 'stalled' ? 'is stalled' : waits,
    facts: facts({
      because: cause?.message,
      for: rest === 'wait' ? (what ?? readable(wait?.summary)) : undefined,
      next: `${rest === 'stalled' ? 'nothing until a person acts; ' : ''}checks when something changes${again}`,
    }),
    advice: cause?.advice ?? [],
  };
}

function reconciling({ run, temporal: { timeline } }: Open): Part {
  const [pending] = run.pending;
  const current = lastOf(timeline?.entries, 'step', ({ end }) => end.how === 'in progress');
  const next = lastNextOf(timeline);
  // After a rest, the next step is not known yet.
  const step = next === undefined || isRestNamed(next) ? undefined : next.do;
  return {
    headline: 'is being reconciled',
    facts: [
      ...facts({
        step: pending === undefined ? step : `${pending.step}, attempt ${pending.attempt}`,
        because: readable(current?.summary),
      }),
      ...begunBy(timeline),
    ],
    advice: [],
  };
}

function lastOf<Kind extends TimelineEntry['kind']>(
  entries: readonly TimelineEntry[] | undefined,
  kind: Kind,
  isWanted: (entry: Extract<TimelineEntry, { kind: Kind }>) => boolean = () => true,
): Extract<TimelineEntry, { kind: Kind }> | undefined {
  const isOfKind = (entry: TimelineEntry): entry is Extract<TimelineEntry, { kind: Kind }> =>
    entry.kind === kind;
  return entries?.filter(isOfKind).findLast(isWanted);
}

function stepText(pending: PendingStep | undefined, nowMs: number): string | undefined {
  if (pending === undefined) return undefined;
  const { step, attempt, nextTryAtMs } = pending;
  if (nextTryAtMs === undefined) return `${step}, attempt ${attempt}, in progress`;
  const isDueNow = nextTryAtMs <= nowMs;
  const next = isDueNow ? 'due, not started' : `next in ${durationText(nextTryAtMs - nowMs)}`;
  return `${step}, attempt ${attempt}, ${next}`;
}

function failureText(pending: PendingStep | undefined): string | undefined {
  return pending?.failure?.cause?.message ?? readable(pending?.failure?.message);
}

function heldStep(open: Open): string | undefined {
  const next = liveIn(open)?.next;
  return next?.do === 'held' && 'would' in next ? next.would : undefined;
}

/** Why a run rests: from its history, or else, such as without a key for it, from the controller's decision now. */
function restOf(known: CompleteFindings, rest: 'stalled' | 'held' | 'wait'): Rest {
  const [then, decided] = [lastNextOf(known.temporal.timeline), liveIn(known)?.next];
  const now = decided !== undefined && isRest(decided) && decided.do === rest ? decided : undefined;
  const cause = now && causeOf(now);
  if (then?.do === rest && isRestNamed(then))
    return { because: then.for ?? then.because, cause: then.cause ?? cause, heldBy: then.held };
  const heldBy = now?.do === 'held' && 'reason' in now ? now.reason : undefined;
  return { because: now && decisionText(now), cause, heldBy };
}

/** `4m12s ago: plan 2-3f9c2a1b` */
function whenRejected(open: Open): string | undefined {
  const { metadata } = open.cluster.object;
  const now = liveIn(open)?.next;
  const plan = now?.do === 'held' && 'plan' in now ? now.plan : undefined;
  const { atMs } = lastWriterOf(metadata, 'f:metadata', 'f:annotations', `f:${REJECTED_ANNOTATION}`) ?? {};
  const when = atMs === undefined ? [] : [`${ago(atMs, open.nowMs)} ago`];
  return [...when, ...(plan === undefined ? [] : [`plan ${plan}`])].join(': ') || undefined;
}
