import { podTrouble, truncate } from '../../api/index.ts';
import type { Cause, KubernetesObject, ObjectMeta, OwnerReference } from '../../api/index.ts';
import { PodSetKind } from './kind.ts';

const VERSION = 'v0.1';
export const DELETION_COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';

/** The Pods of every PodSet, whatever its name; the label `app` holds that. */
export const PODS_OF_ANY = `version=${VERSION},app`;
export const APP_LABEL = 'app';

/** The labels by which a Pod belongs to the PodSet of that name. */
export function labelsFor(podSet: string): Readonly<Record<string, string>> {
  return { app: podSet, version: VERSION };
}

/** The same as text, as a selector. */
export function selectorFor(podSet: string): string {
  return `app=${podSet},version=${VERSION}`;
}

/** A PodSet as the owner of Pods. */
export interface Owner {
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

/** The Pod of that name that a PodSet creates. `generateName` marks its group; `name` takes precedence. */
export function desiredPod(owner: Owner, name: string) {
  return {
    metadata: {
      namespace: owner.namespace,
      name,
      generateName: podNamePrefix(owner.name),
      labels: labelsFor(owner.name),
      ownerReferences: [podSetReference(owner)],
    },
    spec: {
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      containers: [{ name: 'busybox', image: 'busybox', command: ['sleep', '3600'] }],
    },
  };
}

export function podNamePrefix(podSet: string): string {
  return `${podSet}-pod-`;
}

export function podSetReference({ name, uid }: Owner): OwnerReference {
  const { group, version, kind } = PodSetKind;
  return { apiVersion: `${group}/${version}`, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** A Pod as far as we read it. Source: kubernetes/api/core/v1, `Pod`. */
export interface Pod extends KubernetesObject {
  readonly spec?: { readonly nodeName?: string; readonly initContainers?: readonly InitContainer[] };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly conditions?: readonly PodCondition[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

interface PodCondition {
  readonly type: string;
  readonly status: string;
  /** RFC 3339. */
  readonly lastTransitionTime?: string | null;
}

/** One that is always restarted is a sidecar: it runs beside the containers. */
interface InitContainer {
  readonly name?: string;
  readonly restartPolicy?: string;
}

interface ContainerStatus {
  readonly name?: string;
  readonly restartCount?: number;
  /** Times are RFC 3339. */
  readonly state?: {
    readonly running?: { readonly startedAt?: string | null };
    readonly terminated?: { readonly startedAt?: string | null; readonly finishedAt?: string | null };
  };
}

/** The life of a Pod that its node has ended, in milliseconds since the epoch. */
export interface Disruption {
  /** Its first container has run since then. */
  readonly startedMs: number;
  /** Undefined: its status does not tell. */
  readonly endedMs?: number;
}

/**
 * What counts of a Pod's phase and deletion. Only Pending and Running ones are available and make up the desired number;
 * only finished ones (Failed or Succeeded) are replaced with a backoff.
 */
export type PodLife = 'pending' | 'running' | 'finished' | 'being deleted' | 'unknown';

/** Since when a Pod is not Ready, and why. */
export interface Unready {
  /** In milliseconds since the epoch. */
  readonly sinceMs: number;
  /** What keeps it from running. Undefined: its status tells nothing. */
  readonly trouble?: Cause;
}

/** The owner of a Pod, by its metadata. */
export interface PodOwnership {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The UID of its controller; undefined: it has none. */
  readonly controllerUid: string | undefined;
  /** Whether it has owners besides its controller. */
  readonly hasOtherOwners?: true;
}

/** What decisions and writes need of a Pod with the labels of a PodSet. The watcher keeps one of each Pod. */
export interface PodOfSet extends PodOwnership {
  readonly life: PodLife;
  /** It is finished, since it was evicted, or its node was shut down or lost: not because of what it ran. */
  readonly disrupted?: Disruption;
  readonly createdAtMs: number;
  /** Since when its condition `Ready` is True; 0: that is not known. Undefined: it is not Ready. */
  readonly readySinceMs: number | undefined;
  /** Undefined: it is Ready, or not available. */
  readonly unready?: Unready;
  /** Empty: not scheduled. */
  readonly node: string;
  /** An int32: the value of the annotation, or 0. */
  readonly deletionCost: number;
  /** The most of any of its containers. */
  readonly restarts: number;
  /** The most of any of its sidecars. */
  readonly sidecarRestarts: number;
}

/** Those make up the desired number. */
export function isAvailable({ life }: PodOfSet): boolean {
  return life === 'pending' || life === 'running';
}

/** @returns undefined where the object is no Pod: its `spec` or `status` is no object */
export function podOfSet(object: KubernetesObject): PodOfSet | undefined {
  if (!isPod(object)) return undefined;
  const { metadata, status } = object;
  const unready = unreadyIn(object);
  const disrupted = disruptionOf(object);
  return {
    ...ownershipOf(metadata),
    life: lifeOf(object),
    ...(disrupted && { disrupted }),
    createdAtMs: timeOf(metadata.creationTimestamp),
    readySinceMs: readySince(object),
    ...(unready && { unready }),
    node: truncate(object.spec?.nodeName ?? '', OBJECT_NAME_MAX),
    deletionCost: deletionCostOf(metadata.annotations?.[DELETION_COST_ANNOTATION]),
    restarts: mostRestarts(status?.containerStatuses),
    sidecarRestarts: mostRestarts(sidecarsOf(object)),
  };
}

/** Metadata alone, without spec and status, counts as a Pod, too. */
function isPod(object: KubernetesObject): object is Pod {
  return isObjectOrAbsent(object['spec']) && isObjectOrAbsent(object['status']);
}

function isObjectOrAbsent(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && value !== null);
}

/** Longer than any UID of Kubernetes, which has 36 characters. */
const UID_MAX = 64;
/** The longest name of an object. */
const OBJECT_NAME_MAX = 253;

export function ownershipOf({ name, uid, resourceVersion, ownerReferences = [] }: ObjectMeta): PodOwnership {
  const uidOfController = ownerReferences.find(({ controller }) => controller === true)?.uid;
  return {
    ...{ name, uid, resourceVersion },
    // Whoever creates a Pod writes any text there. Cut, it is still nobody's UID.
    controllerUid: uidOfController && truncate(uidOfController, UID_MAX),
    ...(ownerReferences.some((owner) => owner.uid !== uidOfController) && { hasOtherOwners: true }),
  };
}

/** Whether a Pod has the labels of the PodSet of that name. */
export function hasLabels({ labels = {} }: ObjectMeta, podSet: string): boolean {
  return Object.entries(labelsFor(podSet)).every(([key, value]) => labels[key] === value);
}

function lifeOf({ metadata, status }: Pod): PodLife {
  if (metadata.deletionTimestamp !== undefined) return 'being deleted';
  switch (status?.phase ?? 'Pending') {
    case 'Pending':
      return 'pending';
    case 'Running':
      return 'running';
    case 'Failed':
    case 'Succeeded':
      return 'finished';
    default:
      // Kubelets stopped to set `Unknown` with Kubernetes 1.5. Such a Pod is neither available nor finished.
      return 'unknown';
  }
}

/**
 * Undefined if no container ran: the node has turned it away. Sources: kubernetes/pkg/kubelet/eviction and
 * nodeshutdown, which set these reasons; `DisruptionTarget` is set by whatever else disrupts a Pod, such as the collector of lost ones.
 */
function disruptionOf(pod: Pod): Disruption | undefined {
  const { reason = '', containerStatuses = [] } = pod.status ?? {};
  const target = conditionOf(pod, 'DisruptionTarget');
  const isDisrupted = target?.status === 'True' || DISRUPTING.includes(reason);
  if (lifeOf(pod) !== 'finished' || !isDisrupted) return undefined;
  const states = containerStatuses.map(({ state = {} }) => state);
  const starts = states.flatMap(({ running, terminated }) => (running ?? terminated)?.startedAt ?? []);
  if (starts.length === 0) return undefined;
  const ends = states.flatMap(({ terminated }) => terminated?.finishedAt ?? []);
  const times = [...ends, ...(target?.lastTransitionTime ? [target.lastTransitionTime] : [])].map(timeOf);
  return {
    startedMs: Math.min(...starts.map(timeOf)),
    ...(times.length > 0 && { endedMs: Math.max(...times) }),
  };
}

const DISRUPTING: readonly string[] = [
  'Evicted',
  'Terminated',
  'NodeShutdown',
  'Shutdown',
  'NodeLost',
  'Preempting',
];

function readySince(pod: Pod): number | undefined {
  const ready = conditionOf(pod, 'Ready');
  return ready?.status === 'True' ? timeOf(ready.lastTransitionTime) : undefined;
}

function conditionOf({ status }: Pod, type: string): PodCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

function unreadyIn(pod: Pod): Unready | undefined {
  const [life, ready] = [lifeOf(pod), conditionOf(pod, 'Ready')];
  if (ready?.status === 'True' || (life !== 'pending' && life !== 'running')) return undefined;
  const trouble = podTrouble(pod);
  // Until the kubelet says more, a Pod that found its node late is just starting.
  const { lastTransitionTime } = ready ?? conditionOf(pod, 'PodScheduled') ?? {};
  const sinceMs = timeOf(lastTransitionTime ?? pod.metadata.creationTimestamp);
  return { sinceMs, ...(trouble && { trouble }) };
}

function timeOf(time: string | null | undefined): number {
  return typeof time === 'string' ? Date.parse(time) : 0;
}

/** Neither a sign `+` nor leading zeros: kubernetes/pkg/apis/core/helper, `GetDeletionCostFromPodAnnotations`. */
function deletionCostOf(value: string | undefined): number {
  if (value === undefined || !/^(0|-?[1-9]\d*)$/.test(value)) return 0;
  const cost = Number(value);
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0;
}

/** Other init containers were restarted before the Pod began. Source: kubernetes/pkg/controller, `maxContainerRestarts`. */
function sidecarsOf({ spec, status }: Pod): readonly ContainerStatus[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return (status?.initContainerStatuses ?? []).filter((each) =>
    sidecars.some(({ name }) => name === each.name),
  );
}

function mostRestarts(statuses: readonly ContainerStatus[] | undefined): number {
  return Math.max(0, ...(statuses ?? []).map(({ restartCount = 0 }) => restartCount));
}
