import type { KubernetesObject, ObjectMeta, OwnerReference } from '../../contract/object.ts';
import { POD_SET_GROUP, POD_SET_KIND } from './resource.ts';

export const PODS = { group: '', version: 'v1', plural: 'pods' } as const;
const VERSION = 'v0.1';

/** The Pods of every PodSet, whatever its name. */
export const PODS_OF_ANY = `version=${VERSION},app`;

/** The labels by which a Pod belongs to the PodSet of that name. */
export function labelsFor(podSet: string): Readonly<Record<string, string>> {
  return { app: podSet, version: VERSION };
}

/** The same as text, as a selector. */
export function selectorFor(podSet: string): string {
  return `app=${podSet},version=${VERSION}`;
}

/** Whose a Pod is to be. */
export interface Owner {
  readonly name: string;
  readonly uid: string;
}

/** The Pod of that name that a PodSet creates. `generateName` only says what it is one of: `name` wins. */
export function wantedPod({ name: owner, uid }: Owner, name: string) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      generateName: podNamePrefix(owner),
      labels: labelsFor(owner),
      ownerReferences: [controllerReference({ name: owner, uid })],
    },
    spec: { containers: [{ name: 'busybox', image: 'busybox', command: ['sleep', '3600'] }] },
  };
}

export function podNamePrefix(podSet: string): string {
  return `${podSet}-pod-`;
}

export function controllerReference({ name, uid }: Owner): OwnerReference {
  return { ...POD_SET_KIND, name, uid, controller: true, blockOwnerDeletion: true };
}

/** A Pod as far as we read it. Source: kubernetes/api/core/v1, `Pod`. */
export interface Pod extends KubernetesObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly PodCondition[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  /** RFC 3339. */
  readonly lastTransitionTime?: string | null;
}

interface ContainerStatus {
  readonly restartCount?: number;
}

/** The API server's own schema holds for every Pod it sends; metadata alone is one, too. */
export function isPod(object: KubernetesObject): object is Pod {
  return isObjectOrAbsent(object['spec']) && isObjectOrAbsent(object['status']);
}

function isObjectOrAbsent(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && value !== null);
}

/**
 * What counts of a Pod's phase and deletion: only `available` ones (Pending or Running, not being deleted)
 * make up the wanted number, and only `finished` ones (Failed or Succeeded) are replaced with a backoff.
 */
export type PodLife = 'available' | 'finished' | 'being-deleted' | 'unclear';

/** What a decision needs to know of a Pod. */
export interface SeenPod {
  readonly name: string;
  readonly uid: string;
  /** Of its controller; undefined: it has none. */
  readonly controllerUid: string | undefined;
  /** Whether it has the labels of the PodSet. */
  readonly matches: boolean;
  readonly life: PodLife;
  /** Its own condition `Ready` is True. */
  readonly ready: boolean;
  readonly createdAtMs: number;
}

export function seePod(pod: Pod, podSet: string): SeenPod {
  const { name, uid, creationTimestamp } = pod.metadata;
  return {
    name,
    uid,
    controllerUid: controllerOf(pod.metadata)?.uid,
    matches: matchesLabels(pod.metadata, podSet),
    life: lifeOf(pod),
    ready: readyCondition(pod)?.status === 'True',
    createdAtMs: creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp),
  };
}

export function controllerOf({ ownerReferences = [] }: ObjectMeta): OwnerReference | undefined {
  return ownerReferences.find(({ controller }) => controller === true);
}

/** The PodSet that controls it, or that it would belong to for its labels; undefined: another's, or nobody's. */
export function podSetNameOf(metadata: ObjectMeta): string | undefined {
  const controller = controllerOf(metadata);
  if (controller === undefined) return metadata.labels?.['app'];
  const { kind, apiVersion, name } = controller;
  const isPodSet = kind === POD_SET_KIND.kind && apiVersion.startsWith(`${POD_SET_GROUP}/`);
  return isPodSet ? name : undefined;
}

export function readyCondition(pod: Pod): PodCondition | undefined {
  return pod.status?.conditions?.find(({ type }) => type === 'Ready');
}

function matchesLabels({ labels = {} }: ObjectMeta, podSet: string): boolean {
  return Object.entries(labelsFor(podSet)).every(([key, value]) => labels[key] === value);
}

function lifeOf({ metadata, status }: Pod): PodLife {
  if (metadata.deletionTimestamp !== undefined) return 'being-deleted';
  switch (status?.phase ?? 'Pending') {
    case 'Pending':
    case 'Running':
      return 'available';
    case 'Failed':
    case 'Succeeded':
      return 'finished';
    default:
      // `Unknown`, which kubelets stopped to set with Kubernetes 1.5: neither there nor over.
      return 'unclear';
  }
}
