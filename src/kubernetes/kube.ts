import type { ConditionalDelete, ConditionalPatch, NewObject, ObjectAt } from '../contract/kube.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { KubernetesClient, RequestOptions } from './client.ts';
import { found } from './errors.ts';
import { resourcePath, type ResourceType } from './paths.ts';

export type { ConditionalDelete, ConditionalPatch, NewObject, ObjectAt } from '../contract/kube.ts';

type How = Pick<
  RequestOptions,
  'metadataOnly' | 'timeoutMs' | 'pool' | 'signal' | 'query' | 'maxBytes' | 'onBytes'
>;

/** Reads and writes objects by their type. Every method throws ApiError. */
export interface Kube {
  /** Undefined where there is no such object. */
  get<T extends KubernetesObject = KubernetesObject>(at: ObjectAt, how?: How): Promise<T | undefined>;
  /** The answer is the object as the server made it. */
  create<T = KubernetesObject>(type: ResourceType, object: NewObject, how?: How): Promise<T>;
  /** The answer is the object as it is now. */
  patch<T = KubernetesObject>(at: ObjectAt, patch: ConditionalPatch, how?: How): Promise<T>;
  delete(at: ObjectAt, conditions: ConditionalDelete): Promise<void>;
}

export function kubeOf(client: Pick<KubernetesClient, 'request'>): Kube {
  return {
    get<T extends KubernetesObject>(at: ObjectAt, how: How = {}) {
      return found(client.request<T>({ method: 'GET', path: pathOf(at), ...how }));
    },
    create<T>(type: ResourceType, body: NewObject, how: How = {}) {
      const path = resourcePath(type, { namespace: body.metadata?.namespace });
      return client.request<T>({ method: 'POST', path, body, ...how });
    },
    patch<T>(at: ObjectAt, body: ConditionalPatch, how: How = {}) {
      return client.request<T>({ method: 'PATCH', path: pathOf(at), body, ...how });
    },
    async delete(at, { propagation, ...preconditions }) {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions,
        ...(propagation && { propagationPolicy: propagation }),
      };
      await client.request({ method: 'DELETE', path: pathOf(at), body });
    },
  };
}

function pathOf({ type, namespace, name, subresource }: ObjectAt): string {
  return resourcePath(type, { name, subresource, ...(type.namespaced !== false && { namespace }) });
}
