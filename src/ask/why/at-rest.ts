import type { Advice } from '../../api/cause.ts';
import { isNamespaceType, namespaceOf } from '../../api/resource-type.ts';
import { PAUSED_ANNOTATION } from '../../api/annotations.ts';
import { causeOf, isConverged } from '../../runs/decision.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { firstOf, UPDATE_PLUGIN, whyLeftOut, whyNoOperator } from '../operator-words.ts';
import { hasStatus } from '../controllers.ts';
import { endedWithNamespace, stateByDecision, stateByStatus, stateOfDone } from '../state.ts';
import { findLeader, showOperator, workerProblem, type AdvisedProblem } from './advice.ts';
import { facts } from './explanation.ts';
import {
  ago,
  commandOn,
  counted,
  decisionText,
  deletion,
  lastRunOf,
  nextFact,
  desiredAndCurrent,
  whyUnknown,
  WITHOUT_OPTIONS,
  type ExplanationBody,
} from './facts.ts';
import { liveIn, type CompleteFindings, type Reached } from './findings.ts';

export function explainAtRest(known: CompleteFindings): ExplanationBody {
  return (
    leftOut(known) ??
    withoutOperator(known) ??
    unknownDecision(known) ??
    nothingToDo(known) ??
    notStarted(known)
  );
}

/** The operator's options, or the resource itself, prevent any work. */
function leftOut(known: CompleteFindings): ExplanationBody | undefined {
  const { controller, place, cluster, temporal } = known;
  const options = temporal.settings?.options.reconciliation;
  const namespace = namespaceOf(place, controller.primary.type);
  const byOptions = options && whyLeftOut(options, { ...place, namespace });
  const ended = byOptions ? undefined : endedWithNamespace(controller, cluster.object, cluster.namespace);
  const reason = byOptions ?? ended ?? ignored(known);
  return (
    reason && {
      state: 'Ignored',
      reason: ended?.reason,
      headline: `is ignored by the operator${ended ? ': its namespace is being deleted' : ''}`,
      facts: [...deletion(known), ...facts({ because: reason.message }), ...lastRunOf(known)],
      advice: reason.advice,
    }
  );
}

function ignored(known: CompleteFindings): AdvisedProblem | undefined {
  const { controller, cluster } = known;
  const next = liveIn(known)?.next;
  const isIgnored = next === undefined || isConverged(next);
  return isIgnored ? controller.words?.ignored?.(cluster.object) : undefined;
}

/** The options of the operator are unknown. There may be no operator. */
function withoutOperator(known: CompleteFindings): ExplanationBody | undefined {
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
        ? 'has no operator that is known'
        : 'has an operator that is newer than this plugin',
    facts: [
      ...desiredAndCurrent(known),
      ...facts({ because: whyNoOperator(known.temporal) }),
      ...nextFact(known, WITHOUT_OPTIONS),
      ...lastRunOf(known),
    ],
    advice: others.length === 0 ? howToHaveOperator(known.temporal) : others,
  };
}

function howToHaveOperator({ program, unreadable, otherCluster }: Reached): Advice[] {
  if (unreadable !== undefined) return [UPDATE_PLUGIN];
  return [
    otherCluster === undefined
      ? 'start the operator, or name its task queue with --task-queue'
      : 'start an operator for this cluster with a --task-queue of its own, and name it here; or check the kubeconfig and its context',
    showOperator(program),
  ];
}

/** Not all objects can be read, often because a permission is missing. */
function unknownDecision(known: CompleteFindings): ExplanationBody | undefined {
  const { controller, live, cluster } = known;
  if (!(live instanceof ApiError)) return undefined;
  const { state, message } = stateByStatus(controller, cluster.object);
  return {
    state,
    headline: `has no open run: ${state === 'UpToDate' ? 'nothing seems to be needed' : message}`,
    facts: [...facts({ unclear: whyUnknown(live, 'you may not read all of it') }), ...lastRunOf(known)],
    advice: [],
  };
}

function nothingToDo(known: CompleteFindings): ExplanationBody | undefined {
  const next = liveIn(known)?.next;
  if (next === undefined || !isConverged(next)) return undefined;
  const { because, advice, ...answer } = notReady(known) ?? done(known);
  const problem = problemOfOperator(known);
  return {
    ...answer,
    facts: [
      ...facts({ because }),
      ...deletion(known),
      ...desiredAndCurrent(known),
      ...facts({ found: because === undefined ? decisionText(next) : undefined }),
      ...lastRunOf(known),
      ...facts({ but: problem && `${problem.message}: a change would have to wait` }),
    ],
    ...(known.temporal.run === undefined
      ? { advice }
      : { advice: [...advice, commandOn(known, 'history', 'what happened before')], link: known.link }),
  };
}

type AtRest = Omit<ExplanationBody, 'facts'> & { readonly because?: string | undefined };

function notReady(known: CompleteFindings): AtRest | undefined {
  const { controller, cluster, nowMs } = known;
  const next = liveIn(known)?.next;
  const says = hasStatus(controller) ? stateByStatus(controller, cluster.object) : undefined;
  const cause = (next && causeOf(next)) ?? (says?.state === 'NotReady' ? says.cause : undefined);
  if (cause === undefined && says?.state !== 'Reconciling') return undefined;
  const since = says?.since === undefined ? '' : `, for ${ago(Date.parse(says.since), nowMs)}`;
  return {
    state: cause === undefined ? 'Reconciling' : 'NotReady',
    reason: cause?.reason,
    headline: `is not ready${cause === undefined ? ' yet' : `: ${cause.reason}`}${counted(known)}${since}`,
    because: cause?.message ?? says?.message,
    advice: cause?.advice ?? [],
  };
}

function done(known: CompleteFindings): AtRest {
  const { controller, cluster, place } = known;
  const { state, cause: { reason, advice = [] } = {} } = stateOfDone(controller, cluster.object);
  if (state === 'UpToDate' && reason !== undefined) return { state, reason: reason, ...notFollowed(known) };
  if (state === 'UpToDate') return { state, headline: `is up to date${counted(known)}`, advice };
  const headline = 'is being deleted, and the operator has nothing left to do';
  return {
    state,
    reason: reason,
    headline,
    advice: [...advice, ...(isNamespaceType(controller.primary.type) ? whatIsLeft(place.name) : [])],
  };
}

/** The content of a deleted Namespace may hold it. Its conditions name that. */
function whatIsLeft(namespace: string): readonly Advice[] {
  return [
    'wait until its objects are gone, or ask the owners of their finalizers to remove them',
    { run: `kubectl describe namespace ${namespace}`, to: 'show what is left in it, and why' },
  ];
}

/** Somebody meant to pause it, or to ask for approval. */
function notFollowed(known: CompleteFindings): Pick<ExplanationBody, 'headline' | 'advice'> {
  const value = known.cluster.object.metadata.annotations?.[PAUSED_ANNOTATION] ?? 'false';
  if (value === 'true' || value === 'false')
    return { headline: 'has an annotation that cannot be followed', advice: [] };
  return {
    headline: `is not paused: the value ${JSON.stringify(value.slice(0, VALUE_MAX))} of its annotation cannot be followed`,
    advice: [commandOn(known, 'pause', 'pause it'), commandOn(known, 'resume', 'remove the annotation')],
  };
}

const VALUE_MAX = 40;

function notStarted(known: CompleteFindings): ExplanationBody {
  const next = liveIn(known)?.next;
  const { message, advice } = problemOfOperator(known) ?? {
    message: 'the operator has not started one: the change is only seconds old, or no operator watches',
    advice: [
      'ask again in ten seconds; if nothing has changed, read the log of the leader',
      ...findLeader(known.temporal.program),
    ],
  };
  return {
    state: next === undefined ? 'Waiting' : stateByDecision(next),
    headline: 'needs a reconcile, and no run is open for it',
    facts: [
      ...deletion(known),
      ...desiredAndCurrent(known),
      ...nextFact(known),
      ...facts({ because: message }),
      ...lastRunOf(known),
    ],
    advice,
  };
}

function problemOfOperator({ temporal }: CompleteFindings): AdvisedProblem | undefined {
  const { workers, taskQueue, noWatcher } = temporal;
  return workerProblem(workers, { taskQueue, version: undefined }, temporal) ?? noWatcher;
}
