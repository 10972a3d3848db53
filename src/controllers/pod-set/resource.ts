import type { ResourceType } from '../../contract/controller.ts';
import type { Control } from '../../contract/control.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { conditionsIn, generationIn, type Condition } from '../condition.ts';
import { controlOf, controlWithStatusOf } from '../control/annotations.ts';
import { fieldsOf, numberOf, textOf } from '../fields.ts';

export const POD_SETS: ResourceType = {
  group: 'batch.tutorial.kubebuilder.io',
  version: 'v1',
  plural: 'podsets',
  kind: 'PodSet',
  namespaced: true,
  shortNames: ['pset'],
};
export const POD_SET_KIND = { apiVersion: `${POD_SETS.group}/${POD_SETS.version}`, kind: POD_SETS.kind };

export interface PodSetSpec {
  /** How many Pods are desired: an int32, at least 0. */
  readonly replicas: number;
}

export interface PodSetStatus {
  /**
   * The names of the available Pods, sorted: Pending or Running, and not being deleted; and of those that are still to be
   * released.
   */
  readonly podNames: readonly string[];
  /** How many Pods are available. It does not say how many are Ready. */
  readonly readyReplicas: number;
  /** The label selector of the Pods, as text: what the scale subresource shows an autoscaler. */
  readonly selector: string;
  /** The `metadata.generation` that this status is about. */
  readonly observedGeneration: number;
  /** `Ready`, `Stalled` and `Reconciling`; `Paused` and `AwaitingApproval` once a step was held. */
  readonly conditions: readonly Condition[];
  /** The value of the annotation `durable-operator.dev/reconcile-requested-at` that was reconciled last. */
  readonly lastHandledReconcileAt?: string;
  /** The ID of the last plan that was approved and of which nothing is left to delete. */
  readonly lastHandledApproval?: string;
}

/** A PodSet as the API server has it: what its schema refuses today may have been stored before. */
export interface PodSet extends KubernetesObject {
  readonly spec?: Partial<PodSetSpec>;
  readonly status?: Partial<PodSetStatus>;
}

export interface PodSetView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly isBeingDeleted: boolean;
  readonly spec: { readonly replicas: number } | { readonly invalid: string };
  readonly status: StatusView;
  readonly control?: Control | undefined;
}

/** A status as it is stored; what is missing or malformed is empty. */
export type StatusView = Partial<Omit<PodSetStatus, 'podNames' | 'conditions'>> &
  Pick<PodSetStatus, 'podNames' | 'conditions'>;

export function podSetView(object: KubernetesObject): PodSetView {
  const { metadata, ...rest } = object;
  const { namespace = '', name, uid, resourceVersion, generation = 0, deletionTimestamp } = metadata;
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    generation,
    isBeingDeleted: deletionTimestamp !== undefined,
    spec: specView(name, fieldsOf(rest['spec'])['replicas']),
    status: statusView(rest['status']),
    // A status that cannot be written cannot say what holds it back.
    control: hasTooLongName({ name }) ? controlOf(object) : controlWithStatusOf(object),
  };
}

const INT32_MAX = 2 ** 31 - 1;
/** Kubernetes, "Labels and Selectors": a label's value, as the name is one of, has at most 63 characters. */
const NAME_MAX = 63;

/** Stored before the schema had a limit. The server then refuses each write of it. */
export function hasTooLongName({ name }: Pick<PodSetView, 'name'>): boolean {
  return name.length > NAME_MAX;
}

/** The schema refuses all of this; what was stored before there was one is refused here. */
function specView(name: string, replicas: unknown): PodSetView['spec'] {
  if (hasTooLongName({ name })) {
    return {
      invalid: `the name has ${name.length} characters, but at most ${NAME_MAX} are allowed, because it is the value of a label`,
    };
  }
  if (typeof replicas === 'number' && Number.isInteger(replicas) && replicas >= 0 && replicas <= INT32_MAX) {
    return { replicas };
  }
  const is = replicas === undefined ? 'missing' : JSON.stringify(replicas);
  return {
    invalid: `spec.replicas is ${is}, but must be an integer from 0 to ${INT32_MAX}`,
  };
}

function statusView(raw: unknown): StatusView {
  const { podNames, conditions, readyReplicas, selector, observedGeneration } = fieldsOf(raw);
  const names: readonly unknown[] = Array.isArray(podNames) ? podNames : [];
  const known = {
    readyReplicas: numberOf(readyReplicas),
    selector: textOf(selector),
    observedGeneration: generationIn(observedGeneration),
  };
  return {
    podNames: names.filter((name) => typeof name === 'string'),
    conditions: conditionsIn(conditions),
    ...(known.readyReplicas !== undefined && { readyReplicas: known.readyReplicas }),
    ...(known.selector !== undefined && { selector: known.selector }),
    ...(known.observedGeneration !== undefined && { observedGeneration: known.observedGeneration }),
  };
}
