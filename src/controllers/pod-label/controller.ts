import { allow, RECORD_EVENTS, type Controller } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { displayName } from '../../contract/resource.ts';
import { controlOf } from '../control/annotations.ts';
import { keyOf, PODS } from '../kinds.ts';
import { annotationIn, decidePodLabel, labelState, type LabelStep, type PodView } from './decide.ts';
import { podLabelWords } from './words.ts';

/**
 * Keeps the label `padok.fr/pod-name` on the Pods whose annotation asks for it, so that a Service can
 * select one Pod of a ReplicaSet.
 */
export const podLabel: Controller<PodView, never, PodView, LabelStep> = {
  name: 'pod-label',
  workflowType: 'podLabel',
  summary: (ref) => `Pod ${displayName(ref)}: label padok.fr/pod-name follows its annotation`,
  words: podLabelWords,
  steps: {
    addLabel: 'add the label with the name of the Pod',
    removeLabel: 'remove the label with the name of the Pod',
  },
  primary: {
    type: PODS,
    metadataOnly: true,
    // Metadata does not contain the phase, so the server is asked to leave out finished Pods.
    fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
    view: podView,
  },
  children: [],
  observation: (pod) => pod,
  decide: decidePodLabel,
  inputs: annotationIn,
  control: ({ control }) => control,
  permissions: [allow(PODS, ['list', 'patch']), RECORD_EVENTS],
};

export function podView(object: KubernetesObject): PodView {
  const { metadata } = object;
  const control = controlOf(object);
  const label = labelState(metadata);
  const { resourceVersion } = metadata;
  return {
    resourceVersion,
    label,
    ...(label === 'name too long' && { pod: keyOf(metadata) }),
    ...(control && { control }),
  };
}
