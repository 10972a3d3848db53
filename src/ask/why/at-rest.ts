import type { Advice } from '../../contract/cause.ts';
import { PAUSED_ANNOTATION } from '../../contract/control.ts';
import { causeOf } from '../../contract/decision.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { firstOf, UPDATE_PLUGIN, whyLeftOut, whyNoOperator } from '../operator-words.ts';
import { hasStatus } from '../controllers.ts';
import { endedWithNamespace, stateByDecision, stateByStatus, wrongAtRest } from '../state.ts';
import { FIND_LEADER, SHOW_OPERATOR, workerProblem, type Problem } from './advice.ts';
import { facts } from './explanation.ts';
import {
  ago,
  commandOn,
  decisionText,
  deletion,
  lastRunOf,
  nextFact,
  progressOf,
  wantedAndThere,
  whyUnknown,
  WITHOUT_OPTIONS,
  type Answer,
} from './facts.ts';
import { liveIn, type Known, type Reached } from './findings.ts';

export function explainAtRest(known: Known): Answer {
  return (
    leftOut(known) ??
    withoutOperator(known) ??
    unknownDecision(known) ??
    nothingToDo(known) ??
    notStarted(known)
  );
}

/** The operator's options, or the resource itself, prevent any work. */
function leftOut(known: Known): Answer | undefined {
  const { controller, cluster } = known;
  const ended = endedWithNamespace(controller, cluster.object, cluster.namespace);
  const reason = leftOutByOptions(known) ?? ended ?? ignored(known);
  const isEnded = reason === ended;
  return (
    reason && {
      state: 'Ignored',
      ...(isEnded && { code: ended?.code }),
      headline: `is left alone by the operator${isEnded ? ': its namespace is being deleted' : ''}`,
      facts: [...deletion(known), ...facts({ because: reason.because }), ...lastRunOf(known)],
      advice: reason.advice,
      exit: isEnded ? 1 : 0,
    }
  );
}

function leftOutByOptions({ place, temporal: { settings } }: Known): Problem | undefined {
  const reason = settings && whyLeftOut(settings.options.reconciliation, place);
  return reason && { because: reason.because, advice: [reason.advice] };
}

function isBeingDeleted({ cluster }: Known): boolean {
  return cluster.object.metadata.deletionTimestamp !== undefined;
}

/** The content of a deleted Namespace may hold it. Its conditions name that. */
function whatIsLeft(known: Known): Advice[] {
  const { controller, place } = known;
  if (controller.primary.type.namespaced || !isBeingDeleted(known)) return [];
  return [
    'wait until what is in it has ended, or have whoever put finalizers on that take them away',
    { run: `kubectl describe namespace ${place.name}`, to: 'show what is left in it, and what holds that' },
  ];
}

function ignored(known: Known): Problem | undefined {
  const { controller, cluster } = known;
  const next = liveIn(known)?.next.do ?? 'converged';
  return next === 'converged' ? controller.words?.ignored?.(cluster.object) : undefined;
}

/** The options of the operator are unknown. There may be no operator. */
function withoutOperator(known: Known): Answer | undefined {
  const { settings, unreadable, otherTaskQueues } = known.temporal;
  if (settings !== undefined) return undefined;
  const { run } = commandOn(known, 'why', '');
  const others = firstOf(otherTaskQueues).map((each) => ({
    run: `${run} --task-queue ${each}`,
    to: 'ask that operator',
  }));
  return {
    headline:
      unreadable === undefined
        ? 'has no operator, as far as is known'
        : 'has an operator that this plugin is too old for',
    facts: [
      ...wantedAndThere(known),
      ...facts({ because: whyNoOperator(known.temporal) }),
      ...nextFact(known, WITHOUT_OPTIONS),
      ...lastRunOf(known),
    ],
    advice: others.length === 0 ? howToHaveOperator(known.temporal) : others,
    exit: 1,
  };
}

function howToHaveOperator({ unreadable, otherCluster }: Reached): Advice[] {
  if (unreadable !== undefined) return [UPDATE_PLUGIN];
  return [
    otherCluster === undefined
      ? 'start the operator, or name its task queue with --task-queue'
      : 'start an operator for this cluster with a --task-queue of its own, and name it here; or check the kubeconfig and its context',
    SHOW_OPERATOR,
  ];
}

/** Not all objects can be read, often because a permission is missing. */
function unknownDecision(known: Known): Answer | undefined {
  const { live, cluster } = known;
  if (!(live instanceof ApiError)) return undefined;
  const { state, message } = stateByStatus(cluster.object);
  const isUpToDate = state === 'UpToDate';
  return {
    state,
    headline: `has no open run: ${isUpToDate ? 'nothing seems to be needed' : message}`,
    facts: [...facts({ unclear: whyUnknown(live, 'you may not see all of it') }), ...lastRunOf(known)],
    advice: [],
    exit: isUpToDate ? 0 : 1,
  };
}

function nothingToDo(known: Known): Answer | undefined {
  const next = liveIn(known)?.next;
  if (next?.do !== 'converged') return undefined;
  const { headline, advice, because, ...more } = notReady(known) ?? wellOrGoing(known);
  const hasRun = known.temporal.run !== undefined;
  const problem = problemOfWorkers(known);
  return {
    ...more,
    headline,
    facts: [
      ...facts({ because }),
      ...deletion(known),
      ...wantedAndThere(known),
      ...facts({ found: because === undefined ? decisionText(next) : undefined }),
      ...lastRunOf(known),
      ...facts({ but: problem && `${problem.because}: a change would have to wait` }),
    ],
    advice: [
      ...advice,
      ...whatIsLeft(known),
      ...(hasRun ? [commandOn(known, 'history', 'what happened before')] : []),
    ],
    ...(hasRun && { link: known.link }),
  };
}

type AtRest = Pick<Answer, 'state' | 'code' | 'headline' | 'advice' | 'exit'> & {
  readonly because?: string | undefined;
};

function notReady(known: Known): AtRest | undefined {
  const { controller, cluster, nowMs } = known;
  const next = liveIn(known)?.next;
  const says = hasStatus(controller) ? stateByStatus(cluster.object) : undefined;
  const cause = (next && causeOf(next)) ?? (says?.state === 'NotReady' ? says.cause : undefined);
  if (cause === undefined && says?.state !== 'Reconciling') return undefined;
  const progress = progressOf(known);
  const counted = progress === undefined ? '' : ` (${progress})`;
  const since = says?.since === undefined ? '' : `, for ${ago(Date.parse(says.since), nowMs)}`;
  return {
    state: cause === undefined ? 'Reconciling' : 'NotReady',
    code: cause?.code,
    headline: `is not ready${cause === undefined ? ' yet' : `: ${cause.code}`}${counted}${since}`,
    because: cause?.because ?? says?.message,
    advice: cause?.advice ?? [],
    exit: 1,
  };
}

function wellOrGoing(known: Known): AtRest {
  const { code, advice = [] } = wrongAtRest(known.cluster.object) ?? {};
  const headline = 'is being deleted, and the operator has nothing left to do';
  if (isBeingDeleted(known)) return { state: 'UpToDate', code, headline, advice, exit: 1 };
  if (code !== undefined) return notFollowed(known, code);
  const progress = progressOf(known);
  const counted = progress === undefined ? '' : `: ${progress}`;
  return { state: 'UpToDate', headline: `is up to date${counted}`, advice: [], exit: 0 };
}

/** Somebody meant to pause it, or to ask for approval. */
function notFollowed(known: Known, code: string): AtRest {
  const paused = known.cluster.object.metadata.annotations?.[PAUSED_ANNOTATION] ?? 'false';
  const isPauseValid = paused === 'true' || paused === 'false';
  const value = JSON.stringify(paused.slice(0, VALUE_MAX));
  return {
    state: 'UpToDate',
    code,
    headline: isPauseValid
      ? 'has an annotation that cannot be followed'
      : `is not paused: the value ${value} of its annotation cannot be followed`,
    advice: isPauseValid
      ? []
      : [commandOn(known, 'pause', 'pause it'), commandOn(known, 'resume', 'remove the annotation')],
    exit: 1,
  };
}

const VALUE_MAX = 40;

function notStarted(known: Known): Answer {
  const next = liveIn(known)?.next;
  const { because, advice } = problemOfWorkers(known) ?? {
    because: 'the operator has not started one: the change is seconds old, or no operator watches',
    advice: ['ask again in ten seconds; if it stays, read the log of the leader', ...FIND_LEADER],
  };
  return {
    state: next === undefined ? 'Waiting' : stateByDecision(next),
    headline: 'needs a reconcile, and no run is open for it',
    facts: [
      ...deletion(known),
      ...wantedAndThere(known),
      ...nextFact(known),
      ...facts({ because }),
      ...lastRunOf(known),
    ],
    advice,
    exit: 1,
  };
}

function problemOfWorkers({ temporal }: Known): Problem | undefined {
  const { workers, taskQueue } = temporal;
  return workerProblem(workers, { taskQueue, version: undefined }, taskQueue);
}
