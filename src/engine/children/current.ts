import type { Current, CurrentObject } from '../../api/child.ts';
import { causeOfBlocked, stepName, waitsFor, type ChildrenSeen } from './decide.ts';
import { inWords, isSame, type ChildRef } from './wanted.ts';

/**
 * What the author's functions have as `current`.
 *
 * @param home the namespace of the resource. Undefined: it has none
 */
export function currentOf(seen: ChildrenSeen | undefined, home: string | undefined): Current<unknown> {
  return <View>(...[type, name, namespace = home]: Parameters<Current<unknown>>) => {
    const place = { type, name, namespace: type.namespaced ? namespace : undefined };
    // The `view` of the type is the author's own.
    return seen && (currentAt(seen, place) as CurrentObject<View> | undefined);
  };
}

function currentAt(seen: ChildrenSeen, place: ChildRef): CurrentObject<unknown> | undefined {
  const live = seen.there.find((each) => isSame(each, place));
  const wanted = seen.wanted.find((each) => isSame(each, place));
  const isDone = live === undefined && seen.done?.some((each) => isSame(each, place)) === true;
  const blocked = seen.blocked?.find(({ child }) => isSame(child, place));
  const refused =
    (blocked && causeOfBlocked(blocked)) ??
    seen.refused?.find(
      ({ step, child }) =>
        (child === undefined || isSame(child, place)) &&
        [stepName('create', place), stepName('apply', place)].includes(step),
    )?.cause;
  const before = wanted && live === undefined ? waitsFor(wanted, seen) : undefined;
  if (live === undefined && !isDone && refused === undefined && before === undefined) return undefined;
  return {
    ...(live && { uid: live.uid }),
    ...(live?.kept !== undefined && { view: live.kept }),
    ready: isDone || live?.readiness.is === 'ready',
    isBeingDeleted: live?.isBeingDeleted === true,
    ...(refused && { refused }),
    ...(before && { waitsFor: inWords(before) }),
  };
}

/** What `ready` of a wrapped child says counts more than what the library knows of the type. */
export function judged(seen: ChildrenSeen): ChildrenSeen {
  if (!seen.wanted.some(({ ready }) => ready)) return seen;
  const there = seen.there.map((child) => {
    const ready = seen.wanted.find((each) => isSame(each, child))?.ready;
    const current = ready && currentAt({ ...seen, blocked: [], refused: [] }, child);
    if (ready === undefined || current === undefined) return child;
    const answer = ready(current);
    if (typeof answer === 'boolean')
      return { ...child, readiness: { is: answer ? ('ready' as const) : ('progressing' as const) } };
    return { ...child, readiness: { is: 'failed' as const, because: answer.message, cause: answer } };
  });
  return { ...seen, there };
}
