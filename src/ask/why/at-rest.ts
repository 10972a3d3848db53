import type { Advice } from '../../contract/words.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { heldByOthers } from '../cluster/objects.ts';
import { firstOf, UPDATE_PLUGIN, whyLeftOut, whyNoOperator } from '../operator-words.ts';
import { titleOf } from '../resource-name.ts';
import { workerProblem } from '../runs/workers.ts';
import { stateByDecision, stateByStatus } from '../state.ts';
import type { Explanation } from './explanation.ts';
import {
  commandOn,
  decisionText,
  deletion,
  lastRunOf,
  nextFact,
  progressOf,
  wantedAndThere,
  whyUnknown,
  WITHOUT_OPTIONS,
} from './facts.ts';
import { liveIn, objectNameOf, type Known, type Reached } from './findings.ts';
import { SHOW_OPERATOR, workerProblemText } from './general-advice.ts';

/** Of a resource that no run is open for. */
export function explainAtRest(known: Known): Explanation {
  return (
    leftOut(known) ??
    withoutOperator(known) ??
    unknownDecision(known) ??
    nothingToDo(known) ??
    notStarted(known)
  );
}

/** What the operator's options, or the resource itself, keep it from doing anything for. */
function leftOut(known: Known): Explanation | undefined {
  const reason = leftOutByOptions(known) ?? endedWithNamespace(known) ?? ignored(known);
  return (
    reason && {
      resource: titleOf(objectNameOf(known)),
      state: 'Ignored',
      headline: 'is left alone by the operator',
      facts: [...deletion(known), { label: 'because', text: reason.because }, ...lastRunOf(known)],
      advice: reason.advice,
      exit: 0,
    }
  );
}

interface Reason {
  readonly because: string;
  readonly advice: readonly Advice[];
}

function leftOutByOptions({ place, temporal: { settings } }: Known): Reason | undefined {
  const leftOut = settings && whyLeftOut(settings.options.reconciliation, place);
  return leftOut && { because: leftOut.because, advice: [leftOut.advice] };
}

function endedWithNamespace(known: Known): Reason | undefined {
  const { controller, place, cluster } = known;
  const isTerminating = cluster.namespace?.metadata.deletionTimestamp !== undefined;
  if (!isTerminating || controller.endsWithNamespace !== true) return undefined;
  return {
    because: `its namespace ${place.namespace} is being deleted, and accepts nothing new`,
    advice: [
      ...askOthers(known),
      { run: `kubectl durable why namespace/${place.namespace}`, to: 'see what it waits for' },
    ],
  };
}

/** Of what is being deleted, where only others hold it. */
function askOthers({ cluster: { object } }: Known): Advice[] {
  const isHeld = object.metadata.deletionTimestamp !== undefined && heldByOthers(object).length > 0;
  return isHeld ? ["ask whoever put the finalizers there; none of them is the operator's"] : [];
}

/** Of a Namespace that is being deleted: what is left in it holds it, and its conditions name that. */
function whatIsLeft({ controller, place, cluster }: Known): Advice[] {
  const isNamespace = !controller.primary.type.namespaced;
  if (!isNamespace || cluster.object.metadata.deletionTimestamp === undefined) return [];
  return [
    'wait until what is in it has ended, or have whoever put finalizers on that take them away',
    { run: `kubectl describe namespace ${place.name}`, to: 'show what is left in it, and what holds that' },
  ];
}

function ignored(known: Known): Reason | undefined {
  const { controller, cluster } = known;
  const live = liveIn(known);
  const hasWork = live !== undefined && live.next.do !== 'converged';
  return hasWork ? undefined : controller.words?.ignored?.(cluster.object);
}

/** Nobody has said which options the operator has: maybe there is none. */
function withoutOperator(known: Known): Explanation | undefined {
  const { settings, unreadable, otherTaskQueues } = known.temporal;
  if (settings !== undefined) return undefined;
  const others = firstOf(otherTaskQueues).map((each) => {
    const { run } = commandOn(known, 'why', '');
    return { run: `${run} --task-queue ${each}`, to: 'ask that operator' };
  });
  return {
    resource: titleOf(objectNameOf(known)),
    state: undefined,
    headline:
      unreadable === undefined
        ? 'has no operator, as far as is known'
        : 'has an operator that this plugin is too old for',
    facts: [
      ...wantedAndThere(known),
      {
        label: 'because',
        text: whyNoOperator(known.temporal),
      },
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

/** What the decision needs cannot all be read, often for want of rights. */
function unknownDecision(known: Known): Explanation | undefined {
  const { live, cluster } = known;
  if (!(live instanceof ApiError)) return undefined;
  const { state, message } = stateByStatus(cluster.object);
  return {
    resource: titleOf(objectNameOf(known)),
    state,
    headline: `has no open run: ${state === 'UpToDate' ? 'nothing seems to be needed' : message}`,
    facts: [{ label: 'unclear', text: whyUnknown(live, 'you may not see all of it') }, ...lastRunOf(known)],
    advice: [],
    exit: state === 'UpToDate' ? 0 : 1,
  };
}

function nothingToDo(known: Known): Explanation | undefined {
  const { cluster, temporal, link } = known;
  const next = liveIn(known)?.next;
  if (next?.do !== 'converged') return undefined;
  const progress = progressOf(known);
  const isDeleted = cluster.object.metadata.deletionTimestamp !== undefined;
  const hasRun = temporal.run !== undefined;
  const problem = problemOfWorkers(known);
  const history = hasRun ? [commandOn(known, 'history', 'what happened before')] : [];
  return {
    resource: titleOf(objectNameOf(known)),
    state: 'UpToDate',
    headline: isDeleted
      ? 'is being deleted, and the operator has nothing left to do'
      : `is up to date${progress === undefined ? '' : `: ${progress}`}`,
    facts: [
      ...deletion(known),
      ...wantedAndThere(known),
      { label: 'found', text: decisionText(next) },
      ...lastRunOf(known),
      ...(problem ? [{ label: 'but', text: `${problem.because}: a change would have to wait` }] : []),
    ],
    advice: [...askOthers(known), ...whatIsLeft(known), ...history],
    ...(hasRun && { link }),
    exit: 0,
  };
}

/** There is something to do, and no run does it. */
function notStarted(known: Known): Explanation {
  const next = liveIn(known)?.next;
  const state = next === undefined ? 'Waiting' : stateByDecision(next);
  const { because, advice } = problemOfWorkers(known) ?? {
    because: 'the operator has not started one: the change is seconds old, or nothing watches',
    advice: [
      'ask again in ten seconds; then see whether the operator is ready (/readyz), and what the log of its leader says',
      SHOW_OPERATOR,
    ],
  };
  return {
    resource: titleOf(objectNameOf(known)),
    state: state === 'UpToDate' ? 'Waiting' : state,
    headline: 'needs a reconcile, and no run is open for it',
    facts: [
      ...deletion(known),
      ...wantedAndThere(known),
      ...nextFact(known),
      { label: 'because', text: because },
      ...lastRunOf(known),
    ],
    advice,
    exit: 1,
  };
}

/** What would keep a new run from being worked on. */
function problemOfWorkers({ temporal }: Known): ReturnType<typeof workerProblemText> | undefined {
  const { workers, taskQueue } = temporal;
  const problem = workerProblem(workers, { taskQueue, version: undefined });
  return problem && workerProblemText(problem, temporal);
}
