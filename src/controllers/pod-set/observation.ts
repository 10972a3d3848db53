import type { KubernetesObject } from '../../contract/object.ts';
import type { Condition } from '../condition.ts';
import type { SeenPod } from './pod.ts';
import type { PodSet, PodSetStatus } from './resource.ts';

/** What a decision needs to know of a PodSet. */
export interface SeenPodSet {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly beingDeleted: boolean;
  readonly spec: { readonly replicas: number } | { readonly invalid: string };
  /** As it is stored; what is missing or malformed is empty. */
  readonly status: SeenStatus;
}

export type SeenStatus = Partial<Omit<PodSetStatus, 'podNames' | 'conditions'>> &
  Pick<PodSetStatus, 'podNames' | 'conditions'>;

/** What a pass has found out so far. */
export interface Observation<P extends SeenPod = SeenPod> {
  readonly podSet: SeenPodSet | 'gone';
  /** At least those with the PodSet's labels, as listed; and what became of them and of others in this pass. */
  readonly pods: readonly P[];
  /** Names of Pods that the list did not show and that were read one by one; those found are in `pods`. */
  readonly lookedFor: readonly string[];
  /** The server's words, where it refused to create a Pod. */
  readonly refusal?: string;
  /** No further write but that of the status is to be begun in this pass. */
  readonly timeIsUp: boolean;
}

/** An observation before anything was done about it. */
export function observed<P extends SeenPod>(podSet: SeenPodSet | 'gone', pods: readonly P[]): Observation<P> {
  return { podSet, pods, lookedFor: [], timeIsUp: false };
}

/** A CRD's `spec` and `status` are objects where they are there: its schema says so, and has always said so. */
export function isPodSet(object: KubernetesObject): object is PodSet {
  return isObjectOrAbsent(object['spec']) && isObjectOrAbsent(object['status']);
}

function isObjectOrAbsent(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && value !== null);
}

export function seePodSet({ metadata, spec, status }: PodSet): SeenPodSet {
  const { namespace = '', name, uid, generation = 0, deletionTimestamp } = metadata;
  return {
    namespace,
    name,
    uid,
    generation,
    beingDeleted: deletionTimestamp !== undefined,
    spec: seeSpec(`PodSet ${namespace}/${name}`, name, spec?.replicas),
    status: seeStatus(status ?? {}),
  };
}

const INT32_MAX = 2 ** 31 - 1;
/** Kubernetes, "Labels and Selectors": a label's value, as the name is one of, has at most 63 characters. */
const NAME_MAX = 63;

/** The schema refuses all of this; what was stored before there was one is refused here. */
function seeSpec(podSet: string, name: string, replicas: unknown): SeenPodSet['spec'] {
  if (name.length > NAME_MAX) {
    return {
      invalid: `${podSet}: its name has ${name.length} characters, and may have ${NAME_MAX}, since it is the value of a label; create it under a shorter one`,
    };
  }
  if (typeof replicas === 'number' && Number.isInteger(replicas) && replicas >= 0 && replicas <= INT32_MAX) {
    return { replicas };
  }
  const is = replicas === undefined ? 'missing' : JSON.stringify(replicas);
  return {
    invalid: `${podSet}: spec.replicas is ${is}, and must be an integer from 0 to ${INT32_MAX}; edit the PodSet`,
  };
}

function seeStatus(status: Partial<PodSetStatus>): SeenStatus {
  const { podNames, conditions, readyReplicas, selector, observedGeneration } = status;
  return {
    podNames: listOf(podNames, isText),
    conditions: listOf(conditions, isCondition),
    ...(readyReplicas !== undefined && { readyReplicas }),
    ...(selector !== undefined && { selector }),
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
}

function listOf<T>(value: unknown, isOne: (item: unknown) => item is T): readonly T[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.filter(isOne);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCondition(value: unknown): value is Condition {
  return typeof value === 'object' && value !== null && 'type' in value && 'status' in value;
}
