import { conditionsAfter, type Condition, type Finding } from '../condition.ts';
import type { Observation, SeenPodSet, SeenStatus } from './observation.ts';
import { selectorFor, type SeenPod } from './pod.ts';
import type { PodSetStatus } from './resource.ts';

/** What a status is about. */
export interface Findings {
  readonly podSet: SeenPodSet;
  readonly available: readonly SeenPod[];
  /** Pods are missing, and failed ones are why they are not created yet. */
  readonly pausing: boolean;
  readonly refusal: Observation['refusal'];
}

/** @returns the status that is to be, or undefined where it is so already */
export function statusToWrite(findings: Findings, nowMs: number): PodSetStatus | undefined {
  const { podSet, available } = findings;
  const { generation, status: before } = podSet;
  const podNames = available.map(({ name }) => name).sort();
  const status = {
    podNames,
    readyReplicas: podNames.length,
    selector: selectorFor(podSet.name),
    observedGeneration: generation,
    conditions: conditionsAfter(before.conditions, [ready(findings), stalledOrNot(findings)], {
      generation,
      now: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    }),
  };
  return textOf(status) === textOf(before) ? undefined : status;
}

/**
 * Whether a status tells what counts of one in whose stead it stands while Pods are being created: until they
 * are twice as many. It has to name every Pod that is to be looked for where it disappears, so it may lack
 * some, and never have too many.
 */
export function isNearly(before: SeenStatus, status: PodSetStatus): boolean {
  const { podNames } = status;
  const known = before.podNames.length;
  const names = new Set(podNames);
  return (
    podNames.length < 2 * known &&
    before.podNames.every((name) => names.has(name)) &&
    textOf({ ...before, podNames, readyReplicas: podNames.length }) === textOf(status)
  );
}

/** Neither reason nor message tells how many: they would have to be written with each Pod. */
function ready(findings: Findings): Finding {
  const [reason, message] = whyNotReady(findings) ?? [];
  return reason === undefined || message === undefined
    ? {
        type: 'Ready',
        status: 'True',
        reason: 'PodsReady',
        message: 'the wanted Pods are there, and all of them are Ready',
      }
    : { type: 'Ready', status: 'False', reason, message };
}

function whyNotReady({
  podSet,
  available,
  pausing,
  refusal,
}: Findings): readonly [string, string] | undefined {
  if ('invalid' in podSet.spec) return ['InvalidSpec', podSet.spec.invalid];
  if (refusal !== undefined) return ['CreateFailed', 'Pods are missing, since creating them is refused'];
  const { replicas } = podSet.spec;
  if (pausing) return ['PodsFailed', 'Pods have failed, and are replaced after a pause that grows each time'];
  if (available.length < replicas) return ['PodsMissing', 'Pods are still to be created'];
  if (available.length > replicas) return ['PodsSurplus', 'there are more Pods than wanted'];
  return available.every((pod) => pod.ready)
    ? undefined
    : ['PodsNotReady', 'the wanted Pods are there, but not all of them are Ready'];
}

function stalledOrNot({ podSet, refusal }: Findings): Finding {
  const stalled = { type: 'Stalled', status: 'True' } as const;
  if ('invalid' in podSet.spec) return { ...stalled, reason: 'InvalidSpec', message: podSet.spec.invalid };
  if (refusal !== undefined) return { ...stalled, reason: 'CreateFailed', message: refusal };
  return { type: 'Stalled', status: 'False', reason: 'NotStalled', message: '' };
}

/** The same text for the same status, in whatever order the server keeps the fields. */
function textOf({ podNames, readyReplicas, selector, observedGeneration, conditions }: SeenStatus): string {
  const texts = conditions.map(conditionText);
  return JSON.stringify([podNames, readyReplicas, selector, observedGeneration, texts]);
}

function conditionText(condition: Condition): string {
  const { type, status, observedGeneration, lastTransitionTime, reason, message } = condition;
  return JSON.stringify([type, status, observedGeneration, lastTransitionTime, reason, message]);
}
