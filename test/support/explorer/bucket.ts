import { definedReconciler } from '../../../activities/defined.ts';
import type { ResourceType } from '../../../src/contract/controller.ts';
import type { KubernetesObject } from '../../../src/contract/object.ts';
import { definedController } from '../../../src/controllers/defined/controller.ts';
import type { KubernetesClient } from '../../../src/kubernetes/client.ts';
import { found } from '../../../src/kubernetes/errors.ts';
import { kubeOf } from '../../../src/kubernetes/kube.ts';
import { Bucket, bucketIn, FINALIZER, type Store } from '../bucket.ts';
import { activityOf } from '../../../testing/explorer/attempt.ts';
import { keyOf, type Cluster } from '../../../testing/explorer/cluster.ts';
import { wrongIn, type Move, type World } from '../../../testing/explorer/world.ts';

/** What the store has: no object of Kubernetes', but each request to it can fail in the same ways. */
const STORED: ResourceType = {
  group: 'store',
  version: 'v1',
  plural: 'stored',
  kind: 'Stored',
  namespaced: false,
};
const BUCKET = keyOf(Bucket, 'photos');
const UID = 'uid-of-photos';
const THING = keyOf(STORED, UID);

interface Thing extends KubernetesObject {
  readonly versioned: boolean;
}

/** The store, over the requests that the exploration can lose, repeat and delay. */
function storeOver(client: KubernetesClient): Store {
  const kube = kubeOf(client);
  const at = (name: string) => ({ type: STORED, name });
  const find = (uid: string) => kube.get<Thing>(at(uid));
  return {
    find,
    async create(uid) {
      const object = { metadata: { name: uid, uid: `stored-${uid}` }, versioned: false };
      await kube.create(STORED, object).catch(ignoringExisting);
    },
    async setVersioning(uid, versioned) {
      const thing = await find(uid);
      if (thing === undefined || thing.versioned === versioned) return;
      const { resourceVersion } = thing.metadata;
      await kube.patch(at(uid), { metadata: { resourceVersion }, versioned });
    },
    async remove(uid) {
      const thing = await find(uid);
      if (thing !== undefined) await found(kube.delete(at(uid), { uid: thing.metadata.uid }));
    },
  };
}

function ignoringExisting(error: unknown): void {
  if (!(error instanceof Error) || !('classification' in error) || error.classification !== 'already-exists')
    throw error;
}

export const BUCKET_WORLD: World = {
  controller: definedController(bucketIn(noStore())),
  activity: activityOf((client) => definedReconciler(bucketIn(storeOver(client)), client)),
  types: [Bucket, STORED],
  objects: [
    [
      Bucket,
      {
        metadata: { name: 'photos', namespace: 'shop', uid: UID, finalizers: [] },
        spec: { versioned: false },
      },
    ],
  ],
  others: {
    change: (cluster) => changes(cluster),
    remove: (cluster) => removals(cluster),
  },
  isAboutTime: (rest) => rest.do === 'wait' && rest.for.includes('in progress'),
  violation: ({ method, body }, cluster) => {
    const { finalizers } = (body as Partial<KubernetesObject>).metadata ?? {};
    const isLetGo = method === 'PATCH' && finalizers !== undefined && !finalizers.includes(FINALIZER);
    return isLetGo && cluster.get(THING) !== undefined
      ? 'the finalizer goes, and the bucket stays'
      : undefined;
  },
  shortcomings: (cluster) => {
    const [bucket, thing] = [cluster.get(BUCKET), cluster.get<Thing>(THING)];
    if (bucket === undefined) return wrongIn({ 'the bucket stays in the store': thing !== undefined });
    const { versioned } = bucket['spec'] as { readonly versioned: boolean };
    return wrongIn({
      'it is being deleted, and stays': isDeleted(bucket),
      'the store has no bucket': thing === undefined,
      'the bucket is another than the spec asks for': thing !== undefined && thing.versioned !== versioned,
      'it is not Ready': !isReady(bucket),
    });
  },
};

function noStore(): Store {
  const asked = () => Promise.reject(new Error('the watcher asks no store'));
  return { find: asked, create: asked, setVersioning: asked, remove: asked };
}

function changes(cluster: Cluster): Move[] {
  const bucket = cluster.get(BUCKET);
  if (bucket === undefined || isDeleted(bucket)) return [];
  const { versioned } = bucket['spec'] as { readonly versioned: boolean };
  return [
    {
      what: `the spec asks for versioned: ${!versioned}`,
      change: (it) =>
        it.change(BUCKET, ({ metadata, ...rest }) => ({
          ...rest,
          metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
          spec: { versioned: !versioned },
        })),
    },
  ];
}

function removals(cluster: Cluster): Move[] {
  const bucket = cluster.get(BUCKET);
  if (bucket === undefined || isDeleted(bucket)) return [];
  return [{ what: 'the bucket is deleted', change: (it) => it.markDeleted(BUCKET, []) }];
}

function isDeleted({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function isReady(bucket: KubernetesObject): boolean {
  const { conditions = [] } = (bucket['status'] ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}
