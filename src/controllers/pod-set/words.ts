import type { KubernetesObject } from '../../contract/object.ts';
import type { Advice, Subject, Trouble, Words } from '../../contract/words.ts';
import { isAvailable, type Observation } from './decide.ts';
import { podsInWords, selectorFor } from './pod.ts';
import { hasTooLongName } from './resource.ts';

/** What the commands say about a PodSet. */
export const podSetWords: Words<Observation> = {
  wanted: ({ observation }) => {
    const replicas = replicasOf(observation);
    if (replicas !== undefined) return podsInWords(replicas);
    return isInvalid(observation) ? 'unclear: spec.replicas is invalid' : 'nothing: it is being deleted';
  },
  there: (subject) => {
    const failed = ofPodSet(subject).filter(({ life }) => life === 'finished').length;
    const deleted = ofPodSet(subject).filter(({ life }) => life === 'being deleted').length;
    const ready = availableOf(subject).filter(({ readySinceMs }) => readySinceMs !== undefined).length;
    const going = deleted === 0 ? '' : `, ${deleted} being deleted`;
    return `${availableOf(subject).length} available, ${ready} ready, ${failed} failed${going}`;
  },
  progress: (subject) => {
    const replicas = replicasOf(subject.observation);
    if (replicas === undefined) return undefined;
    const available = availableOf(subject).length;
    const pods = `Pod${replicas === 1 ? '' : 's'}`;
    return available > replicas
      ? `${available} instead of ${replicas} ${pods}`
      : `${available} of ${replicas} ${pods}`;
  },
  advice: adviceOn,
};

function replicasOf({ podSet }: Observation): number | undefined {
  if (podSet === 'gone' || podSet.isBeingDeleted || 'invalid' in podSet.spec) return undefined;
  return podSet.spec.replicas;
}

function isInvalid({ podSet }: Observation): boolean {
  return podSet !== 'gone' && !podSet.isBeingDeleted && 'invalid' in podSet.spec;
}

function ofPodSet({ object, observation }: Subject<Observation>) {
  return observation.pods.filter(({ controllerUid }) => controllerUid === object.metadata.uid);
}

function availableOf(subject: Subject<Observation>) {
  return ofPodSet(subject).filter(isAvailable);
}

function adviceOn(trouble: Trouble, { metadata }: KubernetesObject): readonly Advice[] | undefined {
  const { name, namespace = '' } = metadata;
  switch (trouble.is) {
    case 'stalled':
      return [
        hasTooLongName({ name })
          ? 'create a PodSet with a shorter name in its place'
          : 'correct spec.replicas; that is noticed at once',
      ];
    case 'waiting': {
      const run = `kubectl describe pods -n ${namespace} -l ${selectorFor(name)}`;
      return trouble.for.includes('failed Pods') ? [{ run, to: 'see why its Pods failed' }] : undefined;
    }
    case 'failing':
      return trouble.failure === 'Refused' ? onRefusal(trouble.message, namespace) : undefined;
  }
}

function onRefusal(message: string, namespace: string): readonly Advice[] {
  if (message.includes('exceeded quota')) {
    return [
      'raise the quota or lower spec.replicas; either is noticed at once',
      { run: `kubectl describe quota -n ${namespace}`, to: 'show the quota' },
    ];
  }
  return ['change what refuses the Pods, named above, and then retry'];
}
