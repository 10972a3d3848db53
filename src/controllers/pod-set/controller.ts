import {
  NO_WORK,
  type ChildProjection,
  type Controller,
  type Projection,
  type Verdict,
} from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { displayName } from '../../contract/resource.ts';
import { unreachable } from '../../contract/unreachable.ts';
import type { Condition } from '../condition.ts';
import { decidePodSet, isAsWanted, type PodSetStep } from './decide.ts';
import { isPodSet, observed, seePodSet, type SeenPodSet } from './observation.ts';
import { isPod, PODS, PODS_OF_ANY, podSetNameOf, seePod, type SeenPod } from './pod.ts';
import { POD_SET_GROUP, POD_SETS } from './resource.ts';

interface PodSetProjection extends Projection {
  readonly podSet: SeenPodSet;
}

interface PodProjection extends ChildProjection {
  readonly pod: SeenPod;
}

/** Keeps as many Pods as a PodSet wants. */
export const podSet: Controller<PodSetProjection, PodProjection, undefined> = {
  name: 'pod-set',
  workflowType: 'podSet',
  summary: (ref) => `PodSet ${displayName(ref)}: as many Pods as it wants`,
  primary: { ...POD_SETS, namespaced: true, metadataOnly: false, project: projectPodSet },
  children: [
    { ...PODS, namespaced: true, metadataOnly: false, labelSelector: PODS_OF_ANY, project: projectPod },
  ],
  needsWork: ({ podSet: seen }, pods) =>
    verdictOn(
      seen,
      pods.map(({ pod }) => pod),
    ),
  endsWithNamespace: true,
  permissions: [
    { apiGroups: [POD_SET_GROUP], resources: ['podsets'], verbs: ['get'] },
    { apiGroups: [POD_SET_GROUP], resources: ['podsets/status'], verbs: ['patch'] },
    // To set blockOwnerDeletion, where the plugin OwnerReferencesPermissionEnforcement guards that.
    { apiGroups: [POD_SET_GROUP], resources: ['podsets/finalizers'], verbs: ['update'] },
    {
      apiGroups: [''],
      resources: ['pods'],
      verbs: ['get', 'list', 'create', 'patch', 'delete'],
    },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  ],
};

/** It has no clock: when a failed Pod is replaced does not matter here, since it is missing until then. */
const NO_TIME = 0;

function verdictOn(seen: SeenPodSet, pods: readonly SeenPod[]): Verdict<undefined> {
  const step = decidePodSet(observed(seen, pods), NO_TIME);
  if (isAsWanted(step)) return NO_WORK;
  return {
    needsWork: true,
    reason: 'its Pods or its status are not as wanted',
    about: [seen.generation, ...newsIn(step)].join(' '),
    ...((isAwaitingAnEdit(step) || isLastWrite(step, seen)) && { underWay: true as const }),
    seen: undefined,
  };
}

/** Of a run that has created or deleted Pods: its status then names others than before. */
function isLastWrite(step: PodSetStep, { status }: SeenPodSet): boolean {
  return step.do === 'write status' && step.status.podNames.join() !== status.podNames.join();
}

/**
 * What a run that awaits something else has to be told of; it does not change while a run creates or deletes.
 * Whether all Pods are Ready is never a run's own doing.
 */
function newsIn(step: PodSetStep): readonly string[] {
  switch (step.do) {
    case 'adopt':
    case 'release':
      return [step.do];
    case 'write status':
      return [step.status.conditions.some(isReady) ? 'ready' : 'not ready'];
    case 'look':
    case 'shrink':
    case 'tidy':
    case 'grow':
    case 'end':
      return [];
    default:
      return unreachable(step);
  }
}

function isReady({ type, status }: Condition): boolean {
  return type === 'Ready' && status === 'True';
}

function isAwaitingAnEdit(step: PodSetStep): boolean {
  return step.do === 'end' && step.because === 'invalid';
}

function projectPodSet(object: KubernetesObject): PodSetProjection | undefined {
  if (!isPodSet(object)) return undefined;
  return { ...projectionOf(object), podSet: seePodSet(object) };
}

function projectPod(object: KubernetesObject): PodProjection | undefined {
  const owner = podSetNameOf(object.metadata);
  if (owner === undefined || !isPod(object)) return undefined;
  const belongsTo = `${object.metadata.namespace ?? ''}/${owner}`;
  return { ...projectionOf(object), belongsTo, pod: seePod(object, owner) };
}

function projectionOf({ metadata }: KubernetesObject): Projection {
  const { namespace = '', name, uid, resourceVersion } = metadata;
  return { key: `${namespace}/${name}`, uid, resourceVersion };
}
