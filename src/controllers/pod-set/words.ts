import type { MessageInput, ControllerMessages } from '../../contract/words.ts';
import { isAvailable, type Observation } from './decide.ts';
import { podsInWords } from './pod.ts';
import { unreadyInWords } from './unready.ts';

/** What the commands say about a PodSet. */
export const podSetWords: ControllerMessages<Observation> = {
  desired: ({ observation }) => {
    const replicas = replicasOf(observation);
    if (replicas !== undefined) return podsInWords(replicas);
    return isInvalid(observation) ? 'unclear: spec.replicas is invalid' : 'nothing: it is being deleted';
  },
  current: (subject) => {
    const failed = ofPodSet(subject).filter(({ life }) => life === 'finished').length;
    const deleted = ofPodSet(subject).filter(({ life }) => life === 'being deleted').length;
    const ready = availableOf(subject).filter(({ readySinceMs }) => readySinceMs !== undefined).length;
    const going = deleted === 0 ? '' : `, ${deleted} being deleted`;
    return `${availableOf(subject).length} available, ${ready} ready, ${failed} failed${going}`;
  },
  children: (subject) => unreadyInWords(availableOf(subject)),
  progress: (subject) => {
    const replicas = replicasOf(subject.observation);
    if (replicas === undefined) return undefined;
    const available = availableOf(subject).length;
    const pods = `Pod${replicas === 1 ? '' : 's'}`;
    return available > replicas
      ? `${available} instead of ${replicas} ${pods}`
      : `${available} of ${replicas} ${pods}`;
  },
};

function replicasOf({ podSet }: Observation): number | undefined {
  if (podSet === 'gone' || podSet.isBeingDeleted || 'invalid' in podSet.spec) return undefined;
  return podSet.spec.replicas;
}

function isInvalid({ podSet }: Observation): boolean {
  return podSet !== 'gone' && !podSet.isBeingDeleted && 'invalid' in podSet.spec;
}

function ofPodSet({ object, observation }: MessageInput<Observation>) {
  return observation.pods.filter(({ controllerUid }) => controllerUid === object.metadata.uid);
}

function availableOf(subject: MessageInput<Observation>) {
  return ofPodSet(subject).filter(isAvailable);
}
