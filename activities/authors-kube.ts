import type { Kube, ListOptions } from '../src/api/kube.ts';
import type { ResourceType } from '../src/contract/controller.ts';
import type { ConditionalPatch, NewObject, ObjectAt } from '../src/contract/kube.ts';
import type { KubernetesObject } from '../src/contract/object.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { isOf } from '../src/kubernetes/errors.ts';
import { kubeOf } from '../src/kubernetes/kube.ts';
import { changeOf } from './overridden.ts';

export const REQUEST_TIMEOUT_MS = 5_000;

/** A write that an author asks for. */
export interface AuthorWrite {
  readonly verb: 'create' | 'patch' | 'delete';
  readonly at: ObjectAt;
  readonly sent?: NewObject;
}

/** One that the server has accepted. */
export interface AcceptedWrite extends AuthorWrite {
  /** Absent: it was deleted. */
  readonly answer?: KubernetesObject;
  /** What something changed in it on its way. */
  readonly changed?: string | undefined;
  /** Of what was deleted. */
  readonly uid?: string;
}

/** Each is called for every write. */
export interface WriteHooks {
  /** @throws Error if the step may not do that */
  readonly allow: (write: AuthorWrite) => void;
  readonly onWritten: (written: AcceptedWrite) => void;
}

interface Access extends Partial<WriteHooks> {
  readonly client: KubernetesClient;
  readonly signal?: AbortSignal;
  /** Of which object the metadata suffices as an answer. Default: none. */
  readonly isMetadataOnly?: (at: ObjectAt) => boolean;
}

type ViewOf<T> = (object: KubernetesObject) => T | undefined;

/** What `observe` and `run` get. */
export function authorsKube({ client, signal, isMetadataOnly, allow, onWritten }: Access): Kube {
  const kube = kubeOf(client);
  const how = { timeoutMs: REQUEST_TIMEOUT_MS, ...(signal && { signal }) };
  const accepted = (write: AuthorWrite & { sent: NewObject }, answer: KubernetesObject): AcceptedWrite => ({
    ...{ ...write, answer },
    changed: changeOf(write.sent, answer, client.fieldManager),
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
      const metadataOnly = isMetadataOnly?.(at) === true;
      const answer = await kube.patch<T>(at, sent, { ...how, ...(metadataOnly && { metadataOnly }) });
      onWritten?.(accepted(write, answer));
      return answer;
    },
    async delete(at, conditions) {
      const write = { verb: 'delete', at } as const;
      allow?.(write);
      await kube.delete(at, conditions, how);
      onWritten?.({ ...write, uid: conditions.uid });
    },
  };
}

function placeOf(type: ResourceType, { metadata: { name = '', namespace } = {} }: NewObject): ObjectAt {
  return { type, name, namespace };
}
