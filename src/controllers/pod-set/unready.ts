import type { Advice, Cause } from '../../contract/cause.ts';
import { describeNode, podAdvice } from '../../api/pod-trouble.ts';
import { selectorFor, type PodView, type Unready } from './pod.ts';
import { hasTooLongName, type PodSetView, type StatusView } from './resource.ts';

/** The worst first. */
const CODES = [
  'ContainerCannotStart',
  'ImageNotPulled',
  'CrashLooping',
  'Unschedulable',
  'SchedulingGated',
  'NodeNotReady',
  'PodsNotReady',
] as const;
type Code = (typeof CODES)[number];

interface UnreadyCause extends Cause {
  readonly reason: Code;
}

/** A person has to act; or the Pods may be just starting, for so many milliseconds more. */
export type Unreadiness =
  | {
      readonly cause: UnreadyCause;
      /** The node that may be the cause; undefined: it is known whether it is. */
      readonly nodeToRead?: string;
    }
  | { readonly recheckMs: number };

/** A node, as it was read. */
export interface NodeSeen {
  readonly name: string;
  /** It follows the name of a Pod. Undefined: the node is ready, or nobody can tell. */
  readonly trouble?: string;
}

/** What unready Pods are judged by. */
interface Judged {
  readonly podSet: Pick<PodSetView, 'namespace'> & { readonly status: Pick<StatusView, 'conditions'> };
  readonly nodes: readonly NodeSeen[];
  readonly nowMs: number;
}

/** A Pod that has not been Ready for so long is not just starting. */
const STARTING_MS = 60_000;

/** @returns undefined if all are Ready */
export function unreadinessOf(pods: readonly PodView[], judged: Judged): Unreadiness | undefined {
  const { podSet, nowMs } = judged;
  const unready = pods.filter(isUnready);
  if (unready.length === 0) return undefined;
  const reason = CODES.find((each) => unready.some((pod) => codeOf(pod, nowMs) === each));
  if (reason === undefined) return { recheckMs: firstEnd(unready, nowMs) };
  const alike = unready.filter((pod) => codeOf(pod, nowMs) === reason);
  const worst = alike.reduce((a, b) => (isBefore(b, a) ? b : a));
  const pod = `${worst.name} -n ${podSet.namespace}`;
  const messageOf = (pods: readonly UnreadyPod[], problem: string) =>
    `Pod ${worst.name}${othersInWords(pods.length - 1)} ${problem}`;
  const node = reason === 'PodsNotReady' ? nodeOf(worst, judged) : undefined;
  if (typeof node === 'object' && node.trouble !== undefined) {
    const there = alike.filter((each) => each.node === worst.node);
    const trouble = there.length === 1 ? node.trouble : node.trouble.replace(/^is /, 'are ');
    const message = messageOf(there, trouble);
    const advice = [describeNode(worst.node), ...podAdvice('NodeNotReady', pod)];
    return { cause: { reason: 'NodeNotReady', message, advice } };
  }
  const cause = { reason, message: messageOf(alike, problemOf(worst)), advice: adviceOn(reason, pod) };
  return node === 'unknown' ? { cause, nodeToRead: worst.node } : { cause };
}

/** The status is the memory of what a node was found to be: a node is read once, and not again at rest. */
function nodeOf({ name, node }: UnreadyPod, { podSet, nodes }: Judged): NodeSeen | 'unknown' | undefined {
  if (node === '') return undefined;
  const seen = nodes.find((each) => each.name === node);
  if (seen !== undefined) return seen;
  const { reason, message = '' } = podSet.status.conditions.find(({ type }) => type === 'Ready') ?? {};
  if (reason === 'PodsNotReady' && message.startsWith(`Pod ${name} `)) return { name: node };
  const [, trouble, told] = /(on node (\S+), which is not ready(?: since [^\s;]+)?)/.exec(message) ?? [];
  const isTold = reason === 'NodeNotReady' && told === node && trouble !== undefined;
  return isTold ? { name: node, trouble: `is ${trouble}` } : 'unknown';
}

/** Its Pods ended, and are replaced. */
export function podsFailed({ name, namespace }: Pick<PodSetView, 'name' | 'namespace'>): Cause {
  const run = `kubectl describe pods -n ${namespace} -l ${selectorFor(name)}`;
  return {
    reason: 'PodsFailed',
    message: 'Pods failed, and are replaced after a pause that grows each time',
    advice: [{ run, to: 'see why they failed' }],
  };
}

/** What is wrong with each that is not Ready, the worst first. */
export function unreadyInWords(pods: readonly PodView[]): readonly string[] {
  const rank = ({ unready }: UnreadyPod) => CODES.indexOf(unready.trouble?.code ?? 'PodsNotReady');
  return pods
    .filter(isUnready)
    .toSorted((a, b) => rank(a) - rank(b) || (isBefore(a, b) ? -1 : 1))
    .map(({ name, unready }) => `Pod ${name} ${unready.trouble?.text ?? 'is not Ready'}`);
}

export function invalidSpec(podSet: PodSetView, message: string): Cause {
  const { name, namespace } = podSet;
  const correct = { run: `kubectl edit podset ${name} -n ${namespace}`, to: 'correct spec.replicas' };
  const advice = hasTooLongName(podSet) ? ['create a PodSet with a shorter name instead'] : [correct];
  return { reason: 'InvalidSpec', message: message, advice };
}

type UnreadyPod = PodView & { readonly unready: Unready };

function isUnready(pod: PodView): pod is UnreadyPod {
  return pod.unready !== undefined;
}

function codeOf({ unready: { trouble, sinceMs } }: UnreadyPod, nowMs: number): Code | undefined {
  return trouble?.code ?? (sinceMs + STARTING_MS <= nowMs ? 'PodsNotReady' : undefined);
}

function firstEnd(pods: readonly UnreadyPod[], nowMs: number): number {
  // Where the clocks differ, a Pod may come from the future.
  return pods.reduce(
    (first, { unready }) => Math.min(first, unready.sinceMs + STARTING_MS - nowMs),
    STARTING_MS,
  );
}

/** The oldest stays the same while others come and go: the status is written less often. */
function isBefore(a: PodView, b: PodView): boolean {
  return a.createdAtMs === b.createdAtMs ? a.name < b.name : a.createdAtMs < b.createdAtMs;
}

/** In powers of two: 300 Pods that fail one after the other change it nine times. */
function othersInWords(count: number): string {
  if (count === 0) return '';
  const least = 2 ** Math.floor(Math.log2(count));
  return ` and at least ${least} ${least === 1 ? 'other' : 'others'}`;
}

function problemOf({ unready }: UnreadyPod): string {
  return unready.trouble?.text ?? `stayed unready for ${STARTING_MS / 1_000} seconds`;
}

/** @param pod its name and namespace, as kubectl takes them */
function adviceOn(code: Code, pod: string): readonly Advice[] {
  if (code !== 'PodsNotReady') return podAdvice(code, pod);
  return [
    { run: `kubectl describe pod ${pod}`, to: 'show the Events of the Pod' },
    { run: `kubectl logs ${pod}`, to: 'show what it writes' },
  ];
}
