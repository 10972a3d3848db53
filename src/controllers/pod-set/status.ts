import { conditionsAfter, withReconciling, type Condition, type Finding, rfc3339 } from '../condition.ts';
import { selectorFor, type PodView } from './pod.ts';
import type { PodSetReason } from './reasons.ts';
import type { PodSetStatus, PodSetView, StatusView } from './resource.ts';

/** What a status is about. */
export interface Findings {
  readonly podSet: PodSetView;
  readonly available: readonly PodView[];
  /** To be released. As long as they are ours, the status is what they are found by. */
  readonly lost: readonly PodView[];
  /** Missing Pods are not created yet, because of failed ones. */
  readonly isPausing: boolean;
  /** The server's words, where it refuses to create Pods. */
  readonly refusal: string | undefined;
}

/** @returns the status as it should be, or undefined where it is up to date */
export function statusToWrite(findings: Findings, nowMs: number): PodSetStatus | undefined {
  const { podSet, available, lost } = findings;
  const { generation, status: before } = podSet;
  const podNames = [...available, ...lost].map(({ name }) => name).sort();
  const status = {
    podNames,
    readyReplicas: available.length,
    selector: selectorFor(podSet.name),
    observedGeneration: generation,
    conditions: conditionsAfter(before.conditions, withReconciling(ready(findings), stalledOrNot(findings)), {
      generation,
      now: rfc3339(nowMs),
    }),
  };
  return textOf(status) === textOf(before) ? undefined : status;
}

/** So many Pods may be created or deleted before the status says so. */
const LAG_MAX = 100;

/**
 * Whether the status should be written before more Pods are created or deleted: it names too many that are gone, each
 * of which would be looked for by its name, or there are twice as many as it names.
 */
export function isFarBehind({ podNames: known }: StatusView, available: readonly PodView[]): boolean {
  const names = new Set(available.map(({ name }) => name));
  const kept = known.filter((name) => names.has(name)).length;
  return known.length - kept >= LAG_MAX || names.size - kept >= Math.max(LAG_MAX, known.length);
}

/** Why a status has to be written, for people. */
export function whyUpdate({ podNames: known, ...before }: StatusView, after: PodSetStatus): string {
  const { podNames, readyReplicas, observedGeneration, conditions } = after;
  if (known.join() !== podNames.join()) {
    const there = readyReplicas === 1 ? '1 Pod is' : `${readyReplicas} Pods are`;
    return `${there} available, but the status names ${known.length === podNames.length ? 'others' : known.length}`;
  }
  if (before.observedGeneration !== observedGeneration) return 'the spec changed';
  const texts = new Set(before.conditions.map(conditionText));
  const changed = conditions.find((condition) => !texts.has(conditionText(condition)));
  if (changed === undefined) return 'the status is incomplete';
  return `${changed.type} is ${changed.status}: ${changed.reason}`;
}

type PodSetFinding = Finding & { readonly reason: PodSetReason };

/** Neither reason nor message has a count: they would have to be written with each Pod. */
function ready(findings: Findings): PodSetFinding {
  const [reason, message] = whyNotReady(findings) ?? [];
  return reason === undefined || message === undefined
    ? { type: 'Ready', status: 'True', reason: 'PodsReady', message: 'all desired Pods exist and are Ready' }
    : { type: 'Ready', status: 'False', reason, message };
}

function whyNotReady({
  podSet,
  available,
  isPausing,
  refusal,
}: Findings): readonly [PodSetReason, string] | undefined {
  if ('invalid' in podSet.spec) return ['InvalidSpec', podSet.spec.invalid];
  if (refusal !== undefined)
    return ['CreateFailed', 'Pods are missing: the API server refuses to create them'];
  const { replicas } = podSet.spec;
  if (available.length < replicas) {
    return isPausing
      ? ['PodsFailed', 'Pods failed; they are replaced after a pause that grows each time']
      : ['PodsMissing', 'some Pods have not been created yet'];
  }
  if (available.length > replicas) return ['PodsSurplus', 'there are more Pods than spec.replicas'];
  return available.every(({ readySinceMs }) => readySinceMs !== undefined)
    ? undefined
    : ['PodsNotReady', 'all desired Pods exist, but some are not Ready'];
}

function stalledOrNot({ podSet, refusal }: Findings): PodSetFinding {
  const stalled = { type: 'Stalled', status: 'True' } as const;
  if ('invalid' in podSet.spec) return { ...stalled, reason: 'InvalidSpec', message: podSet.spec.invalid };
  if (refusal === undefined) return { type: 'Stalled', status: 'False', reason: 'NotStalled', message: '' };
  const before = podSet.status.conditions.find(({ type }) => type === 'Stalled');
  const message = before !== undefined && isSameRefusal(before.message, refusal) ? before.message : refusal;
  return { ...stalled, reason: 'CreateFailed', message };
}

/**
 * Quoted names and numbers, such as `used: pods=5`, differ from one refusal to the next. They are not worth a write
 * each, which would also come before the backoff each time.
 */
function isSameRefusal(one: string, other: string): boolean {
  const [words, otherWords] = [one, other].map((text) => text.replace(/"[^"]*"|\S*\d\S*/g, ''));
  return words === otherWords;
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
