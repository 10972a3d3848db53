import {
  converged,
  stalled,
  waitFor,
  type NextStep,
  type DecisionEvent,
  type Deletion,
  type Observe,
  type Rest,
  type Step,
  warning,
} from '../../contract/decision.ts';
import { isObjectName } from '../kinds.ts';
import { podsInWords, type Disruption, type PodView } from './pod.ts';
import { podsToDelete } from './ranking.ts';
import { hasTooLongName, type PodSetView } from './resource.ts';
import { isFarBehind, statusToWrite, whyUpdate, type StatusPatch, type StepFailure } from './status.ts';
import { invalidSpec, podsFailed, unreadinessOf, type NodeSeen, type Unreadiness } from './unready.ts';

/** What is known of a PodSet and its Pods. */
export interface Observation {
  readonly podSet: PodSetView | 'gone';
  /** At least those with the PodSet's labels; and what became of them and of others since. */
  readonly pods: readonly PodView[];
  /** All Pods with the labels are known as they were at this time, or later; undefined: nobody knows since when. */
  readonly asOfMs?: number | undefined;
  /** Names that are not among the Pods with the labels, and that were read one by one; those found are in `pods`. */
  readonly lookedFor: readonly string[];
  /** Those of Pods that stay unready and do not say why, where they were read. */
  readonly nodes?: readonly NodeSeen[];
  /** Of the last step, where it has done nothing. */
  readonly failure?: StepFailure;
}

export type PodSetStep = PodsStep | UpdateStatus;

/** What is done to Pods. */
type PodsStep = CreatePods | DeletePods | AdoptPods | ReleasePods;

export interface CreatePods extends Step {
  readonly do: 'createPods';
  /** How many are missing, of `replicas`. */
  readonly count: number;
  readonly replicas: number;
}

export interface DeletePods extends Step {
  readonly do: 'deletePods';
  readonly what: 'Pod' | 'failed Pod';
  /** So many of `pods`, in the order of scaling down. */
  readonly count: number;
  readonly pods: readonly PodView[];
  /** How many stay; undefined: those to delete are none of them. */
  readonly replicas?: number;
}

/** Become the controller of Pods that have the labels, and none. */
export interface AdoptPods extends Step {
  readonly do: 'adoptPods';
  readonly pods: readonly PodView[];
}

/** Give up Pods that have lost the labels. */
export interface ReleasePods extends Step {
  readonly do: 'releasePods';
  readonly pods: readonly PodView[];
}

export interface UpdateStatus extends Step {
  readonly do: 'updateStatus';
  /** What it lacks stays as it is. */
  readonly status: StatusPatch;
}

/** Read what the watch does not show. */
export interface Look extends Observe {
  /** Pods that the status names, and that are not among those with the labels. */
  readonly names: readonly string[];
  /** That of a Pod that stays unready and does not say why. Default: none. */
  readonly node?: string;
}

/** @param nowMs decides only when a failed Pod is replaced, and dates conditions */
export function decidePodSet(observation: Observation, nowMs: number): NextStep<PodSetStep, Look> {
  const { podSet } = observation;
  if (podSet === 'gone') return converged('the PodSet is gone, or its namespace is being deleted');
  if (podSet.isBeingDeleted) return converged('the PodSet is being deleted');
  const { spec } = podSet;
  // The server refuses every write of it, that of its status as well.
  if ('invalid' in spec && hasTooLongName(podSet)) return refused(podSet, spec.invalid);
  const situation = situationOf(observation, podSet, nowMs);
  // The status is the memory of which Pods are ours, and forgets those without our labels: they come before it.
  return look(situation) ?? release(situation) ?? workOrRest(situation);
}

/** The status of the Pods as they are, also while none may be created or deleted. */
export function podSetStatusStep(observation: Observation, nowMs: number): UpdateStatus | undefined {
  const { podSet } = observation;
  if (podSet === 'gone' || podSet.isBeingDeleted || hasTooLongName(podSet)) return undefined;
  return updateStatus(situationOf(observation, podSet, nowMs));
}

export function isAvailable({ matches, life }: PodView): boolean {
  return matches && (life === 'pending' || life === 'running');
}

interface Situation {
  readonly observation: Observation;
  readonly podSet: PodSetView;
  /** Those of ours that make up the desired number. */
  readonly available: readonly PodView[];
  /** Those of ours that have lost the labels, and are to be released. */
  readonly lost: readonly PodView[];
  readonly finished: readonly PodView[];
  /** Until Pods may be created again. */
  readonly pauseMs: number;
  /** Of the available ones; undefined: all are Ready. */
  readonly unreadiness: Unreadiness | undefined;
  readonly nowMs: number;
}

function situationOf(observation: Observation, podSet: PodSetView, nowMs: number): Situation {
  const ours = observation.pods.filter(({ controllerUid }) => controllerUid === podSet.uid);
  const finished = ours.filter(({ matches, life }) => matches && life === 'finished');
  const available = ours.filter(isAvailable);
  const lost = ours.filter(({ matches, life }) => !matches && life !== 'being deleted');
  const unreadiness = unreadinessOf(available, { podSet, nodes: observation.nodes ?? [], nowMs });
  return {
    observation,
    podSet,
    available,
    lost,
    finished,
    pauseMs: pauseMs(failedOf(finished, podSet.control?.requestedAt, nowMs), nowMs),
    unreadiness,
    nowMs,
  };
}

/** A Pod of ours that has lost the labels is not among those that are listed; the status still names it. */
function look({ observation, podSet }: Situation): Look | undefined {
  const { podNames } = podSet.status;
  const known = new Set([...observation.pods.map(({ name }) => name), ...observation.lookedFor]);
  // The status may be somebody's own work.
  const names = podNames.filter((name) => isObjectName(name) && !known.has(name));
  if (names.length === 0) return undefined;
  return {
    do: 'observe',
    because: `the status names ${podsInWords(names.length)} that ${names.length === 1 ? 'does' : 'do'} not have the PodSet's labels`,
    names,
  };
}

function release(situation: Situation): PodSetStep | undefined {
  const work = releasePods(situation);
  return work && (reportFailure(situation, work) ?? work);
}

function releasePods({ lost: pods }: Situation): ReleasePods | undefined {
  if (pods.length === 0) return undefined;
  const because = `${podsInWords(pods.length)} lost the labels of the PodSet`;
  return { do: 'releasePods', because, writes: pods.length, pods };
}

function workOrRest(situation: Situation): PodSetStep | Rest | Look {
  const { podSet, available } = situation;
  if ('invalid' in podSet.spec) return updateStatus(situation) ?? refused(podSet, podSet.spec.invalid);
  const { replicas } = podSet.spec;
  const work = nextWork(situation, replicas);
  if (work === undefined) return settle(situation, replicas);
  const isDue = isFarBehind(podSet.status, available);
  return reportFailure(situation, work) ?? (isDue ? updateStatus(situation) : undefined) ?? work;
}

/** Who waits for a step that fails sees what there is until then. */
function reportFailure(situation: Situation, { do: step }: PodsStep): UpdateStatus | undefined {
  const { failure } = situation.observation;
  return failure?.step === step ? updateStatus(situation, failure) : undefined;
}

function nextWork(situation: Situation, replicas: number): PodsStep | undefined {
  return (
    adoptPods(situation) ??
    deleteSurplus(situation, replicas) ??
    deleteFinished(situation) ??
    createPods(situation, replicas)
  );
}

/** As the ReplicaSet controller does: what is finished, or being deleted, is left to itself. */
function adoptPods({ observation }: Situation): AdoptPods | undefined {
  const pods = observation.pods.filter((pod) => pod.controllerUid === undefined && isAvailable(pod));
  if (pods.length === 0) return undefined;
  const verb = pods.length === 1 ? 'has' : 'have';
  const because = `${podsInWords(pods.length)} with the labels of the PodSet ${verb} no controller`;
  return { do: 'adoptPods', because, writes: pods.length, pods };
}

function deleteSurplus({ podSet, available, nowMs }: Situation, replicas: number): DeletePods | undefined {
  const count = available.length - replicas;
  if (count <= 0) return undefined;
  const because = `there ${isOrAre(available.length)}, and spec.replicas is ${replicas}`;
  const deletes: Deletion = {
    what: 'Pod',
    count,
    objects: () => podsToDelete(available, count, nowMs).map(({ name, uid }) => ({ name, uid })),
    interchangeable: `generation ${podSet.generation}`,
  };
  return { do: 'deletePods', because, writes: count, what: 'Pod', count, pods: available, replicas, deletes };
}

/** Its plan is for the Pods that are older than the oldest one that is kept: a Pod that fails later makes another plan. */
function deleteFinished({ podSet, finished }: Situation): DeletePods | undefined {
  const newest = newestFirst(finished);
  const pods = newest.slice(FINISHED_KEPT);
  const oldestKept = newest[FINISHED_KEPT - 1];
  const count = pods.length;
  if (count === 0 || oldestKept === undefined) return undefined;
  const because = `only the ${FINISHED_KEPT} newest failed Pods are kept`;
  const what = 'failed Pod';
  const interchangeable = `generation ${podSet.generation}, older than Pod ${oldestKept.uid}`;
  const objects = () => pods.map(({ name, uid }) => ({ name, uid }));
  const deletes: Deletion = { what, count, objects, interchangeable };
  return { do: 'deletePods', because, writes: count, what, count, pods, deletes };
}

function createPods(situation: Situation, replicas: number): CreatePods | undefined {
  const { available, pauseMs: pause } = situation;
  const count = replicas - available.length;
  if (count <= 0 || pause > 0) return undefined;
  const because = `there ${isOrAre(available.length)}, and spec.replicas is ${replicas}`;
  return { do: 'createPods', because, writes: count, count, replicas };
}

/** The status, and then the end. */
function settle(situation: Situation, replicas: number): UpdateStatus | Rest | Look {
  const { unreadiness } = situation;
  const node = unreadiness && 'nodeToRead' in unreadiness ? unreadiness.nodeToRead : undefined;
  if (node !== undefined && situation.available.length >= replicas)
    return { do: 'observe', because: `a Pod on node ${node} stays unready`, names: [], node };
  const update = updateStatus(situation);
  if (update !== undefined) return update;
  if (situation.available.length >= replicas) return atRest(situation);
  const { podSet, finished, pauseMs: pause } = situation;
  const cause = podsFailed(podSet);
  const event = warning(cause, 'Create', newestFirst(finished)[0]?.uid);
  return { ...waitFor('the pause after failed Pods to end', pause, cause), event };
}

/** Without an open run: 10,000 Pods whose image is missing need none. */
function atRest({ unreadiness }: Situation): Rest {
  if (unreadiness === undefined) return converged('its Pods and its status are up to date');
  if ('recheckMs' in unreadiness) return converged('its Pods are starting', unreadiness);
  return converged('all desired Pods exist, but some are not Ready', { notReady: unreadiness.cause });
}

function updateStatus(situation: Situation, failure?: StepFailure): UpdateStatus | undefined {
  const { podSet, pauseMs: pause, nowMs } = situation;
  const status = statusToWrite({ ...situation, isPausing: pause > 0, failure }, nowMs);
  if (status === undefined) return undefined;
  const event = unreadyEvent(situation, status);
  return { do: 'updateStatus', because: whyUpdate(podSet.status, status), status, ...(event && { event }) };
}

/** Once, as that begins. */
function unreadyEvent(
  { podSet, unreadiness }: Situation,
  { conditions }: StatusPatch,
): DecisionEvent | undefined {
  if (unreadiness === undefined || !('cause' in unreadiness)) return undefined;
  const { cause } = unreadiness;
  const isIn = (all: StatusPatch['conditions']) =>
    all.some(({ type, reason }) => type === 'Ready' && reason === cause.reason);
  return isIn(conditions) && !isIn(podSet.status.conditions) ? warning(cause, 'Reconcile') : undefined;
}

function refused(podSet: PodSetView, because: string): Rest {
  const cause = invalidSpec(podSet, because);
  return stalled(cause, { event: warning(cause, 'Reconcile') });
}

function isOrAre(pods: number): string {
  return `${pods === 1 ? 'is' : 'are'} ${podsInWords(pods)}`;
}

/** So many finished Pods stay, the newest ones, for people to look into. */
const FINISHED_KEPT = 5;
/**
 * How long after its creation the newest finished Pod is replaced, where so many (from 1) were created
 * recently. It reaches its end with as many Pods as are kept.
 */
const REPLACED_AFTER_MS = [0, 10_000, 30_000, 90_000, 300_000] as const;
const LONGEST_MS = 300_000;
/** Long enough that all that are kept are recent where one fails at every longest pause. */
const RECENT_MS = 30 * 60_000;

/** What was evicted after it has run for so long is no failure of the Pod; and where new Pods are evicted again and again, one is made each time. */
const RUN_LEAST_MS = 60_000;

/** Those that new Pods may end like. Whoever asks for a reconcile asks for them now. */
function failedOf(
  finished: readonly PodView[],
  requestedAt: string | undefined,
  nowMs: number,
): readonly PodView[] {
  const requestedMs = Date.parse(requestedAt ?? '');
  return finished.filter(
    ({ createdAtMs, disrupted }) => !(createdAtMs <= requestedMs) && !hasRun(disrupted, nowMs),
  );
}

function hasRun(disrupted: Disruption | undefined, nowMs: number): boolean {
  return disrupted !== undefined && (disrupted.endedMs ?? nowMs) - disrupted.startedMs >= RUN_LEAST_MS;
}

/** How long from now until Pods may be created again, in milliseconds; 0: at once. */
function pauseMs(finished: readonly PodView[], nowMs: number): number {
  const recent = newestFirst(finished).filter(({ createdAtMs }) => createdAtMs > nowMs - RECENT_MS);
  const [newest] = recent;
  if (newest === undefined) return 0;
  const replacedAfterMs = REPLACED_AFTER_MS[recent.length - 1] ?? LONGEST_MS;
  // Where the clocks differ, a Pod may come from the future.
  return Math.max(0, Math.min(newest.createdAtMs, nowMs) + replacedAfterMs - nowMs);
}

function newestFirst(pods: readonly PodView[]): readonly PodView[] {
  return [...pods].sort((a, b) => b.createdAtMs - a.createdAtMs || (a.name < b.name ? -1 : 1));
}
