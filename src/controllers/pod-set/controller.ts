import { allow, RECORD_EVENTS, type Controller } from '../../contract/controller.ts';
import { displayName } from '../../contract/resource.ts';
import { NODES, PODS } from '../kinds.ts';
import { decidePodSet, podSetStatusStep, type Look, type Observation, type PodSetStep } from './decide.ts';
import { PODS_OF_ANY, podSetNameOf, podView, type PodView } from './pod.ts';
import { POD_SETS, podSetView, type PodSetView } from './resource.ts';
import { podSetWords } from './words.ts';

/** Keeps the Pods of a PodSet at the desired number. */
export const podSet: Controller<PodSetView, PodView, Observation, PodSetStep, Look> = {
  name: 'pod-set',
  workflowType: 'podSet',
  summary: (ref) => `PodSet ${displayName(ref)}: keeps its Pods at spec.replicas`,
  words: podSetWords,
  steps: {
    releasePods: 'release Pods that lost the labels',
    adoptPods: 'adopt Pods that have the labels and no controller',
    createPods: 'create missing Pods',
    deletePods: 'delete surplus Pods',
    updateStatus: 'update the status',
  },
  primary: { type: POD_SETS, view: podSetView },
  children: [
    {
      type: PODS,
      labelSelector: PODS_OF_ANY,
      ownerKey: ({ metadata }) => {
        const podSetName = podSetNameOf(metadata);
        return podSetName === undefined ? undefined : `${metadata.namespace ?? ''}/${podSetName}`;
      },
      view: (pod) => {
        const podSetName = podSetNameOf(pod.metadata);
        return podSetName === undefined ? undefined : podView(pod, podSetName);
      },
    },
  ],
  observation: (view, pods) => ({ podSet: view, pods, lookedFor: [] }),
  decide: decidePodSet,
  statusStep: podSetStatusStep,
  control: ({ podSet: view }) => (view === 'gone' ? undefined : view.control),
  endsWithNamespace: true,
  permissions: [
    allow(POD_SETS, ['get']),
    allow(POD_SETS, ['patch'], { subresource: 'status' }),
    // To set blockOwnerDeletion, where the plugin OwnerReferencesPermissionEnforcement guards that.
    allow(POD_SETS, ['update'], { subresource: 'finalizers' }),
    allow(PODS, ['get', 'list', 'create', 'patch', 'delete']),
    // To tell why a Pod stays unready.
    allow(NODES, ['get']),
    RECORD_EVENTS,
  ],
};
