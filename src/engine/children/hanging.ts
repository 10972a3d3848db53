import type { WatchedType } from '../../api/watched.ts';
import type { Cause } from '../../api/cause.ts';
import { waitFor, type Observe, type Wait } from '../../runs/decision.ts';
import { fieldsOf, textOf } from '../../api/fields.ts';
import { PODS } from '../../api/kinds.ts';
import type { AnyDefinition } from '../definition.ts';
import type { DefinedView } from '../view.ts';
import type { ChildrenNotReady } from './decide.ts';
import type { WantedObject } from './wanted.ts';

/*
 * Why the Pods of declared objects do not get ready. Only a step reads Pods, and only where something is not ready: when the status is
 * written, and then so long after. What the status says of it is all that is remembered.
 */

/** What a step has found. */
export type PodsFound =
  /** A Pod, and what is wrong with it. */
  | { readonly cause: Cause }
  /** None of them says why. When the youngest was created, in milliseconds since the epoch. */
  | { readonly sinceMs: number };

const LOOKS = [
  { afterMs: 60_000, text: 'its Pods do not say why after a minute' },
  { afterMs: 600_000, text: 'its Pods do not say why after ten minutes' },
  { afterMs: 3_600_000, text: 'its Pods do not say why after an hour' },
] as const;
/** One that has been there for so long is not just starting. */
const STARTING_MS = LOOKS[0].afterMs;

/** Whether the roles of the controller let Pods be listed. */
export function readsPods({ owns = [], permissions = [] }: AnyDefinition): boolean {
  const types = owns as readonly (WatchedType & { readonly view?: unknown })[];
  const isListed = permissions.some(
    ({ apiGroups, resources, verbs, resourceNames = [] }) =>
      isOneOf('', apiGroups) &&
      isOneOf(PODS.plural, resources) &&
      isOneOf('list', verbs) &&
      resourceNames.length === 0,
  );
  return isListed || types.some(({ group, plural }) => group === '' && plural === PODS.plural);
}

function isOneOf(name: string, names: readonly string[]): boolean {
  return names.includes(name) || names.includes('*');
}

/** Which Pods are those of an object. Undefined: it has none. */
export function podSelector({ type: { group, kind }, name, object }: WantedObject): string | undefined {
  if (group === 'batch' && kind === 'Job') return `batch.kubernetes.io/job-name=${name}`;
  if (group !== 'apps') return undefined;
  const { matchLabels } = fieldsOf(fieldsOf(object['spec'])['selector']);
  const labels = Object.entries(fieldsOf(matchLabels)).map(([key, value]) => `${key}=${textOf(value) ?? ''}`);
  return labels.length === 0 ? undefined : labels.join(',');
}

interface Looking {
  readonly view: DefinedView;
  readonly nowMs: number;
  /** Absent: nobody has looked just now. */
  readonly pods?: PodsFound | undefined;
}

/** The same with what the Pods say; or another look at them is due. */
export function withPods(
  next: ChildrenNotReady,
  { view, nowMs, pods }: Looking,
): ChildrenNotReady | Wait | Observe {
  const base = next.notReady?.message ?? '';
  const sinceMs = notReadySince(view) ?? nowMs;
  if (pods === undefined) {
    const said = saidOf(view, base);
    const place = LOOKS.findIndex(({ text }) => text === said);
    const known = said === '' ? next : saying(next, said, place === -1);
    const due = said === '' ? LOOKS[0] : LOOKS[place + 1];
    if (due === undefined || (said !== '' && place === -1)) return known;
    const leftMs = sinceMs + due.afterMs - nowMs;
    return leftMs > 0
      ? { ...known, recheckMs: leftMs }
      : { do: 'observe', because: 'its Pods may say by now why it is not ready' };
  }
  if ('cause' in pods) return saying(next, pods.cause.message, true, pods.cause);
  const look = LOOKS.findLast(({ afterMs }) => sinceMs + afterMs <= nowMs);
  if (look === undefined) return next;
  const leftMs = pods.sinceMs + STARTING_MS - nowMs;
  return leftMs > 0
    ? waitFor('its Pods to start', Math.min(leftMs, STARTING_MS), next.notReady)
    : saying(next, look.text, false);
}

function notReadySince({ conditions, generation, observedGeneration }: DefinedView): number | undefined {
  const times = conditions
    .filter(
      ({ type, status }) =>
        (type === 'Ready' && status === 'False') || (type === 'Reconciling' && status === 'True'),
    )
    .map(({ lastTransitionTime }) => Date.parse(lastTransitionTime));
  return observedGeneration !== generation || times.length === 0 ? undefined : Math.max(...times);
}

/** What the status says of the Pods. Empty: nothing. */
function saidOf({ conditions, generation, observedGeneration }: DefinedView, base: string): string {
  const ready = conditions.find(({ type, status }) => type === 'Ready' && status === 'False');
  const begin = `${base}: `;
  const isSaid = observedGeneration === generation && ready?.message.startsWith(begin) === true;
  return isSaid ? ready.message.slice(begin.length) : '';
}

/** @param hangs it will not get ready by itself */
function saying(
  { notReady, isProgressing, ...next }: ChildrenNotReady,
  text: string,
  hangs: boolean,
  cause?: Cause,
): ChildrenNotReady {
  if (notReady === undefined) return next;
  const message = `${notReady.message}: ${text}`;
  const advice = cause?.advice ?? notReady.advice;
  return {
    ...next,
    notReady: { ...notReady, message, advice },
    ...(isProgressing && !hangs && { isProgressing }),
  };
}
