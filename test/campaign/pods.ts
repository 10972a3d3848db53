import type { KubernetesObject } from '../../src/api/object.ts';
import { controllerOf } from '../../src/api/kinds.ts';
import { labelsFor } from '../../src/controllers/pod-set/pod.ts';

export function phaseOf(pod: KubernetesObject): unknown {
  const { status } = pod;
  return typeof status === 'object' && status !== null && 'phase' in status ? status.phase : undefined;
}

export function hasEnded(pod: KubernetesObject): boolean {
  return ['Failed', 'Succeeded'].includes(String(phaseOf(pod)));
}

export function hasLabelsOf(set: string, { metadata: { labels = {} } }: KubernetesObject): boolean {
  return Object.entries(labelsFor(set)).every(([key, value]) => labels[key] === value);
}

/** Whether it counts for this PodSet, unless it is being deleted. */
export function isPodOf(
  { uid, name }: { readonly uid: string; readonly name: string },
  pod: KubernetesObject,
) {
  return controllerOf(pod.metadata)?.uid === uid && hasLabelsOf(name, pod) && !hasEnded(pod);
}
