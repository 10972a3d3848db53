import { inOneLine } from '../../contract/cause.ts';
import { causeOfOverride, causeOfRefusal } from '../../contract/refusal.ts';
import {
  conditionsAfter,
  stalledBy,
  withReconciling,
  type Condition,
  type Finding,
  rfc3339,
} from '../condition.ts';
import { refusalWords } from '../refusal-words.ts';
import { podsInWords, selectorFor, type PodView } from './pod.ts';
import type { PodSetReason } from './reasons.ts';
import type { PodSetStatus, PodSetView, StatusView } from './resource.ts';
import { invalidSpec, podsFailed, type Unreadiness } from './unready.ts';

/** The steps whose refusal the status reports. */
export const STEPS_ON_PODS = ['createPods', 'deletePods', 'adoptPods', 'releasePods'] as const;

/** What `Stalled` is true for where the server refuses a step. */
const STALLED_BY = {
  createPods: 'CreateFailed',
  deletePods: 'DeleteFailed',
  adoptPods: 'AdoptFailed',
  releasePods: 'ReleaseFailed',
} as const satisfies Readonly<Record<(typeof STEPS_ON_PODS)[number], PodSetReason>>;
const OVERRIDDEN = 'Overridden' satisfies PodSetReason;

/** Why a step has done nothing. */
export interface StepFailure {
  readonly step: (typeof STEPS_ON_PODS)[number];
  /** The server's words, where it refused to do it; undefined: nobody knows whether it was done. */
  readonly refusal?: string;
  /** The server accepted it, and something else changed what was written. Default: it refused. */
  readonly isOverridden?: boolean;
}

/** What a status is about. */
export interface Findings {
  readonly podSet: PodSetView;
  readonly available: readonly PodView[];
  /** To be released. As long as they are ours, the status is what they are found by. */
  readonly lost: readonly PodView[];
  /** Missing Pods are not created yet, because of failed ones. */
  readonly isPausing: boolean;
  /** Of the available Pods; undefined: all are Ready. */
  readonly unreadiness: Unreadiness | undefined;
  readonly failure: StepFailure | undefined;
}

/** What of a status is written. */
export type StatusPatch = Partial<PodSetStatus> & Pick<PodSetStatus, 'readyReplicas' | 'conditions'>;

/**
 * Where nobody knows whether a step was done, what the names of new Pods follow from stays: a create that is late meets
 * AlreadyExists then, and makes no Pod too many.
 *
 * @returns the status as it should be, or undefined where it is up to date
 */
export function statusToWrite(findings: Findings, nowMs: number): StatusPatch | undefined {
  const { podSet, available, lost, failure } = findings;
  const { generation, status: before } = podSet;
  const [ready, stalled] = [readyOrNot(findings), stalledOrNot(findings)];
  const found = withReconciling(ready, stalled, isOver(findings, ready));
  const conditions = conditionsAfter(before.conditions, found, { generation, now: rfc3339(nowMs) });
  const patch = { readyReplicas: available.length, conditions };
  const isUnknown = failure !== undefined && failure.refusal === undefined;
  // Ready is only what observes its generation.
  if (isUnknown && ready.status === 'True') return undefined;
  const status = isUnknown
    ? patch
    : {
        ...patch,
        podNames: namesOf(available, lost),
        selector: selectorFor(podSet.name),
        observedGeneration: generation,
      };
  return textOf({ ...before, ...status }) === textOf(before) ? undefined : status;
}

/** With the longest names, these take a quarter of what etcd takes as one object (1.5 MiB). */
export const NAMED_MAX = 1_000;

/** The Pods to release come first: only the status tells who they are. The oldest stay the same as others come and go. */
function namesOf(available: readonly PodView[], lost: readonly PodView[]): readonly string[] {
  const all = [...lost, ...available];
  const named = all.length <= NAMED_MAX ? all : [...oldestFirst(lost), ...oldestFirst(available)];
  return named
    .slice(0, NAMED_MAX)
    .map(({ name }) => name)
    .sort();
}

function oldestFirst(pods: readonly PodView[]): readonly PodView[] {
  return [...pods].sort((a, b) => a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1));
}

/** So many Pods may be created or deleted before the status says so. */
const LAG_MAX = 100;

/**
 * Whether the status should be written before more Pods are created or deleted: it names too many that are gone, each
 * of which would be looked for by its name; or there are twice as many as it names; or twice or half as many as it counts.
 */
export function isFarBehind(
  { podNames: known, readyReplicas = 0 }: StatusView,
  available: readonly PodView[],
): boolean {
  const names = new Set(available.map(({ name }) => name));
  const kept = known.filter((name) => names.has(name)).length;
  const unnamed = Math.min(names.size, NAMED_MAX) - kept;
  const [fewer = 0, more = 0] = [readyReplicas, names.size].sort((a, b) => a - b);
  return (
    known.length - kept >= LAG_MAX ||
    unnamed >= Math.max(LAG_MAX, known.length) ||
    more - fewer >= Math.max(LAG_MAX, fewer)
  );
}

/** Why a status has to be written, for people. */
export function whyUpdate({ podNames: known, ...before }: StatusView, after: StatusPatch): string {
  const { podNames, readyReplicas, observedGeneration, conditions } = {
    podNames: known,
    ...before,
    ...after,
  };
  const there = `${podsInWords(readyReplicas)} ${readyReplicas === 1 ? 'is' : 'are'} available`;
  if (known.join() !== podNames.join())
    return `${there}, but the status names ${known.length === podNames.length ? 'others' : known.length}`;
  if (before.observedGeneration !== observedGeneration) return 'the spec changed';
  if (before.readyReplicas !== undefined && before.readyReplicas !== readyReplicas)
    return `${there}, but the status counts ${before.readyReplicas}`;
  const texts = new Set(before.conditions.map(conditionText));
  const changed = conditions.find((condition) => !texts.has(conditionText(condition)));
  if (changed === undefined) return 'the status is incomplete';
  return `${changed.type} is ${changed.status}: ${changed.reason}`;
}

type PodSetFinding = Finding & { readonly reason: PodSetReason };

/** Neither reason nor message has a count: they would have to be written with each Pod. */
function readyOrNot(findings: Findings): PodSetFinding {
  const [reason, message] = whyNotReady(findings) ?? [];
  return reason === undefined || message === undefined
    ? { type: 'Ready', status: 'True', reason: 'PodsReady', message: 'all desired Pods exist and are Ready' }
    : { type: 'Ready', status: 'False', reason, message };
}

function whyNotReady({
  podSet,
  available,
  isPausing,
  unreadiness,
  failure,
}: Findings): readonly [PodSetReason, string] | undefined {
  if ('invalid' in podSet.spec) return ['InvalidSpec', inOneLine(invalidSpec(podSet, podSet.spec.invalid))];
  const refusal = refusalIn({ podSet, failure });
  if (failure?.step === 'createPods' && refusal !== undefined)
    return [failure.isOverridden === true ? OVERRIDDEN : 'CreateFailed', `Pods are missing: ${refusal}`];
  const { replicas } = podSet.spec;
  if (available.length < replicas) {
    return isPausing
      ? ['PodsFailed', inOneLine(podsFailed(podSet))]
      : ['PodsMissing', 'some Pods have not been created yet'];
  }
  if (available.length > replicas) {
    const why = failure?.step === 'deletePods' && refusal !== undefined ? `: ${refusal}` : '';
    return ['PodsSurplus', `there are more Pods than spec.replicas${why}`];
  }
  if (unreadiness === undefined) return undefined;
  return 'cause' in unreadiness
    ? [unreadiness.cause.reason, inOneLine(unreadiness.cause)]
    : ['PodsStarting', 'all desired Pods exist, but some are not Ready yet'];
}

/** Whether nothing is left to do, be it Ready or not. */
function isOver({ unreadiness }: Findings, { status, reason }: PodSetFinding): boolean {
  if (status === 'True') return true;
  return unreadiness !== undefined && 'cause' in unreadiness && unreadiness.cause.reason === reason;
}

function stalledOrNot({ podSet, failure }: Findings): PodSetFinding {
  const stalled = { type: 'Stalled', status: 'True' } as const;
  if ('invalid' in podSet.spec) {
    const message = inOneLine(invalidSpec(podSet, podSet.spec.invalid));
    return { ...stalled, reason: 'InvalidSpec', message };
  }
  const message = refusalIn({ podSet, failure });
  if (failure === undefined || message === undefined)
    return { type: 'Stalled', status: 'False', reason: 'NotStalled', message: '' };
  return {
    ...stalled,
    reason: failure.isOverridden === true ? OVERRIDDEN : STALLED_BY[failure.step],
    message,
  };
}

/** The server's words if it refuses a step, and what to do. */
function refusalIn({ podSet, failure }: Pick<Findings, 'podSet' | 'failure'>): string | undefined {
  const { refusal, isOverridden = false } = failure ?? {};
  if (refusal === undefined) return undefined;
  const before = podSet.status.conditions.find(({ type }) => type === 'Stalled');
  const cause = isOverridden ? causeOfOverride(refusal) : causeOfRefusal(refusal, podSet);
  return refusalWords(before?.message, inOneLine(cause));
}

/** Whether the status says of this very generation that the server refuses something, or that something is overridden. */
export function isRefusalReported(podSet: PodSetView, isOverridden: boolean): boolean {
  const reason = stalledBy(podSet)?.reason;
  const reasons: readonly string[] = isOverridden ? [OVERRIDDEN] : Object.values(STALLED_BY);
  return reason !== undefined && reasons.includes(reason);
}

/** The same text for the same status, in whatever order the server keeps the fields. */
function textOf({ podNames, readyReplicas, selector, observedGeneration, conditions }: StatusView): string {
  const texts = conditions.map(conditionText);
  return JSON.stringify([podNames, readyReplicas, selector, observedGeneration, texts]);
}

function conditionText(condition: Condition): string {
  const { type, status, observedGeneration, lastTransitionTime, reason, message } = condition;
  return JSON.stringify([type, status, observedGeneration, lastTransitionTime, reason, message]);
}
