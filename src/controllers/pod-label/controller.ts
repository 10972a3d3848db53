import { NO_WORK, type Controller, type Projection } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { displayName } from '../../contract/resource.ts';
import { decidePodLabel, type PodLabelStep, type SeenPod } from './decide.ts';

/** What is kept of a watched Pod: not its labels, but what they call for. */
export interface PodProjection extends Projection {
  readonly step: PodLabelStep;
}

/**
 * Keeps the label `padok.fr/pod-name` on the Pods whose annotation asks for it, so that a Service can
 * select one Pod of a ReplicaSet.
 */
export const podLabel: Controller<PodProjection, never, SeenPod> = {
  name: 'pod-label',
  workflowType: 'podLabel',
  summary: (ref) => `Pod ${displayName(ref)}: label padok.fr/pod-name follows its annotation`,
  primary: {
    group: '',
    version: 'v1',
    plural: 'pods',
    namespaced: true,
    metadataOnly: true,
    // Metadata does not tell a finished Pod, so the server is asked to leave them out.
    fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
    project: projectPod,
  },
  children: [],
  needsWork: ({ step, resourceVersion }) =>
    step === 'nothing'
      ? NO_WORK
      : { needsWork: true, reason: REASONS[step], seen: { step, resourceVersion } },
  permissions: [
    { apiGroups: [''], resources: ['pods'], verbs: ['list', 'patch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  ],
};

const REASONS = {
  add: 'the annotation asks for the label, which is missing or wrong',
  remove: 'the label is there, but the annotation does not ask for it',
  refuse: 'the annotation asks for a label that cannot be: the name is too long',
} as const satisfies Record<Exclude<PodLabelStep, 'nothing'>, string>;

function projectPod({ metadata }: KubernetesObject): PodProjection {
  return {
    key: `${metadata.namespace ?? ''}/${metadata.name}`,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    step: decidePodLabel(metadata),
  };
}
