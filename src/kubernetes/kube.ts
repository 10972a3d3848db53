import type { ConditionalDelete, ConditionalPatch, NewObject, ObjectAt } from '../contract/kube.ts';
import type { KubernetesList, KubernetesObject } from '../contract/object.ts';
import type { KubernetesClient, RequestOptions } from './client.ts';
import { found } from './errors.ts';
import { eachPage, onePage, type Collection } from './pages.ts';
import { resourcePath, type PathType } from './paths.ts';

export type { ConditionalDelete, ConditionalPatch, NewObject, ObjectAt } from '../contract/kube.ts';

type How = Pick<
  RequestOptions,
  'metadataOnly' | 'timeoutMs' | 'pool' | 'signal' | 'query' | 'maxBytes' | 'onBytes'
>;

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
  delete(at: ObjectAt, conditions: ConditionalDelete, how?: Pick<How, 'timeoutMs' | 'signal'>): Promise<void>;
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
    async delete(at, { propagation, ...preconditions }, how = {}) {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions,
        ...(propagation && { propagationPolicy: propagation }),
      };
      await client.request({ method: 'DELETE', path: pathOf(at), body, ...how });
    },
  };
}

function pathOf({ type, namespace, name, subresource }: ObjectAt): string {
  return resourcePath(type, { name, subresource, ...(type.namespaced !== false && { namespace }) });
}
