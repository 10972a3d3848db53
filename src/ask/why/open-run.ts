import { isRetryAfterTimer, whatIsWaitedFor } from '../../contract/sentences.ts';
import type { Advice, Trouble } from '../../contract/words.ts';
import { isRestName } from '../../contract/decision.ts';
import { unreachable } from '../../contract/unreachable.ts';
import { isPausedByNamespace, isRejection } from '../../controllers/control/held-message.ts';
import { hasStatus } from '../controllers.ts';
import { durationText } from '../output.ts';
import type { PauseInTemporal } from '../runs/pause.ts';
import { pendingStepOf } from '../runs/runs.ts';
import { ENCRYPTED_WORDS, lastStepOf, type StepEntry, type WaitEntry } from '../runs/timeline.ts';
import { workerProblem } from '../runs/workers.ts';
import { conditionsIn, isTaskFailing, stateOfRun } from '../state.ts';
import type { Explanation, Fact } from './explanation.ts';
import { ago, commandOn, decisionText, orHowToDecrypt } from './facts.ts';
import { failingTask } from './failing-task.ts';
import { liveIn, type Known, type Open } from './findings.ts';
import { adviceOn } from './general-advice.ts';
import { isDue, untilDue, withoutWorker } from './missing-worker.ts';
import { openRun, stepFact, wordsOfFailure, type OpenRunParts } from './open-run-parts.ts';

/** Of a resource that a run is open for. */
export function explainOpenRun(open: Open): Explanation {
  const problem = workerProblem(open.temporal.workers, open.run);
  if (problem === undefined) return explainState(open);
  return isDue(open) ? withoutWorker(open, problem) : untilDue(open, problem, explainState(open));
}

function explainState(open: Open): Explanation {
  const { pause } = open.run;
  if (pause !== undefined) return pausedInTemporal(open, pause);
  const state = stateOfRun(open.run);
  switch (state) {
    case 'Retrying':
      return isTaskFailing(open.run) ? failingTask(open) : retrying(open);
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

function pausedInTemporal(open: Open, { atMs, words, undo }: PauseInTemporal): Explanation {
  const pending = pendingStepOf(open.run);
  const failed = wordsOfFailure(pending);
  return openRun(open, {
    state: 'Paused',
    headline: 'is paused in Temporal',
    facts: [
      ...(pending ? [{ label: 'step', text: `${pending.step}, attempt ${pending.attempt}` }] : []),
      ...(failed === '' ? [] : [{ label: 'failed', text: failed }]),
      { label: 'paused', text: `${ago(atMs, open.nowMs)} ago ${words}` },
    ],
    advice: [{ run: undo, to: 'end the pause' }],
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
  const next = last?.end.how === 'done' ? last.end.next?.do : undefined;
  // After a rest, the step is not known yet.
  const step = next === undefined || isRestName(next) ? undefined : next;
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

/** Why a run rests: as it says itself, or, where that takes a key, as the controller decides now. */
function reasonToRest(known: Known, rest: 'stalled' | 'held' | 'wait'): string | undefined {
  const last = lastStepOf(known.temporal.timeline);
  const next = last?.end.how === 'done' ? last.end.next : undefined;
  if (next?.do === rest && next.because !== ENCRYPTED_WORDS) return next.because;
  const now = liveIn(known)?.next;
  return now?.do === rest ? decisionText(now) : next?.because;
}
