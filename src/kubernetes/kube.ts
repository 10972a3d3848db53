import { apiVersionOf, type ResourceType } from '../api/resource-type.ts';
import type {
  AppliedObject,
  ConditionalDelete,
  ConditionalEviction,
  ConditionalPatch,
  ConditionalScale,
  NewObject,
  ObjectAt,
  Scale,
} from '../api/kube.ts';
import type { KubernetesList, KubernetesObject } from '../api/object.ts';
import type { KubernetesClient, RequestOptions } from './client.ts';
import { found } from './errors.ts';
import { eachPage, onePage, type Collection } from './pages.ts';
import { resourcePath, type PathType } from './paths.ts';

export type { ConditionalDelete, ConditionalPatch, NewObject, ObjectAt } from '../api/kube.ts';

type How = Pick<
  RequestOptions,
  'metadataOnly' | 'timeoutMs' | 'pool' | 'signal' | 'query' | 'maxBytes' | 'onBytes'
>;

/**
 * No object has this version: an apply that names it creates, or is in conflict with whatever has the name. Its fields are owned by an
 * apply from the start, which those of a POST would not be. Source: apiserver, registry/generic/registry/store.go, `Store.Update`.
 */
export const VERSION_OF_NONE = '1';

/** Whose apply it is. */
export interface Applying {
  readonly fieldManager: string;
  /** Takes fields away from their managers. */
  readonly force: boolean;
}

/** Objects of one type. A namespace is left out where all of them are meant. */
export interface ObjectsOfType extends Omit<Collection, 'client' | 'path'> {
  readonly type: PathType;
  readonly namespace?: string | undefined;
  /** At most so many, from one answer of at most a mebibyte: a longer one counts as empty. Default: all. */
  readonly limit?: number | undefined;
}

/** Reads and writes objects by their type. Every method throws ApiError. */
export interface ObjectClient {
  /** Undefined where there is no such object. */
  get<T extends KubernetesObject = KubernetesObject>(at: ObjectAt, how?: How): Promise<T | undefined>;
  /** All of them as they are now. Only views are kept, since objects may be large; those without one are left out. */
  list<View>(
    objects: ObjectsOfType,
    viewOf: (object: KubernetesObject) => View | undefined,
    how?: Pick<How, 'timeoutMs' | 'signal'>,
  ): Promise<readonly View[]>;
  /** The answer is the object as the server made it. */
  create<T = KubernetesObject>(type: PathType, object: NewObject, how?: How): Promise<T>;
  /** The answer is the object as it is now. */
  patch<T = KubernetesObject>(at: ObjectAt, patch: ConditionalPatch, how?: How): Promise<T>;
  /** Server-side apply. The answer is the object as it is now. */
  apply<T = KubernetesObject>(
    type: ResourceType,
    object: AppliedObject,
    how: How & { readonly as: Applying },
  ): Promise<T>;
  /** The answer is not the object, but its scale. */
  scale(at: ObjectAt, wanted: ConditionalScale, how?: How): Promise<Scale>;
  /** The answer is the object as it is being deleted; undefined: the server says no more than that it has deleted it. */
  delete(
    at: ObjectAt,
    conditions: ConditionalDelete,
    how?: Pick<How, 'timeoutMs' | 'signal'>,
  ): Promise<KubernetesObject | undefined>;
  /** Deletes a Pod, unless a PodDisruptionBudget does not allow it. */
  evict(
    at: ObjectAt,
    preconditions: ConditionalEviction,
    how?: Pick<How, 'timeoutMs' | 'signal'>,
  ): Promise<void>;
}

export function kubeOf(client: Pick<KubernetesClient, 'request'>): ObjectClient {
  return {
    async get<T extends KubernetesObject>(at: ObjectAt, how: How = {}) {
      return found(client.request<T>({ method: 'GET', path: pathOf(at), ...how }));
    },
    async list<View>(
      { type, namespace, limit, ...selection }: ObjectsOfType,
      viewOf: (object: KubernetesObject) => View | undefined,
      how: Pick<How, 'timeoutMs' | 'signal'> = {},
    ) {
      const views: View[] = [];
      const onPage = ({ items }: KubernetesList) =>
        views.push(...(items ?? []).flatMap((item) => viewOf(item) ?? []));
      const collection = { client, path: resourcePath(type, { namespace }), ...selection };
      if (limit === undefined) await eachPage(collection, { onPage, ...how });
      else onPage(await onePage(collection, { limit, ...how }));
      return views;
    },
    async create<T>(type: PathType, body: NewObject, how: How = {}) {
      const path = resourcePath(type, { namespace: body.metadata?.namespace });
      return client.request<T>({ method: 'POST', path, body, ...how });
    },
    async patch<T>(at: ObjectAt, body: ConditionalPatch, how: How = {}) {
      return client.request<T>({ method: 'PATCH', path: pathOf(at), body, ...how });
    },
    async apply<T>(type: ResourceType, object: AppliedObject, { as, ...how }: How & { as: Applying }) {
      const { name, namespace, uid, resourceVersion } = object.metadata;
      const isNew = uid === undefined && resourceVersion === undefined;
      const body = {
        ...{ apiVersion: apiVersionOf(type), kind: type.kind, ...object },
        metadata: { ...object.metadata, ...(isNew && { resourceVersion: VERSION_OF_NONE }) },
      };
      return client.request<T>({
        ...{ method: 'PATCH', path: pathOf({ type, namespace, name }), body, ...how },
        // What is new has no other managers.
        query: { ...as, force: as.force || isNew },
        contentType: 'application/apply-patch+yaml',
      });
    },
    async scale(at, { replicas, ...metadata }, how = {}) {
      const path = pathOf({ ...at, subresource: 'scale' });
      return client.request<Scale>({ method: 'PATCH', path, body: { metadata, spec: { replicas } }, ...how });
    },
    async evict(at, preconditions, how = {}) {
      const { name, namespace } = at;
      const body = {
        ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } },
        deleteOptions: { preconditions },
      };
      await client.request({
        method: 'POST',
        path: pathOf({ ...at, subresource: 'eviction' }),
        body,
        ...how,
      });
    },
    async delete(at, { propagation, ...preconditions }, how = {}) {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions,
        ...(propagation && { propagationPolicy: propagation }),
      };
      const answer = await client.request<Partial<KubernetesObject> | undefined>({
        ...{ method: 'DELETE', path: pathOf(at), body },
        ...how,
      });
      const metadata = answer?.metadata;
      return metadata?.deletionTimestamp === undefined ? undefined : { ...answer, metadata };
    },
  };
}

interface Located extends Omit<ObjectAt, 'subresource'> {
  readonly subresource?: string | undefined;
}

function pathOf({ type, namespace, name, subresource }: Located): string {
  return resourcePath(type, { name, subresource, ...(type.namespaced !== false && { namespace }) });
}
