import type { KubernetesList, KubernetesObject, OwnerReference } from '../src/contract/object.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { seePodSet, type SeenPodSet } from '../src/controllers/pod-set/observation.ts';
import {
  controllerReference,
  isPod,
  PODS,
  seePod,
  selectorFor,
  wantedPod,
  type Pod,
  type SeenPod,
} from '../src/controllers/pod-set/pod.ts';
import { standingOf, type Standing } from '../src/controllers/pod-set/ranking.ts';
import { POD_SETS, type PodSet, type PodSetStatus } from '../src/controllers/pod-set/resource.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { found } from '../src/kubernetes/found.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';

/** A Pod as it was read: also what a write to it has to rely on. */
export interface LivePod extends SeenPod {
  readonly resourceVersion: string;
  readonly ownerReferences: readonly OwnerReference[];
  readonly standing: Standing;
}

export interface LivePodSet extends SeenPodSet {
  readonly resourceVersion: string;
}

const PAGE = 500;

/** The API calls about one PodSet and its Pods. Each throws ApiError. */
export class PodSetObjects {
  readonly #client: KubernetesClient;
  readonly #ref: ResourceRef;

  constructor(client: KubernetesClient, ref: ResourceRef) {
    this.#client = client;
    this.#ref = ref;
  }

  /** Undefined where it is gone, or is another one of the same name. */
  async read(): Promise<LivePodSet | undefined> {
    const path = resourcePath(POD_SETS, this.#ref);
    const podSet = await found(this.#client.request<PodSet>({ method: 'GET', path }));
    if (podSet?.metadata.uid !== this.#ref.uid) return undefined;
    return { ...seePodSet(podSet), resourceVersion: podSet.metadata.resourceVersion };
  }

  /** All Pods with the PodSet's labels, whosesoever they are. */
  async list(): Promise<readonly LivePod[]> {
    const pods: LivePod[] = [];
    const path = resourcePath(PODS, { namespace: this.#ref.namespace });
    let next: string | undefined;
    do {
      const query = { labelSelector: selectorFor(this.#ref.name), limit: PAGE, continue: next };
      // Without a resourceVersion: what was written before is in it, which a cache does not promise.
      const page = await this.#client.request<KubernetesList>({ method: 'GET', path, query });
      for (const item of page.items ?? []) pods.push(this.#see(item));
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    } while (next !== undefined);
    return pods;
  }

  /** Undefined where there is none of that name. */
  async get(name: string): Promise<LivePod | undefined> {
    const pod = await found(this.#client.request<Pod>({ method: 'GET', path: this.#pathOf(name) }));
    return pod && this.#see(pod);
  }

  async create(name: string): Promise<LivePod> {
    const path = resourcePath(PODS, { namespace: this.#ref.namespace });
    return this.#see(
      await this.#client.request<Pod>({ method: 'POST', path, body: wantedPod(this.#ref, name) }),
    );
  }

  /** A Pod that is gone, or is another one of the same name by now, is as good as deleted. */
  async delete(pod: LivePod): Promise<LivePod> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: pod.uid } };
    try {
      await this.#client.request({ method: 'DELETE', path: this.#pathOf(pod.name), body });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    return { ...pod, life: 'being-deleted' };
  }

  /** A Pod that is gone is as one that is being deleted. */
  adopt(pod: LivePod): Promise<LivePod> {
    return this.#setOwners(pod, [...pod.ownerReferences, controllerReference(this.#ref)]);
  }

  /** A Pod that is gone is as one that is being deleted. */
  release(pod: LivePod): Promise<LivePod> {
    const others = pod.ownerReferences.filter(({ uid }) => uid !== this.#ref.uid);
    return this.#setOwners(pod, others);
  }

  /** @returns whether the PodSet is still there */
  async writeStatus({ resourceVersion }: LivePodSet, status: PodSetStatus): Promise<boolean> {
    const path = resourcePath(POD_SETS, { ...this.#ref, subresource: 'status' });
    const body = { metadata: { uid: this.#ref.uid, resourceVersion }, status };
    return (await found(this.#client.request({ method: 'PATCH', path, body }))) !== undefined;
  }

  /** A merge patch replaces the whole list, so it is conditional on the list being the one that was read. */
  async #setOwners(pod: LivePod, ownerReferences: readonly OwnerReference[]): Promise<LivePod> {
    const { uid, resourceVersion, name } = pod;
    const body = { metadata: { uid, resourceVersion, ownerReferences } };
    const patched = await found(
      this.#client.request<Pod>({ method: 'PATCH', path: this.#pathOf(name), body }),
    );
    return patched === undefined ? { ...pod, life: 'being-deleted' } : this.#see(patched);
  }

  #pathOf(name: string): string {
    return resourcePath(PODS, { namespace: this.#ref.namespace, name });
  }

  #see(object: KubernetesObject): LivePod {
    if (!isPod(object))
      throw new Error(`the API server sent ${object.metadata.name} as a Pod, which it is not`);
    const { resourceVersion, ownerReferences = [] } = object.metadata;
    return {
      ...seePod(object, this.#ref.name),
      resourceVersion,
      ownerReferences,
      standing: standingOf(object),
    };
  }
}

function isGone(error: unknown): boolean {
  return (
    error instanceof ApiError && (error.classification === 'not-found' || error.classification === 'conflict')
  );
}
