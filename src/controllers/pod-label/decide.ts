import type { ObjectMeta } from '../../contract/object.ts';

/** A Pod asks for its label with this annotation, set to exactly `true`. */
export const POD_NAME_ANNOTATION = 'padok.fr/add-pod-name-label';
/** The label, whose value is the Pod's name. */
export const POD_NAME_LABEL = 'padok.fr/pod-name';
/** Kubernetes, "Labels and Selectors": a label's value has at most 63 characters; a Pod's name may have 253. */
export const LABEL_VALUE_MAX = 63;

/** `refuse`: the label is asked for, but the Pod's name is too long to be a label's value. */
export type PodLabelStep = 'nothing' | 'add' | 'remove' | 'refuse';

/** What a run is told of the Pod; a write that relies on it is conditional on the resourceVersion. */
export interface SeenPod {
  readonly step: Exclude<PodLabelStep, 'nothing'>;
  readonly resourceVersion: string;
}

export function decidePodLabel(pod: ObjectMeta): PodLabelStep {
  if (pod.deletionTimestamp !== undefined) return 'nothing';
  const wanted = pod.annotations?.[POD_NAME_ANNOTATION] === 'true';
  const labelled = pod.labels?.[POD_NAME_LABEL] === pod.name;
  if (wanted === labelled) return 'nothing';
  if (!wanted) return 'remove';
  return pod.name.length > LABEL_VALUE_MAX ? 'refuse' : 'add';
}
