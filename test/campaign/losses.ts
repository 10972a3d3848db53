import { controllerOf } from '../../src/api/kinds.ts';
import type { Journalled } from '../../testing/stack/api-proxy.ts';
import { uidIn, valueAt, writesOf, type Evidence } from './invariants.ts';
import { historiesIn, OBSERVED_MS, type Version } from './observer.ts';
import { isPodOf } from './pods.ts';

/** A step that deletes takes 2 s at most, and what is slow is not counted from when it is made. */
export const APPROVAL_SEEN_MS = 3_500;

/**
 * Whether a write is the deletion of a Pod of a PodSet that had more than so many too many, and was never seen with
 * fewer too many about that time: whatever the operator had seen of it, it had to wait for an approval, or had nothing to
 * delete. Pods that it deletes about that time count as still there.
 */
export function lossesOf(
  { journal, versions }: Evidence,
  requireApprovalOver: number,
): (write: Journalled) => 'too many' | 'few' {
  const histories = historiesIn(versions);
  const deletes = writesOf(journal).filter(
    ({ method, about }) => method === 'DELETE' && about.resource === 'pods',
  );
  return (write) => {
    const pod = histories.get(uidIn(write.answer) ?? '') ?? [];
    const set = pod
      .map(({ object }) => controllerOf(object.metadata))
      .findLast((owner) => owner !== undefined);
    if (!deletes.includes(write) || set === undefined) return 'few';
    const [fromMs, untilMs] = [write.atMs - APPROVAL_SEEN_MS, write.atMs + OBSERVED_MS];
    const isAbout = ({ atMs }: { readonly atMs: number }) => atMs > fromMs && atMs <= untilMs;
    const spared = new Set(deletes.filter(isAbout).flatMap(({ answer }) => uidIn(answer) ?? []));
    const pods = [...histories].filter(([, history]) => history[0]?.resource === 'pods');
    const moments = [fromMs, ...versions.filter(isAbout).map(({ atMs }) => atMs)];
    const surpluses = moments.flatMap((atMs) => {
      const replicas = replicasAt(histories.get(set.uid) ?? [], atMs);
      const there = pods.filter(([uid, history]) => {
        const seen = spared.has(uid) ? history.filter((version) => !isGoing(version)) : history;
        const last = seen.findLast((version) => version.atMs <= atMs);
        return last !== undefined && !isGoing(last) && isPodOf(set, last.object);
      });
      return replicas === undefined ? [] : [there.length - replicas];
    });
    const isTooMany = surpluses.some((surplus) => surplus > requireApprovalOver);
    const isFew = surpluses.some((surplus) => surplus >= 1 && surplus <= requireApprovalOver);
    return isTooMany && !isFew ? 'too many' : 'few';
  };
}

/** Undefined: it is not there, or is being deleted. */
function replicasAt(set: readonly Version[], atMs: number): number | undefined {
  const version = set.findLast((each) => each.atMs <= atMs);
  const replicas = valueAt(version?.object, 'spec', 'replicas');
  return version === undefined || isGoing(version) || typeof replicas !== 'number' ? undefined : replicas;
}

function isGoing({ object, isDeleted }: Version): boolean {
  return isDeleted || object.metadata.deletionTimestamp !== undefined;
}
