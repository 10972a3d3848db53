import { KubeConfig } from '@kubernetes/client-node';
import { randomBytes } from 'node:crypto';
import type { KubernetesObject } from '../../src/api/object.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { CLUSTER_ROLES, NAMESPACES, PODS, RBAC_GROUP, ROLE_BINDINGS } from '../../src/api/kinds.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { isOf, type ApiErrorClass } from '../../src/kubernetes/errors.ts';
import { resourcePath, type PathType } from '../../src/kubernetes/paths.ts';
import { SERVICE_ACCOUNTS } from '../../src/api/built-in.ts';
import { eventually } from '../../testing/eventually.ts';

export { CLUSTER_ROLES, NAMESPACES, PODS, ROLE_BINDINGS, SERVICE_ACCOUNTS };
export const CLUSTER_ROLE_BINDINGS: PathType = {
  group: RBAC_GROUP,
  version: 'v1',
  plural: 'clusterrolebindings',
};
const EVENTS: PathType = { group: 'events.k8s.io', version: 'v1', plural: 'events' };

/** Where one object is. */
export interface At {
  readonly type: PathType;
  readonly namespace?: string;
  readonly name: string;
}

/** Which objects of a type. */
export interface Listed {
  readonly namespace: string;
  /** Default: all of the namespace. */
  readonly labelSelector?: string;
}

export interface ClusterEvent extends KubernetesObject {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly kind: string; readonly name: string; readonly uid: string };
  readonly series?: { readonly count: number };
}

/** What a person with all rights does with kubectl. */
export class TestCluster {
  readonly client: KubernetesClient;

  /** @param kubeconfig the file of a user who may do everything */
  constructor(kubeconfig: string) {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    this.client = createKubernetesClient(config, { version: 'test' });
  }

  create<T extends KubernetesObject>(type: PathType, manifest: Manifest): Promise<T> {
    const { namespace } = manifest.metadata;
    return this.client.request<T>({
      method: 'POST',
      path: resourcePath(type, { namespace }),
      body: manifest,
    });
  }

  /** A merge patch. */
  patch<T extends KubernetesObject>(
    { type, ...location }: At,
    body: object,
    subresource?: 'status',
  ): Promise<T> {
    return this.client.request<T>({
      method: 'PATCH',
      path: resourcePath(type, { ...location, subresource }),
      body,
    });
  }

  /** The object, or undefined where there is none. */
  get<T extends KubernetesObject>({ type, ...location }: At): Promise<T | undefined> {
    return undefinedIf(
      'not-found',
      this.client.request<T>({ method: 'GET', path: resourcePath(type, location) }),
    );
  }

  async list<T extends KubernetesObject>(
    type: PathType,
    { namespace, labelSelector }: Listed,
  ): Promise<readonly T[]> {
    const path = resourcePath(type, { namespace });
    const query = { labelSelector };
    return (await this.client.request<{ items: T[] }>({ method: 'GET', path, query })).items;
  }

  async delete({ type, ...location }: At): Promise<void> {
    const path = resourcePath(type, location);
    await undefinedIf(
      'not-found',
      this.client.request({ method: 'DELETE', path, query: { gracePeriodSeconds: 0 } }),
    );
  }

  /** Resolves once the object is gone, and not only being deleted. */
  async deleteAndWait(at: At): Promise<void> {
    await this.delete(at);
    await eventually(async () => (await this.get(at)) === undefined, 60_000);
  }

  /** A namespace in which pods can be created. @returns it */
  async createNamespace(
    name = uniqueName(),
    labels: Readonly<Record<string, string>> = {},
  ): Promise<KubernetesObject> {
    const namespace = await this.create(NAMESPACES, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels },
    });
    await eventually(() => this.get({ type: SERVICE_ACCOUNTS, namespace: name, name: 'default' }), 30_000);
    return namespace;
  }

  /** A namespace of its own. @returns its name */
  async aNamespace(): Promise<string> {
    return (await this.createNamespace()).metadata.name;
  }

  eventsIn(namespace: string): Promise<readonly ClusterEvent[]> {
    return this.list(EVENTS, { namespace });
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

/** What one writes; the rest of the metadata is the server's. */
export interface Manifest {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export function uniqueName(): string {
  return `test-${randomBytes(4).toString('hex')}`;
}

/** The resource that a controller sees in an object; a Namespace lies in itself. */
export function refOf(controller: string, { metadata }: KubernetesObject): ResourceRef {
  const { name, uid, namespace = name } = metadata;
  return { controller, namespace, name, uid };
}

/** The answer, or undefined where it is an error of this class. */
export async function undefinedIf<T>(
  classification: ApiErrorClass,
  request: Promise<T>,
): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isOf(error, classification)) return undefined;
    throw error;
  }
}
