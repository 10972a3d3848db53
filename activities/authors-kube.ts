import { PODS } from '../src/api/kinds.ts';
import type {
  ApplyOptions,
  Kube,
  ListOptions,
  AppliedObject,
  ConditionalPatch,
  NewObject,
  ObjectAt,
  Scale,
} from '../src/api/kube.ts';
import type { ResourceType } from '../src/api/resource-type.ts';
import { waitFor, type Wait } from '../src/runs/decision.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError, isOf } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { changeOf } from './overridden.ts';

/** A step may be repeated while it is still in progress: then it shall not go on for long. */
export const REQUEST_TIMEOUT_MS = 5_000;

/** A write that an author asks for. An eviction is a delete. */
export interface AuthorWrite {
  readonly verb: 'create' | 'patch' | 'apply' | 'scale' | 'delete';
  readonly at: ObjectAt;
  readonly sent?: NewObject;
  /** Of an object that is to be deleted. */
  readonly uid?: string;
}

/** One that the server has accepted. */
export interface AcceptedWrite extends AuthorWrite {
  /** The object, or its scale. Absent: it was deleted, and may be gone. */
  readonly answer?: KubernetesObject;
  /** What something changed in it on its way. */
  readonly changed?: string | undefined;
}

/** Each is called for every write. */
export interface WriteHooks {
  /** @throws Error if the step may not do that */
  readonly allow: (write: AuthorWrite) => void;
  readonly onWritten: (written: AcceptedWrite) => void;
}

export interface Access extends Partial<WriteHooks> {
  readonly client: KubernetesClient;
  /** Whose code it is. */
  readonly controller: string;
  readonly signal?: AbortSignal;
  /** Of which object the metadata suffices as an answer. Default: none. */
  readonly isMetadataOnly?: (at: ObjectAt) => boolean;
}

type ViewOf<T> = (object: KubernetesObject) => T | undefined;

/** What `observe` and `run` get. */
export function authorsKube(access: Access): Kube {
  const { client, controller, signal, isMetadataOnly, allow, onWritten } = access;
  const kube = kubeOf(client);
  const how = { timeoutMs: REQUEST_TIMEOUT_MS, ...(signal && { signal }) };
  // Each controller of an operator has its own: an apply takes back what its manager has applied before.
  const applier = `${client.fieldManager}.${controller}`;
  const accepted = (write: AuthorWrite & { sent: NewObject }, answer: KubernetesObject): AcceptedWrite => ({
    ...{ ...write, answer },
    changed: changeOf(write.sent, answer, write.verb === 'apply' ? applier : client.fieldManager),
  });
  const shownOf = (at: ObjectAt) => ({
    ...how,
    ...(isMetadataOnly?.(at) === true && { metadataOnly: true }),
  });
  return {
    get: (at, only) => kube.get(at, { ...how, ...only }),
    list<T>(type: ResourceType, selection: ListOptions = {}, view?: ViewOf<T>) {
      // Without a view, the author says what the type has.
      return kube.list({ type, ...selection }, view ?? ((object) => object as T), how);
    },
    async create<T extends KubernetesObject>(type: ResourceType, object: NewObject) {
      const write = { verb: 'create', at: placeOf(type, object), sent: object } as const;
      allow?.(write);
      const answer = await kube.create<T>(type, object, how);
      onWritten?.(accepted(write, answer));
      return answer;
    },
    async dryRunCreate(type, object) {
      await kube.create(type, object, { ...how, query: { dryRun: 'All' } }).catch((error: unknown) => {
        // Admission comes before the look whether the name is taken: apiserver, registry/generic/registry/store.go, `Create`.
        if (!isOf(error, 'already-exists')) throw error;
      });
    },
    async patch<T extends KubernetesObject>(at: ObjectAt, sent: ConditionalPatch) {
      const write = { verb: 'patch', at, sent } as const;
      allow?.(write);
      const answer = await kube.patch<T>(at, sent, shownOf(at));
      onWritten?.(accepted(write, answer));
      return answer;
    },
    async apply<T extends KubernetesObject>(
      type: ResourceType,
      object: AppliedObject,
      { force = false }: ApplyOptions = {},
    ) {
      const { uid, resourceVersion } = object.metadata;
      if (uid === undefined && resourceVersion !== undefined) throw new Error(VERSION_ALONE);
      const write = { verb: 'apply', at: placeOf(type, object), sent: object } as const;
      allow?.(write);
      const as = { fieldManager: applier, force };
      const answer = await kube.apply<T>(type, object, { ...shownOf(write.at), as });
      onWritten?.(accepted(write, answer));
      return answer;
    },
    async scale(at, wanted): Promise<Scale> {
      const { replicas, ...metadata } = wanted;
      const write = { verb: 'scale', at, sent: { metadata, spec: { replicas } } } as const;
      allow?.(write);
      const answer = await kube.scale(at, wanted, how);
      onWritten?.(accepted(write, answer));
      return answer;
    },
    async evict({ namespace, name }, conditions) {
      const { uid } = conditions;
      const write = { verb: 'delete', at: { type: PODS, namespace, name }, uid } as const;
      allow?.(write);
      await kube.evict(write.at, conditions, how).catch((error: unknown) => {
        throw isOf(error, 'disruption-budget') ? namingPod(error, name) : error;
      });
      onWritten?.(write);
    },
    async delete(at, conditions) {
      const write = { verb: 'delete', at, uid: conditions.uid } as const;
      allow?.(write);
      const answer = await kube.delete(at, conditions, how);
      onWritten?.({ ...write, ...(answer && { answer }) });
    },
  };
}

function placeOf(type: ResourceType, { metadata: { name = '', namespace } = {} }: NewObject): ObjectAt {
  return { type, name, namespace };
}

const VERSION_ALONE =
  'kube.apply is given a resourceVersion without the UID: the server would make an object anew that is gone';

/** The server does not say it. */
function namingPod(error: ApiError, name: string): ApiError {
  const { message, classification, status, reason, words, retryAfterMs } = error;
  const details = { ...error.details, kind: 'pods', name };
  return new ApiError(message, { classification, status, reason, words, retryAfterMs, details });
}

const EVICTION_PAUSE_MS = 10_000;
/** As it is of a Retry-After. */
const EVICTION_PAUSE_MIN_MS = 1_000;

/** The wait that the refusal of an eviction calls for. Source: kubernetes/pkg/registry/core/pod/storage, `EvictionREST`. */
export function waitForBudget({ details, retryAfterMs = EVICTION_PAUSE_MS }: ApiError): Wait {
  const budgets = (details?.causes ?? []).map(({ message = '' }) =>
    /^The disruption budget (\S+) /.exec(message),
  );
  const [budget] = budgets.flatMap((found) => found?.[1] ?? []);
  const who = budget === undefined ? 'a PodDisruptionBudget' : `PodDisruptionBudget ${budget}`;
  const what = `${who} to allow the eviction of Pod ${details?.name ?? ''}`;
  return waitFor(what, Math.max(retryAfterMs, EVICTION_PAUSE_MIN_MS));
}
