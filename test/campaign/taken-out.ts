import { controllerOf } from '../../src/api/kinds.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { nameOf, objectIn, writesOf, type Evidence } from './invariants.ts';
import { historiesIn, type Version } from './observer.ts';
import { hasLabelsOf } from './pods.ts';

/** So long the operator may not know of it. */
const SEEN_WITHIN_MS = 1_000;

/** I4: a Pod is not deleted that was no PodSet's, or has not been for a second when its DELETE is sent. */
export function takenOut({ journal, place, versions }: Evidence): string[] {
  const histories = historiesIn(versions);
  return writesOf(journal).flatMap((request) => {
    const pod = objectIn(request.answer);
    const { method, about, atMs } = request;
    if (method !== 'DELETE' || about.resource !== 'pods' || pod === undefined || isOfPodSet(pod)) return [];
    const forMs = atMs - takenOutMs(histories.get(pod.metadata.uid) ?? []);
    if (forMs <= SEEN_WITHIN_MS) return [];
    const controller = controllerOf(pod.metadata)?.kind ?? 'nobody';
    const whose = controller === 'PodSet' ? 'that had lost its labels' : `of ${controller}`;
    const since = forMs < Infinity ? `, taken out ${forMs} ms before` : '';
    return `I4: ${nameOf(request, place)} deleted a Pod ${whose}${since}`;
  });
}

/** When a version was seen first that is no PodSet's any more; long ago where there never was another. */
function takenOutMs(history: readonly Version[]): number {
  const last = history.findLastIndex(({ object }) => isOfPodSet(object));
  return last === -1 ? -Infinity : (history[last + 1]?.atMs ?? Infinity);
}

function isOfPodSet(pod: KubernetesObject): boolean {
  const { kind, name = '' } = controllerOf(pod.metadata) ?? {};
  return kind === 'PodSet' && hasLabelsOf(name, pod);
}
