import { POD_TROUBLES, podTrouble } from '../../api/index.ts';
import type { Cause, Condition, KubernetesObject } from '../../api/index.ts';
import { isAvailable, selectorFor, type PodOfSet, type Unready } from './pod.ts';

/** The worst first. */
const REASONS: readonly string[] = [...POD_TROUBLES, 'PodsNotReady'];
/** Why Pods are not Ready: a cause for a person to act on, or for how many milliseconds they may be just starting. */
export type Unreadiness = { readonly cause: Cause } | { readonly recheckMs: number };

/** What unready Pods are judged by. */
interface Judged {
  readonly namespace: string;
  /** The condition of the PodSet. */
  readonly ready: Pick<Condition, 'reason' | 'message'> | undefined;
  /** Reads a Node. */
  readonly nodeNamed: (name: string) => KubernetesObject | undefined;
  readonly nowMs: number;
}

/** A Pod that has not been Ready for so long is not just starting. */
const STARTING_MS = 60_000;

/** @returns undefined if all are Ready */
export function unreadinessOf(pods: readonly PodOfSet[], judged: Judged): Unreadiness | undefined {
  const { namespace, nowMs } = judged;
  const unready = pods.filter(isUnready);
  if (unready.length === 0) return undefined;
  const reason = REASONS.find((each) => unready.some((pod) => reasonOf(pod, nowMs) === each));
  if (reason === undefined) return { recheckMs: firstEnd(unready, nowMs) };
  const alike = unready.filter((pod) => reasonOf(pod, nowMs) === reason);
  const worst = alike.reduce((a, b) => (isBefore(b, a) ? b : a));
  if (worst.unready.trouble !== undefined)
    return { cause: ofAll(worst.unready.trouble, worst, alike.length) };
  const onNode = nodeTrouble(worst, judged);
  if (onNode !== undefined) {
    const there = alike.filter((each) => each.node === worst.node);
    return { cause: ofAll(onNode, worst, there.length) };
  }
  const pod = `${worst.name} -n ${namespace}`;
  const cause = {
    reason,
    message: `Pod ${worst.name} stayed unready for ${STARTING_MS / 1_000} seconds`,
    advice: [
      { run: `kubectl describe pod ${pod}`, to: 'show the Events of the Pod' },
      { run: `kubectl logs ${pod}`, to: 'show what it writes' },
    ],
  };
  return { cause: ofAll(cause, worst, alike.length) };
}

/** The same of several Pods. */
function ofAll(cause: Cause, { name }: PodOfSet, count: number): Cause {
  const [one, all] = [`Pod ${name}`, `Pod ${name}${othersInWords(count - 1)}`];
  const message = cause.message.replace(one, all);
  return { ...cause, message: count === 1 ? message : message.replace(`${all} is `, `${all} are `) };
}

/** The Node is read once. From then on, the condition says what it was found to be. */
function nodeTrouble(pod: UnreadyPod, { namespace, ready, nodeNamed }: Judged): Cause | undefined {
  const { name, uid, resourceVersion, node } = pod;
  if (node === '') return undefined;
  const { reason, message = '' } = ready ?? {};
  if (reason === 'PodsNotReady' && message.startsWith(`Pod ${name} `)) return undefined;
  const [, toldNode, toldSince] =
    /on node (\S+), which is not ready(?: since ([^\s;]+))?/.exec(message) ?? [];
  const isTold = reason === 'NodeNotReady' && toldNode === node;
  const there = isTold ? nodeNotReady(node, toldSince) : nodeNamed(node);
  return there && podTrouble({ metadata: { namespace, name, uid, resourceVersion } }, { node: there });
}

/** As it was found to be. */
function nodeNotReady(name: string, lastTransitionTime?: string): KubernetesObject {
  const ready = { type: 'Ready', status: 'Unknown', ...(lastTransitionTime && { lastTransitionTime }) };
  return { metadata: { name, uid: '', resourceVersion: '' }, status: { conditions: [ready] } };
}

/** Its Pods ended, and are replaced. */
export function podsFailed(podSet: string, namespace: string): Cause {
  const run = `kubectl describe pods -n ${namespace} -l ${selectorFor(podSet)}`;
  return {
    reason: 'PodsFailed',
    message: 'Pods failed, and are replaced after a pause that grows each time',
    advice: [{ run, to: 'see why they failed' }],
  };
}

/** What is wrong with each that is not Ready, the worst first. */
export function unreadyInWords(pods: readonly PodOfSet[]): readonly string[] {
  const rank = ({ unready }: UnreadyPod) => REASONS.indexOf(unready.trouble?.reason ?? 'PodsNotReady');
  return pods
    .filter(isUnready)
    .toSorted((a, b) => rank(a) - rank(b) || (isBefore(a, b) ? -1 : 1))
    .map(({ name, unready }) => unready.trouble?.message ?? `Pod ${name} is not Ready`);
}

type UnreadyPod = PodOfSet & { readonly unready: Unready };

function isUnready(pod: PodOfSet): pod is UnreadyPod {
  return isAvailable(pod) && pod.unready !== undefined;
}

function reasonOf({ unready: { trouble, sinceMs } }: UnreadyPod, nowMs: number): string | undefined {
  return trouble?.reason ?? (sinceMs + STARTING_MS <= nowMs ? 'PodsNotReady' : undefined);
}

function firstEnd(pods: readonly UnreadyPod[], nowMs: number): number {
  // Where the clocks differ, a Pod may come from the future.
  return pods.reduce(
    (first, { unready }) => Math.min(first, unready.sinceMs + STARTING_MS - nowMs),
    STARTING_MS,
  );
}

/** The oldest stays the same while others come and go: the status is written less often. */
function isBefore(a: PodOfSet, b: PodOfSet): boolean {
  return a.createdAtMs === b.createdAtMs ? a.name < b.name : a.createdAtMs < b.createdAtMs;
}

/** Rounded down to a power of two, so that it changes rarely: 300 Pods that fail one by one change it nine times. */
function othersInWords(count: number): string {
  if (count === 0) return '';
  const least = 2 ** Math.floor(Math.log2(count));
  return ` and at least ${least} ${least === 1 ? 'other' : 'others'}`;
}
