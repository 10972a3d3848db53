import { isRetryAfterTimer, whatIsWaitedFor } from '../../contract/sentences.ts';
import type { Advice, Trouble } from '../../contract/words.ts';
import { unreachable } from '../../contract/unreachable.ts';
import { isPausedByNamespace, isRejection } from '../../controllers/control/held-message.ts';
import { hasStatus } from '../controllers.ts';
import { durationText, serversWords } from '../output.ts';
import { titleOf } from '../resource-name.ts';
import { pendingStepOf } from '../runs/runs.ts';
import {
  ENCRYPTED_WORDS,
  lastStepOf,
  type PendingStep,
  type SignalEntry,
  type StepEntry,
  type WaitEntry,
} from '../runs/timeline.ts';
import { workerProblem, type WorkerProblem } from '../runs/workers.ts';
import { conditionsIn, stateOfRun, type State } from '../state.ts';
import type { Explanation, Fact } from './explanation.ts';
import {
  ago,
  commandOn,
  decisionText,
  deletion,
  orHowToDecrypt,
  progressOf,
  wantedAndThere,
} from './facts.ts';
import { liveIn, objectNameOf, type Known, type Open } from './findings.ts';
import { adviceOn, workerProblemText } from './general-advice.ts';

/** Of a resource that a run is open for. */
export function explainOpenRun(open: Open): Explanation {
  const problem = workerProblem(open.temporal.workers, open.run);
  if (problem === undefined) return explainState(open);
  return isDue(open) ? withoutWorker(open, problem) : untilDue(open, problem);
}

function explainState(open: Open): Explanation {
  const state = stateOfRun(open.run);
  switch (state) {
    case 'Retrying':
      return retrying(open);
    case 'Stalled':
      return stalled(open);
    case 'Paused':
      return paused(open);
    case 'AwaitingApproval':
      return awaitingApproval(open);
    case 'Waiting':
      return waiting(open);
    case 'Reconciling':
    case 'UpToDate':
    case 'Ignored':
      return reconciling(open);
    default:
      return unreachable(state);
  }
}

interface OpenRunParts {
  readonly state: State;
  readonly headline: string;
  readonly facts: readonly Fact[];
  readonly advice: readonly Advice[];
}

/** What all explanations of open runs have in common. */
function openRun(open: Open, { state, headline, facts, advice }: OpenRunParts): Explanation {
  const { run, nowMs, link } = open;
  const progress = progressOf(open);
  const duration = `for ${ago(run.startedAtMs, nowMs)}`;
  return {
    resource: titleOf(objectNameOf(open)),
    state,
    headline: progress === undefined ? `${headline}, ${duration}` : `${headline}: ${progress}, ${duration}`,
    facts: [...deletion(open), ...wantedAndThere(open), ...facts, ...lastSignal(open)],
    advice: [...advice, commandOn(open, 'history', 'what happened before')],
    link,
    exit: 1,
  };
}

/** Whether it has something to do, and only a worker is missing. */
function isDue(open: Open): boolean {
  const { run, nowMs } = open;
  const hasTaskAlone = run.hasWorkflowTask && run.pending.length === 0;
  return hasTaskAlone || run.pending.some((step) => isOverdue(step, nowMs)) || isRestOver(open);
}

/** Such as by an annotation that was taken away while nobody watched. */
function isRestOver(open: Open): boolean {
  const { runState } = open.run;
  const now = liveIn(open)?.next.do;
  return runState !== undefined && now !== undefined && now !== (runState === 'Stalled' ? 'stalled' : 'held');
}

function isOverdue({ nextTryAtMs }: PendingStep, nowMs: number): boolean {
  return nextTryAtMs !== undefined && nextTryAtMs <= nowMs;
}

function withoutWorker(open: Open, problem: WorkerProblem): Explanation {
  const { because, advice } = workerProblemText(problem, open.temporal);
  const pending = pendingStepOf(open.run);
  const failed = wordsOfFailure(pending);
  return openRun(open, {
    state: 'Waiting',
    headline: 'is waiting for a worker',
    facts: [
      ...(pending ? [stepFact(pending, open.nowMs)] : []),
      ...(failed === '' ? [] : [{ label: 'failed', text: failed }]),
      { label: 'because', text: because },
    ],
    advice,
  });
}

/** It needs no worker yet, and none is there. */
function untilDue(open: Open, problem: WorkerProblem): Explanation {
  const explanation = explainState(open);
  const { because, advice } = workerProblemText(problem, open.temporal);
  return {
    ...explanation,
    facts: [...explanation.facts, { label: 'but', text: `${because}: whatever comes next has to wait` }],
    advice: [...advice, ...explanation.advice],
  };
}

function stepFact({ step, attempt, nextTryAtMs }: PendingStep, nowMs: number): Fact {
  return { label: 'step', text: `${step}, attempt ${attempt}, ${nextText(nextTryAtMs, nowMs)}` };
}

function nextText(nextTryAtMs: number | undefined, nowMs: number): string {
  if (nextTryAtMs === undefined) return 'in progress';
  return nextTryAtMs <= nowMs ? 'due, not begun' : `next in ${durationText(nextTryAtMs - nowMs)}`;
}

function wordsOfFailure(pending: PendingStep | undefined): string {
  return serversWords(orHowToDecrypt(pending?.failure?.message ?? ''));
}

function retrying(open: Open): Explanation {
  const pending = pendingStepOf(open.run);
  const { step = '', failure } = pending ?? {};
  const message = wordsOfFailure(pending);
  return openRun(open, {
    state: 'Retrying',
    headline: 'is retrying',
    facts: [...(pending ? [stepFact(pending, open.nowMs)] : []), { label: 'because', text: message }],
    advice: [
      ...adviceFor(open, { is: 'failing', step, failure: failure?.type ?? '', message }),
      commandOn(open, 'retry', 'try again now'),
    ],
  });
}

function stalled(open: Open): Explanation {
  const because = reasonToRest(open, 'stalled') ?? '';
  return openRun(open, {
    state: 'Stalled',
    headline: 'is stalled',
    facts: [
      { label: 'because', text: because },
      ...problemFact(open, because),
      { label: 'retries', text: 'none: waiting does not help; it goes on when somebody removes the cause' },
    ],
    advice: adviceFor(open, { is: 'stalled', because }),
  });
}

function paused(open: Open): Explanation {
  const because = reasonToRest(open, 'held') ?? 'it is paused';
  return openRun(open, {
    state: 'Paused',
    headline: 'is paused',
    facts: [{ label: 'because', text: because }, ...heldFact(open)],
    advice: [resumption(because, open), commandOn(open, 'plan', 'show what it would do')],
  });
}

/** Who has paused the Namespace has paused all in it. */
function resumption(because: string, open: Open): Advice {
  if (!isPausedByNamespace(because)) return commandOn(open, 'resume', 'end the pause');
  return {
    run: `kubectl durable resume namespace/${open.place.namespace}`,
    to: 'end the pause of all in it',
  };
}

function awaitingApproval(open: Open): Explanation {
  const because = reasonToRest(open, 'held') ?? 'a person has to approve';
  return openRun(open, {
    state: 'AwaitingApproval',
    ...(isRejection(because) ? afterRejection(open) : beforeAnswer(open)),
    facts: [{ label: 'because', text: because }, ...heldFact(open)],
  });
}

type Answering = Pick<OpenRunParts, 'headline' | 'advice'>;

function beforeAnswer(open: Open): Answering {
  return {
    headline: 'is awaiting approval',
    advice: [
      commandOn(open, 'plan', 'show what it would delete'),
      commandOn(open, 'approve', 'allow it to delete that'),
      commandOn(open, 'reject', 'keep that'),
    ],
  };
}

/** The run stays open, so that people see it: the spec still asks for the deletion. */
function afterRejection(open: Open): Answering {
  return {
    headline: 'is held by a rejection',
    advice: [
      'change the spec back, and it is up to date again',
      commandOn(open, 'plan', 'show what it would delete'),
      commandOn(open, 'approve', 'allow it to delete that after all'),
    ],
  };
}

/** What is held back, in the decision's own words. */
function heldFact(open: Open): Fact[] {
  const next = liveIn(open)?.next;
  return next?.do === 'held' && 'would' in next ? [{ label: 'held', text: next.would }] : [];
}

function waiting(open: Open): Explanation {
  const { temporal, nowMs } = open;
  const what = whatIsWaitedFor(reasonToRest(open, 'wait') ?? '');
  const timer = temporal.timeline?.entries.findLast(
    (entry): entry is WaitEntry => entry.kind === 'wait' && entry.end.how === 'in progress',
  );
  const isRetryAfter = timer !== undefined && isRetryAfterTimer(timer.summary);
  const againMs = timer === undefined ? nowMs : timer.atMs + timer.atMostMs;
  const again = againMs <= nowMs ? '' : `, or in ${durationText(againMs - nowMs)}`;
  return openRun(open, {
    state: 'Waiting',
    headline: 'is waiting',
    facts: [
      ...problemFact(open, what),
      { label: 'for', text: isRetryAfter ? 'as long as the API server asked for (Retry-After)' : what },
      { label: 'next', text: `looks again as soon as that happens${again}` },
    ],
    advice: adviceFor(open, { is: 'waiting', for: what }),
  });
}

function reconciling(open: Open): Explanation {
  const { run, temporal, nowMs } = open;
  const { timeline } = temporal;
  const [pending] = run.pending;
  const last = lastStepOf(timeline);
  const current = timeline?.entries.findLast(
    (entry): entry is StepEntry => entry.kind === 'step' && entry.end.how === 'in progress',
  );
  const step = pending?.step ?? (last?.end.how === 'done' ? last.end.next?.do : undefined);
  const text = pending === undefined ? step : `${pending.step}, attempt ${pending.attempt}`;
  return openRun(open, {
    state: 'Reconciling',
    headline: 'is being reconciled',
    facts: [
      ...(text === undefined ? [] : [{ label: 'step', text }]),
      ...(current?.summary === undefined
        ? []
        : [{ label: 'because', text: orHowToDecrypt(current.summary) }]),
      { label: 'since', text: `${ago(run.startedAtMs, nowMs)}: ${orHowToDecrypt(timeline?.reason ?? '')}` },
    ],
    advice: [],
  });
}

function adviceFor({ controller, cluster }: Known, trouble: Trouble): readonly Advice[] {
  return controller.words?.advice?.(trouble, cluster.object) ?? adviceOn(trouble);
}

/** What its status says is wrong, unless that is said already. */
function problemFact({ controller, cluster }: Known, said: string): Fact[] {
  // The conditions of a Pod are not the operator's.
  if (!hasStatus(controller)) return [];
  const conditions = conditionsIn(cluster.object['status']);
  const wrong =
    conditions.find(({ type, status }) => type === 'Stalled' && status === 'True') ??
    conditions.find(({ type, status }) => type === 'Ready' && status !== 'True');
  const message = wrong?.message ?? '';
  return message === '' || said.includes(message) ? [] : [{ label: 'problem', text: message }];
}

/** What ended the last wait of an open run. */
function lastSignal({ temporal, nowMs }: Known): Fact[] {
  const signal = temporal.timeline?.entries.findLast(
    (entry): entry is SignalEntry => entry.kind === 'signal',
  );
  if (signal === undefined) return [];
  return [{ label: 'signal', text: `${ago(signal.atMs, nowMs)} ago: ${orHowToDecrypt(signal.reason)}` }];
}

/** Why a run rests: as it says itself, or, where that takes a key, as the controller decides now. */
function reasonToRest(known: Known, rest: 'stalled' | 'held' | 'wait'): string | undefined {
  const last = lastStepOf(known.temporal.timeline);
  const next = last?.end.how === 'done' ? last.end.next : undefined;
  if (next?.do === rest && next.because !== ENCRYPTED_WORDS) return next.because;
  const now = liveIn(known)?.next;
  return now?.do === rest ? decisionText(now) : next?.because;
}
