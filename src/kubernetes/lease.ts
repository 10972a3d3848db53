import type { KubernetesObject } from '../api/object.ts';
import type { KubernetesClient } from './client.ts';
import { kubeOf } from './kube.ts';
import { resourcePath } from './paths.ts';

/** It does not wait for the connections of other requests: a late renewal is of no use. */
const POOL = 'lease';

const LEASE_TYPE = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };

/** What client-go's elections keep in it. Source: `k8s.io/api/coordination/v1`, LeaseSpec. */
export interface LeaseSpec {
  /** Absent or empty: nobody. */
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  /** MicroTime, by the clock of the holder. */
  readonly acquireTime?: string;
  /** MicroTime, by the clock of the holder. */
  readonly renewTime?: string;
  /** How often the holder has changed. */
  readonly leaseTransitions?: number;
}

export interface Lease extends KubernetesObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseLocation {
  readonly namespace: string;
  readonly name: string;
}

export interface LeaseRequest {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** One Lease, wherever it is kept. */
export type LeaseStore = Pick<LeaseObject, 'name' | 'read' | 'create' | 'replace'>;

/** One Lease on the API server. */
export class LeaseObject {
  readonly #client: KubernetesClient;
  readonly #location: LeaseLocation;

  constructor(client: KubernetesClient, location: LeaseLocation) {
    this.#client = client;
    this.#location = location;
  }

  /** `<namespace>/<name>`, for messages. */
  get name(): string {
    return `${this.#location.namespace}/${this.#location.name}`;
  }

  /** Undefined where there is none. @throws ApiError */
  read(request: LeaseRequest): Promise<Lease | undefined> {
    return kubeOf(this.#client).get<Lease>(
      { type: LEASE_TYPE, ...this.#location },
      { pool: POOL, ...request },
    );
  }

  /** @throws ApiError of class `already-exists` where somebody was first */
  create(spec: LeaseSpec, request: LeaseRequest): Promise<Lease> {
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: this.#location, spec };
    return kubeOf(this.#client).create<Lease>(LEASE_TYPE, lease, { pool: POOL, ...request });
  }

  /** @throws ApiError of class `conflict` where somebody has written it since it was read, `not-found` where it is gone */
  replace(lease: Lease, spec: LeaseSpec, request: LeaseRequest): Promise<Lease> {
    const path = resourcePath(LEASE_TYPE, this.#location);
    const body = { ...lease, spec };
    return this.#client.request<Lease>({ method: 'PUT', path, body, pool: POOL, ...request });
  }
}
