import { definedReconciler } from '../../../activities/defined-reconciler.ts';
import type { ResourceType } from '../../../src/api/resource-type.ts';
import type { KubernetesObject, OwnerReference } from '../../../src/api/object.ts';
import { controllerOf, NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../src/api/kinds.ts';
import { definedController } from '../../../src/engine/defined-controller.ts';
import { podSet } from '../../../src/controllers/pod-set/controller.ts';
import { PodSetKind as PodSetKind } from '../../../src/controllers/pod-set/kind.ts';
import { podSetReference, labelsFor, type Pod } from '../../../src/controllers/pod-set/pod.ts';
import { type PodSet } from '../pod-sets.ts';
import { FOREGROUND, KUBELET, statusAnswer, type Request } from '../../../testing/explorer/api-server.ts';
import { activityOf } from '../../../testing/explorer/attempt.ts';
import {
  objectKey,
  type SimulatedCluster,
  type Created,
  type Found,
} from '../../../testing/explorer/cluster.ts';
import { wrongIn, type Move, type World } from '../../../testing/explorer/world.ts';

const UID = 'uid-of-web';
const EXPLORED = { ...podSet, isExplored: true as const };
const controller = definedController(EXPLORED);
const POD_SET = objectKey(PodSetKind, 'web');
const NAMESPACE = objectKey(NAMESPACES, 'shop');
/** While there is one, no Pod may be created. */
const QUOTA = objectKey(RESOURCE_QUOTAS, 'pods');
/** What others create is not counted as ours. */
const OTHER: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'web',
  uid: 'uid-of-other',
  controller: true,
};

const RUNNING = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

export interface PodSetWorldOptions {
  readonly replicas: number;
  /** The names of Pods that the PodSet has already; its status names them. */
  readonly ours?: readonly string[];
  readonly orphans?: readonly string[];
  /** Their labels are those of the PodSet, and their controller is another. */
  readonly foreign?: readonly string[];
  /** Pods get Ready, and not only Running. */
  readonly podsGetReady?: boolean;
}

export function podSetWorld({ podsGetReady = false, ...options }: PodSetWorldOptions): World {
  return {
    controller,
    activity: activityOf((client) => definedReconciler(EXPLORED, client)),
    types: [
      PodSetKind,
      NAMESPACES,
      RESOURCE_QUOTAS,
      {
        ...PODS,
        goesSlowly: true,
        refuse: (_, cluster) => refusalIn(cluster),
        stored: (pod) => ({ ...pod, status: { phase: 'Pending' } }),
      },
    ],
    objects: objectsFor(options),
    happenings: (cluster) => [
      // Which Pod is first makes no difference.
      ...collected(cluster).slice(0, 1),
      ...cluster
        .list<Pod>(PODS)
        .flatMap((pod) => lifeOf(pod, podsGetReady))
        .slice(0, 1),
      ...(cluster.get(QUOTA) === undefined
        ? []
        : [{ what: 'the quota is lifted', change: (it: SimulatedCluster) => it.remove(QUOTA) }]),
    ],
    others: {
      scale: (cluster) => [0, 1, 2].flatMap((replicas) => scaled(cluster, replicas)),
      relabel: forEach(isReported, 'is relabelled', (cluster, key) =>
        cluster.changeMetadata(key, () => ({ labels: { app: 'other', version: 'v0.1' } })),
      ),
      orphan: forEach(isOurs, 'loses its owner', (cluster, key) =>
        cluster.changeMetadata(key, () => ({ ownerReferences: [] })),
      ),
      stray: (cluster) =>
        cluster.get(POD_SET) === undefined || cluster.get('pods/web-s') !== undefined
          ? []
          : [{ what: 'somebody creates a Pod with the labels', change: (it) => it.create(...aPod('web-s')) }],
      delete: forEach(isAvailable, 'is deleted by somebody', (cluster, key) =>
        cluster.markDeleted(key, [KUBELET]),
      ),
      fail: forEach(isAvailable, 'fails', (cluster, key) =>
        cluster.change(key, (pod) => ({ ...pod, status: { phase: 'Failed' } })),
      ),
      remove: (cluster) => removals(cluster),
      quota: (cluster) =>
        cluster.get(QUOTA) !== undefined
          ? []
          : [
              {
                what: 'a quota is set',
                change: (it) => it.create(RESOURCE_QUOTAS, { metadata: { name: 'pods', namespace: 'shop' } }),
              },
            ],
      terminate: (cluster) =>
        isTerminating(cluster)
          ? []
          : [{ what: 'the namespace is deleted', change: (it) => it.markDeleted(NAMESPACE, ['kubernetes']) }],
    },
    // It waits for nothing but the end of a pause.
    isAboutTime: () => true,
    needsApproval: ({ path }, cluster) => {
      const pod = cluster.get<Pod>(`pods/${path.slice(path.lastIndexOf('/') + 1)}`);
      return pod !== undefined && isAvailable(pod);
    },
    violation,
    shortcomings: (cluster) => shortcomings(cluster, podsGetReady),
  };
}

function objectsFor({
  replicas,
  ours = [],
  orphans = [],
  foreign = [],
}: PodSetWorldOptions): [ResourceType, Created][] {
  const status = { podNames: [...ours].sort(), readyReplicas: ours.length, conditions: [] };
  return [
    [NAMESPACES, { metadata: { name: 'shop', uid: 'uid-of-shop' } }],
    [PodSetKind, { metadata: { name: 'web', namespace: 'shop', uid: UID }, spec: { replicas }, status }],
    ...ours.map((name) => aPod(name, podSetReference({ name: 'web', uid: UID }))),
    ...orphans.map((name) => aPod(name)),
    ...foreign.map((name) => aPod(name, OTHER)),
  ];
}

function aPod(name: string, owner?: OwnerReference): [ResourceType, Created] {
  const ownerReferences = owner === undefined ? [] : [owner];
  const metadata = { name, namespace: 'shop', labels: labelsFor('web'), ownerReferences };
  return [PODS, { metadata, status: RUNNING }];
}

// What happens by itself -----------------------------------------------------------------------------------

/** What the garbage collector and the deletion of a namespace do. */
function collected(cluster: SimulatedCluster): Move[] {
  const podSet = cluster.get(POD_SET);
  const isGone = podSet === undefined || podSet.metadata.finalizers?.includes(FOREGROUND) === true;
  const owned = cluster.list<Pod>(PODS).filter(({ object }) => isOurs(object));
  const going = isGone || isTerminating(cluster) ? owned.filter(({ object }) => !isDeleted(object)) : [];
  const moves = going.map(({ key }) => ({
    what: `${key} is collected`,
    change: (it: SimulatedCluster) => it.markDeleted(key, [KUBELET]),
  }));
  const isEmpty = owned.length === 0;
  if (podSet !== undefined && isEmpty && (isGone || isTerminating(cluster)))
    moves.push({ what: 'the PodSet is gone', change: (it) => it.remove(POD_SET) });
  return moves;
}

function lifeOf({ key, object }: Found<Pod>, podsGetReady: boolean): Move[] {
  if (isDeleted(object)) return [{ what: `${key} is gone`, change: (cluster) => cluster.remove(key) }];
  if (object.status?.phase !== 'Pending') return [];
  return podsGetReady
    ? [
        {
          what: `${key} gets ready`,
          change: (cluster) => cluster.change(key, (pod) => ({ ...pod, status: RUNNING })),
        },
      ]
    : [];
}

// What others do -------------------------------------------------------------------------------------------

function scaled(cluster: SimulatedCluster, replicas: number): Move[] {
  const podSet = cluster.get<PodSet>(POD_SET);
  if (podSet === undefined || podSet.spec?.replicas === replicas) return [];
  const change = (it: SimulatedCluster) => {
    it.change<PodSet>(POD_SET, (before) => ({
      ...before,
      metadata: { ...before.metadata, generation: (before.metadata.generation ?? 0) + 1 },
      spec: { replicas },
    }));
  };
  return [{ what: `somebody scales to ${replicas}`, change }];
}

function forEach(
  concerns: (pod: Pod, cluster: SimulatedCluster) => boolean,
  what: string,
  change: (cluster: SimulatedCluster, key: string) => unknown,
) {
  return (cluster: SimulatedCluster): Move[] =>
    cluster
      .list<Pod>(PODS)
      .filter(({ object }) => controllerOf(object.metadata)?.uid !== OTHER.uid && concerns(object, cluster))
      .map(({ key }) => ({ what: `${key} ${what}`, change: (it) => change(it, key) }));
}

/** In the background, in the foreground, and without its Pods. */
function removals(cluster: SimulatedCluster): Move[] {
  const podSet = cluster.get(POD_SET);
  if (podSet === undefined || isDeleted(podSet)) return [];
  return [
    { what: 'the PodSet is deleted', change: (it) => it.remove(POD_SET) },
    {
      what: 'the PodSet is deleted in the foreground',
      change: (it) => it.markDeleted(POD_SET, [FOREGROUND]),
    },
    {
      what: 'the PodSet is deleted without its Pods',
      change: (it) => {
        for (const { key, object } of it.list<Pod>(PODS)) {
          if (isOurs(object)) it.changeMetadata(key, () => ({ ownerReferences: [] }));
        }
        it.remove(POD_SET);
      },
    },
  ];
}

function refusalIn(cluster: SimulatedCluster) {
  if (isTerminating(cluster)) {
    const details = { name: 'shop', causes: [{ reason: 'NamespaceTerminating' }] };
    return statusAnswer(403, { reason: 'Forbidden', details });
  }
  if (cluster.get(QUOTA) === undefined) return undefined;
  return statusAnswer(403, { reason: 'Forbidden', message: 'pods is forbidden: exceeded quota: pods' });
}

// What is to be --------------------------------------------------------------------------------------------

function violation(
  { method, path, body }: Request,
  cluster: SimulatedCluster,
  isUndisturbed: boolean,
): string | undefined {
  const pods = cluster.list<Pod>(PODS);
  const pod = cluster.get<Pod>(`pods/${path.slice(path.lastIndexOf('/') + 1)}`);
  const isAnothers = pod !== undefined && controllerOf(pod.metadata)?.uid === OTHER.uid;
  if (isAnothers) return `${path} is written, which is another's`;
  const available = pods.filter(({ object }) => isOurs(object) && isAvailable(object)).length;
  const replicas = cluster.get<PodSet>(POD_SET)?.spec?.replicas ?? 0;
  if (!isUndisturbed) return undefined;
  const isNew =
    method === 'POST' && !pods.some(({ object }) => path.endsWith('/pods') && isNamed(object, body));
  if (isNew && available >= replicas) return `a Pod is created, and ${available} of ${replicas} are there`;
  if (method === 'DELETE' && pod !== undefined && isAvailable(pod) && available <= replicas)
    return `a Pod is deleted, and ${available} of ${replicas} are there`;
  return undefined;
}

function isNamed({ metadata: { name } }: KubernetesObject, body: unknown): boolean {
  return (body as KubernetesObject).metadata.name === name;
}

function shortcomings(cluster: SimulatedCluster, podsGetReady: boolean): readonly string[] {
  const podSet = cluster.get<PodSet>(POD_SET);
  if (podSet === undefined || isDeleted(podSet) || isTerminating(cluster)) return [];
  const pods = cluster.list<Pod>(PODS).map(({ object }) => object);
  const names = pods.filter((pod) => isOurs(pod) && isAvailable(pod)).map(({ metadata }) => metadata.name);
  const { podNames = [], readyReplicas, observedGeneration, conditions = [] } = podSet.status ?? {};
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  const { replicas = 0 } = podSet.spec ?? {};
  return wrongIn({
    [`there are ${names.length} Pods instead of ${replicas}`]: names.length !== replicas,
    'the status names other Pods': podNames.join() !== names.sort().join(),
    'the status counts other Pods': readyReplicas !== names.length,
    'the status is of another generation': observedGeneration !== podSet.metadata.generation,
    'the status does not say that it is Ready': podsGetReady && !isReady,
    'a Pod without the labels is still ours': pods.some(
      (pod) => isOfUid(pod) && !isLabelled(pod) && !isDeleted(pod),
    ),
    'a Pod with the labels is nobody’s': pods.some(
      (pod) => isLabelled(pod) && isAvailable(pod) && controllerOf(pod.metadata) === undefined,
    ),
  });
}

function isOurs(pod: KubernetesObject): boolean {
  return isOfUid(pod) && isLabelled(pod);
}

function isOfUid({ metadata }: KubernetesObject): boolean {
  return controllerOf(metadata)?.uid === UID;
}

function isLabelled({ metadata: { labels = {} } }: KubernetesObject): boolean {
  return labels['app'] === 'web' && labels['version'] === 'v0.1';
}

function isAvailable(pod: Pod): boolean {
  return !isDeleted(pod) && (pod.status?.phase === 'Pending' || pod.status?.phase === 'Running');
}

/** One that neither the status nor its run knows is not released: the documented exception. */
function isReported(pod: Pod, cluster: SimulatedCluster): boolean {
  const { podNames = [] } = cluster.get<PodSet>(POD_SET)?.status ?? {};
  return isAvailable(pod) && podNames.includes(pod.metadata.name);
}

function isDeleted({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function isTerminating(cluster: SimulatedCluster): boolean {
  const namespace = cluster.get(NAMESPACE);
  return namespace === undefined || isDeleted(namespace);
}
