import { finishedBeyondKept, newestFirst, pauseMs } from './failed-pods.ts';
import type { Observation, SeenPodSet } from './observation.ts';
import type { SeenPod } from './pod.ts';
import type { PodSetStatus } from './resource.ts';
import { isNearly, statusToWrite } from './status.ts';

/** One step of a pass, or its end. */
export type PodSetStep<P extends SeenPod = SeenPod> = Work<P> | WriteStatus | End;

export type Work<P extends SeenPod = SeenPod> =
  /** Read these Pods by name: the status names them, and the list does not show them. */
  | { readonly do: 'look'; readonly names: readonly string[] }
  /** Give up these Pods: they have lost the labels. */
  | { readonly do: 'release'; readonly pods: readonly P[] }
  /** Become the controller of these Pods: they have the labels, and none. */
  | { readonly do: 'adopt'; readonly pods: readonly P[] }
  /** Delete so many of these Pods. */
  | { readonly do: 'shrink'; readonly by: number; readonly available: readonly P[] }
  /** Delete these finished Pods: enough newer ones are kept. */
  | { readonly do: 'tidy'; readonly pods: readonly P[] }
  /** Create so many Pods. */
  | { readonly do: 'grow'; readonly by: number };

export interface WriteStatus {
  readonly do: 'write status';
  readonly status: PodSetStatus;
}

export type End =
  | {
      readonly do: 'end';
      readonly because: 'gone' | 'being deleted' | 'time is up' | 'refused';
    }
  | { readonly do: 'end'; readonly because: 'as wanted'; readonly replicas: number }
  | { readonly do: 'end'; readonly because: 'invalid'; readonly why: string }
  /** Finished Pods, the newest of this UID, are replaced after so many milliseconds. */
  | { readonly do: 'end'; readonly because: 'pausing'; readonly forMs: number; readonly newest: string };

/**
 * What to do next about a PodSet, as far as a pass has found out.
 *
 * @param nowMs decides only when a failed Pod is replaced, and dates conditions
 */
export function decidePodSet<P extends SeenPod>(observation: Observation<P>, nowMs: number): PodSetStep<P> {
  const { podSet } = observation;
  if (podSet === 'gone') return { do: 'end', because: 'gone' };
  if (podSet.beingDeleted) return { do: 'end', because: 'being deleted' };
  if ('invalid' in podSet.spec) return refuse(podSet, podSet.spec.invalid, { observation, nowMs });
  const situation = situationOf(observation, podSet, { replicas: podSet.spec.replicas, nowMs });
  return mustComeFirst(situation) ?? nextWork(situation) ?? settle(situation);
}

/** Whether the next step is the end because all is as it is to be. */
export function isAsWanted(step: PodSetStep): boolean {
  return step.do === 'end' && ['gone', 'being deleted', 'as wanted'].includes(step.because);
}

interface Situation<P extends SeenPod> {
  readonly observation: Observation<P>;
  readonly podSet: SeenPodSet;
  readonly replicas: number;
  readonly ours: readonly P[];
  /** Those of ours that make up the wanted number. */
  readonly available: readonly P[];
  readonly finished: readonly P[];
  /** Until Pods may be created again. */
  readonly pauseMs: number;
  readonly nowMs: number;
}

function situationOf<P extends SeenPod>(
  observation: Observation<P>,
  podSet: SeenPodSet,
  { replicas, nowMs }: Pick<Situation<P>, 'replicas' | 'nowMs'>,
): Situation<P> {
  const ours = oursOf(observation, podSet);
  const finished = ours.filter((pod) => pod.matches && pod.life === 'finished');
  return {
    observation,
    podSet,
    replicas,
    ours,
    available: availableOf(ours),
    finished,
    pauseMs: pauseMs(finished, nowMs),
    nowMs,
  };
}

function oursOf<P extends SeenPod>({ pods }: Observation<P>, { uid }: SeenPodSet): readonly P[] {
  return pods.filter(({ controllerUid }) => controllerUid === uid);
}

function availableOf<P extends SeenPod>(ours: readonly P[]): readonly P[] {
  return ours.filter(({ matches, life }) => matches && life === 'available');
}

/**
 * Before the status is written: it is the memory of which Pods are ours, and forgets those without our labels.
 * So it comes before the end of the pass, whatever else ends it.
 */
function mustComeFirst<P extends SeenPod>(situation: Situation<P>): Work<P> | undefined {
  return look(situation) ?? release(situation);
}

/** A Pod of ours that has lost the labels is in no list of ours; the status still names it. */
function look<P extends SeenPod>({ observation, podSet }: Situation<P>): Work<P> | undefined {
  const seen = new Set([...observation.pods.map(({ name }) => name), ...observation.lookedFor]);
  const names = podSet.status.podNames.filter((name) => !seen.has(name));
  return names.length > 0 ? { do: 'look', names } : undefined;
}

function release<P extends SeenPod>({ ours }: Situation<P>): Work<P> | undefined {
  const pods = ours.filter(({ matches, life }) => !matches && life !== 'being-deleted');
  return pods.length > 0 ? { do: 'release', pods } : undefined;
}

function nextWork<P extends SeenPod>(situation: Situation<P>): Work<P> | undefined {
  const { timeIsUp, refusal } = situation.observation;
  return timeIsUp || refusal !== undefined ? undefined : workLeft(situation);
}

function workLeft<P extends SeenPod>(situation: Situation<P>): Work<P> | undefined {
  return adopt(situation) ?? shrink(situation) ?? tidy(situation) ?? grow(situation);
}

/** As the ReplicaSet controller does: what is finished, or going, is left to itself. */
function adopt<P extends SeenPod>({ observation }: Situation<P>): Work<P> | undefined {
  const pods = observation.pods.filter(
    ({ controllerUid, matches, life }) => controllerUid === undefined && matches && life === 'available',
  );
  return pods.length > 0 ? { do: 'adopt', pods } : undefined;
}

function shrink<P extends SeenPod>({ available, replicas }: Situation<P>): Work<P> | undefined {
  const by = available.length - replicas;
  return by > 0 ? { do: 'shrink', by, available } : undefined;
}

function tidy<P extends SeenPod>({ finished }: Situation<P>): Work<P> | undefined {
  const pods = finishedBeyondKept(finished);
  return pods.length > 0 ? { do: 'tidy', pods } : undefined;
}

function grow<P extends SeenPod>(situation: Situation<P>): Work<P> | undefined {
  const by = situation.replicas - situation.available.length;
  return by > 0 && situation.pauseMs === 0 ? { do: 'grow', by } : undefined;
}

/** The status, and then the end. */
function settle<P extends SeenPod>(situation: Situation<P>): WriteStatus | End {
  const { observation, podSet, available, nowMs } = situation;
  const { refusal } = observation;
  const end = endOf(situation);
  const status = statusToWrite({ podSet, available, pausing: isPausing(situation), refusal }, nowMs);
  if (status === undefined || (end.because === 'time is up' && isNearly(podSet.status, status))) return end;
  return { do: 'write status', status };
}

function endOf<P extends SeenPod>(situation: Situation<P>): End {
  if (situation.observation.refusal !== undefined) return { do: 'end', because: 'refused' };
  if (workLeft(situation) !== undefined) return { do: 'end', because: 'time is up' };
  const { finished, pauseMs: forMs, replicas } = situation;
  const [newest] = newestFirst(finished);
  if (isPausing(situation) && newest !== undefined)
    return { do: 'end', because: 'pausing', forMs, newest: newest.uid };
  return { do: 'end', because: 'as wanted', replicas };
}

function isPausing<P extends SeenPod>({ available, replicas, pauseMs: forMs }: Situation<P>): boolean {
  return available.length < replicas && forMs > 0;
}

function refuse<P extends SeenPod>(
  podSet: SeenPodSet,
  why: string,
  { observation, nowMs }: Pick<Situation<P>, 'observation' | 'nowMs'>,
): WriteStatus | End {
  const available = availableOf(oursOf(observation, podSet));
  const status = statusToWrite({ podSet, available, pausing: false, refusal: undefined }, nowMs);
  return status === undefined ? { do: 'end', because: 'invalid', why } : { do: 'write status', status };
}
