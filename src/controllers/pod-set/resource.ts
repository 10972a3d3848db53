import type { KubernetesObject } from '../../contract/object.ts';
import type { Condition } from '../condition.ts';

export const POD_SET_GROUP = 'batch.tutorial.kubebuilder.io';
export const POD_SET_KIND = { apiVersion: `${POD_SET_GROUP}/v1`, kind: 'PodSet' } as const;
export const POD_SETS = { group: POD_SET_GROUP, version: 'v1', plural: 'podsets' } as const;

export interface PodSetSpec {
  /** How many Pods are wanted: an int32, at least 0. */
  readonly replicas: number;
}

export interface PodSetStatus {
  /** The names of the available Pods, sorted: Pending or Running, and not being deleted. */
  readonly podNames: readonly string[];
  /** How many they are. */
  readonly readyReplicas: number;
  /** The label selector of the Pods, as text: what the scale subresource shows an autoscaler. */
  readonly selector: string;
  /** The `metadata.generation` that this status is about. */
  readonly observedGeneration: number;
  /** `Ready` and `Stalled`. */
  readonly conditions: readonly Condition[];
}

/** A PodSet as the API server has it: what its schema refuses today may have been stored before. */
export interface PodSet extends KubernetesObject {
  readonly spec?: Partial<PodSetSpec>;
  readonly status?: Partial<PodSetStatus>;
}
