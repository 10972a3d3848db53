import {
  allow,
  ApiError,
  defineController,
  isObjectName,
  NODES,
  PODS,
  RECONCILE_REQUESTED_ANNOTATION,
} from '../../api/index.ts';
import type {
  Kube,
  ObjectAt,
  ObjectMeta,
  OwnerReference,
  ResourceOf,
  ViewedObject,
} from '../../api/index.ts';
import {
  decidePodSet,
  podsInWords,
  statusOf,
  type NamedPods,
  type PodSetView,
  type PodsToDelete,
  type Steps,
} from './decide.ts';
import { FreshPods } from './fresh.ts';
import { PodSetKind } from './kind.ts';
import { namesOfNewPods } from './names.ts';
import {
  APP_LABEL,
  desiredPod,
  hasLabels,
  isAvailable,
  ownershipOf,
  PODS_OF_ANY,
  podSetReference,
  podOfSet,
  selectorFor,
  type PodOwnership,
  type PodOfSet,
} from './pod.ts';
import { unreadyInWords } from './unready.ts';

/** The name is the value of a label. Source: Kubernetes, "Labels and Selectors". */
const LABEL_VALUE_MAX = 63;
/** Names that are looked for one by one. For more, the namespace is listed. */
const READ_MAX = 4;
/** A step creates no more; the next one goes on. */
const CREATED_MAX = 2_000;

/** Keeps the Pods of a PodSet at the desired number. */
export const podSet = defineController({
  name: 'pod-set',
  summary: 'keeps its Pods at spec.replicas',
  for: PodSetKind,
  // The server refuses every write of one with a longer name, which an older schema allowed.
  view: (object) => (object.metadata.name.length > LABEL_VALUE_MAX ? undefined : viewOf(object)),
  owns: [{ ...PODS, labelSelector: PODS_OF_ANY, ownerOf: APP_LABEL, view: podOfSet }],
  lookups: {
    named: {
      read: ({ kube, resource, owned }) => readNamed(kube, resource, owned),
    },
  },
  steps: {
    releasePods: {
      summary: 'release Pods that lost the labels',
      writes: (_, pods: Steps['releasePods']) => pods.length,
      forgets: ['named'],
      async run({ kube, resource, each }, pods: Steps['releasePods']) {
        const did = await each(pods, (pod) => setOwner(kube, { resource, pod, did: 'released' }));
        return told(did, ': their labels no longer match', { reason: 'Released', action: 'Release' });
      },
    },
    adoptPods: {
      summary: 'adopt Pods that have the labels and no controller',
      forgets: ['named'],
      writes: (_, pods: Steps['adoptPods']) => pods.length,
      async run({ kube, resource, each }, pods: Steps['adoptPods']) {
        const owner = podSetReference(resource.metadata);
        const did = await each(pods, (pod) => setOwner(kube, { resource, pod, did: 'adopted', owner }));
        const why = ': their labels match, and they had no controller';
        return told(did, why, { reason: 'Adopted', action: 'Adopt' });
      },
    },
    createPods: {
      summary: 'create missing Pods',
      forgets: ['named'],
      // Names follow from the status: a Pod that the watch does not show yet meets AlreadyExists.
      reads: 'resource',
      writes: (_, { count }: Steps['createPods']) => Math.min(count, CREATED_MAX),
      async run(
        { kube, resource: { metadata, view }, owned, each },
        { count, replicas }: Steps['createPods'],
      ) {
        const taken = new Set([...owned.map(({ name }) => name), ...(view?.podNames ?? [])]);
        const names = namesOfNewPods({ ...metadata, podNames: view?.podNames ?? [] }, taken);
        const wanted = Array.from({ length: Math.min(count, CREATED_MAX) }, () => names.next().value);
        const did = await each(wanted, (names) => createPod(kube, metadata, names));
        return told(did, `, as spec.replicas is ${replicas}`, { reason: 'Created', action: 'Create' });
      },
    },
    deletePods: {
      summary: 'delete surplus Pods',
      forgets: ['named'],
      writes: (_, { pods }: PodsToDelete) => pods.length,
      deletes: (_, { what, pods, interchangeable }: PodsToDelete) => ({
        ...{ what, count: pods.length, objects: () => pods, interchangeable },
      }),
      async run({ kube, resource: { metadata }, each, now }, { what, pods, replicas }: PodsToDelete) {
        const { namespace } = metadata;
        const selection = { namespace: namespace ?? '', labelSelector: selectorFor(metadata.name) };
        const fresh = new FreshPods({
          list: () => kube.list(PODS, selection, podOfSet),
          read: async (name) => podWithLabels(await kube.get(podAt(metadata, name)), metadata.name),
          now,
        });
        const did = await each(pods, async (pod) => {
          if (!isAsDecided(pod, await fresh.latest(pod))) return undefined;
          // By the UID alone, as the ReplicaSet controller does: a kubelet updates the status of a Pod at any time.
          await kube.delete(podAt(metadata, pod.name), { uid: pod.uid });
          return `deleted ${what} ${pod.name}`;
        });
        if (replicas === undefined) return did;
        return told(did, `, as spec.replicas is ${replicas}`, { reason: 'Deleted', action: 'Delete' });
      },
    },
  },
  decide: (context, next) => decidePodSet(context, next),
  status: (context) => statusOf(context),
  messages: {
    desired: ({ resource: { view, isBeingDeleted } }) => {
      if (isBeingDeleted) return 'nothing: it is being deleted';
      return view === undefined ? 'unclear: its spec is invalid' : podsInWords(view.replicas);
    },
    current: (subject) => {
      const pods = oursIn(subject);
      const [available, failed] = [pods.filter(isAvailable), pods.filter(({ life }) => life === 'finished')];
      const going = pods.filter(({ life }) => life === 'being deleted').length;
      const ready = available.filter(({ readySinceMs }) => readySinceMs !== undefined).length;
      const gone = going === 0 ? '' : `, ${going} being deleted`;
      return `${available.length} available, ${ready} ready, ${failed.length} failed${gone}`;
    },
    children: (subject) => unreadyInWords(oursIn(subject)),
    progress: (subject) => {
      const { view, isBeingDeleted } = subject.resource;
      if (isBeingDeleted || view === undefined) return undefined;
      const available = oursIn(subject).filter(isAvailable).length;
      const of = available > view.replicas ? 'instead of' : 'of';
      return `${available} ${of} ${podsInWords(view.replicas)}`;
    },
    ignored: ({ metadata: { name } }) =>
      name.length > LABEL_VALUE_MAX
        ? {
            message: `the name has ${name.length} characters, but at most ${LABEL_VALUE_MAX} are allowed, because it is the value of a label`,
            advice: ['create a PodSet with a shorter name instead'],
          }
        : undefined,
  },
  permissions: [
    // To set blockOwnerDeletion, where the plugin OwnerReferencesPermissionEnforcement guards that.
    allow(PodSetKind, ['update'], { subresource: 'finalizers' }),
    allow(PODS, ['get', 'list', 'create', 'patch', 'delete']),
    // To tell why a Pod stays unready.
    allow(NODES, ['get']),
  ],
});

function viewOf({ metadata, spec, status, conditions = [] }: ResourceOf<typeof PodSetKind>): PodSetView {
  const ready = conditions.find(({ type }) => type === 'Ready');
  const requestedMs = Date.parse(metadata.annotations?.[RECONCILE_REQUESTED_ANNOTATION] ?? '');
  return {
    generation: metadata.generation ?? 0,
    replicas: spec.replicas,
    podNames: status.podNames ?? [],
    readyReplicas: status.readyReplicas ?? 0,
    ...(ready && { ready: { reason: ready.reason, message: ready.message } }),
    ...(!Number.isNaN(requestedMs) && { requestedMs }),
  };
}

/** The Pods that count for a message. */
function oursIn({
  resource,
  owned,
}: {
  readonly resource: ViewedObject<PodSetView | undefined>;
  readonly owned: readonly PodOfSet[];
}): readonly PodOfSet[] {
  return owned.filter(({ controllerUid }) => controllerUid === resource.metadata.uid);
}

type PodSetIdentity = Pick<ObjectMeta, 'name' | 'uid' | 'namespace'>;

function podAt({ namespace }: PodSetIdentity, name: string): ObjectAt {
  return { type: PODS, namespace, name };
}

function podWithLabels(
  pod: Parameters<typeof podOfSet>[0] | undefined,
  podSet: string,
): PodOfSet | undefined {
  return pod && hasLabels(pod.metadata, podSet) ? podOfSet(pod) : undefined;
}

/** The names in the status that are not among the Pods with the labels. */
async function readNamed(
  kube: Pick<Kube, 'get' | 'list'>,
  { metadata, view }: ViewedObject<PodSetView | undefined>,
  owned: readonly PodOfSet[],
): Promise<NamedPods> {
  const known = new Set(owned.map(({ name }) => name));
  const names = (view?.podNames ?? []).filter((name) => isObjectName(name) && !known.has(name));
  const [wanted, namespace] = [new Set(names), metadata.namespace ?? ''];
  const pods =
    names.length > READ_MAX
      ? await kube.list(PODS, { namespace, metadataOnly: true }, (pod) =>
          wanted.has(pod.metadata.name) ? pod : undefined,
        )
      : await Promise.all(names.map((name) => kube.get(podAt(metadata, name), { metadataOnly: true })));
  const found = pods.flatMap((pod) =>
    pod === undefined || pod.metadata.deletionTimestamp !== undefined
      ? []
      : [{ ...ownershipOf(pod.metadata), hasLabels: hasLabels(pod.metadata, metadata.name) }],
  );
  return { names, found };
}

/**
 * If a Pod of ours has the name, the watch is behind, or an answer got lost: this throws, so that it is decided again. Else, also if something
 * took the labels off that Pod, the next name is tried.
 */
async function createPod(
  kube: Kube,
  podSet: PodSetIdentity,
  names: readonly string[],
): Promise<string | undefined> {
  let taken: unknown;
  for (const name of names) {
    try {
      await kube.create(PODS, desiredPod(podSet, name));
      return `created Pod ${name}`;
    } catch (error) {
      if (!isOf(error, 'already-exists')) throw error;
      taken = error;
    }
    const pod = await kube.get(podAt(podSet, name), { metadataOnly: true });
    // One without a controller is adopted first.
    const { controllerUid = podSet.uid } =
      pod === undefined ? { controllerUid: '' } : ownershipOf(pod.metadata);
    if (pod !== undefined && controllerUid === podSet.uid && hasLabels(pod.metadata, podSet.name))
      throw taken;
  }
  throw taken;
}

function isAsDecided(before: PodOfSet, now: PodOfSet | undefined): boolean {
  return (
    now?.uid === before.uid &&
    now.life !== 'being deleted' &&
    now.controllerUid === before.controllerUid &&
    isAvailable(now) === isAvailable(before)
  );
}

interface OwnerChange {
  readonly resource: { readonly metadata: PodSetIdentity };
  readonly pod: PodOwnership;
  readonly did: string;
  /** Default: the PodSet gives it up. */
  readonly owner?: OwnerReference;
}

/** A merge patch replaces the whole list of owners, so it is conditional on the list being the one that was read. */
async function setOwner(
  kube: Kube,
  { resource: { metadata }, pod, did, owner }: OwnerChange,
): Promise<string | undefined> {
  const { uid, resourceVersion, name, hasOtherOwners } = pod;
  // The list may be long, so no view keeps it.
  const now = hasOtherOwners ? await kube.get(podAt(metadata, name), { metadataOnly: true }) : undefined;
  const others = (now?.metadata.ownerReferences ?? []).filter((each) => each.uid !== metadata.uid);
  const ownerReferences = [...others, ...(owner ? [owner] : [])];
  try {
    await kube.patch(podAt(metadata, name), { metadata: { uid, resourceVersion, ownerReferences } });
  } catch (error) {
    if (isOf(error, 'not-found')) return undefined;
    throw error;
  }
  return `${did} Pod ${name}`;
}

function isOf(error: unknown, classification: ApiError['classification']): boolean {
  return error instanceof ApiError && error.classification === classification;
}

/** @param did empty if nothing was done */
function told(did: string, because: string, event: { readonly reason: string; readonly action: string }) {
  return did === '' ? '' : { message: did + because, event };
}
