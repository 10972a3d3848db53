import type { KubernetesList, KubernetesObject } from '../src/contract/object.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { buildView, type BuildView } from '../src/controllers/build/build-view.ts';
import { jobView, type JobView } from '../src/controllers/build/job-view.ts';
import { BUILD_UID_LABEL } from '../src/controllers/build/names.ts';
import type { BuildOptions } from '../src/controllers/build/options.ts';
import { podView, type PodView } from '../src/controllers/build/pod-view.ts';
import { BUILDS } from '../src/controllers/build/resource.ts';
import type { StatusPatch } from '../src/controllers/build/status.ts';
import type { KubernetesClient, RequestOptions } from '../src/kubernetes/client.ts';
import { ApiError, type ApiErrorClass } from '../src/kubernetes/errors.ts';
import { found } from '../src/kubernetes/found.ts';
import { resourcePath, type ResourceType } from '../src/kubernetes/paths.ts';

const JOBS: ResourceType = { group: 'batch', version: 'v1', plural: 'jobs' };
const PODS: ResourceType = { group: '', version: 'v1', plural: 'pods' };
const NODES: ResourceType = { group: '', version: 'v1', plural: 'nodes' };

/** An attempt may be repeated while it still goes on: then it shall not go on for long. */
const REQUEST_TIMEOUT_MS = 5_000;

/** Reads and writes what there is of one build. Every write carries what it was decided from. */
export class BuildObjects {
  readonly #client: KubernetesClient;
  readonly #ref: ResourceRef;
  readonly #options: BuildOptions;

  constructor(client: KubernetesClient, ref: ResourceRef, options: BuildOptions) {
    this.#client = client;
    this.#ref = ref;
    this.#options = options;
  }

  /** `gone`, too, where another one has its name now. @throws ApiError */
  async read(): Promise<BuildView | 'gone'> {
    const path = resourcePath(BUILDS, this.#ref);
    const object = await found(this.#request<KubernetesObject>({ method: 'GET', path }));
    return object?.metadata.uid === this.#ref.uid ? buildView(object, this.#options) : 'gone';
  }

  async setFinalizers(resourceVersion: string, finalizers: readonly string[]): Promise<BuildView> {
    const { uid } = this.#ref;
    return this.#patch({ metadata: { uid, resourceVersion, finalizers } });
  }

  async writeStatus(resourceVersion: string, status: StatusPatch): Promise<BuildView> {
    const { uid } = this.#ref;
    return this.#patch({ metadata: { uid, resourceVersion }, status }, 'status');
  }

  async #patch(body: object, subresource?: 'status'): Promise<BuildView> {
    const path = resourcePath(BUILDS, { ...this.#ref, subresource });
    const object = await this.#request<KubernetesObject>({ method: 'PATCH', path, body });
    return buildView(object, this.#options);
  }

  /** Ours of this very build. */
  async jobs(): Promise<readonly JobView[]> {
    return (await this.#list(JOBS)).flatMap((object) => jobView(object) ?? []);
  }

  async pods(): Promise<readonly PodView[]> {
    return (await this.#list(PODS)).flatMap((object) => podView(object) ?? []);
  }

  async nodeState(name: string): Promise<'there' | 'gone'> {
    const path = resourcePath(NODES, { name });
    const node = await found(this.#request({ method: 'GET', path }));
    return node === undefined ? 'gone' : 'there';
  }

  /** Whose Job has a name; `gone` where there is none. */
  async jobNamed(name: string): Promise<JobView | 'foreign' | 'gone'> {
    const path = resourcePath(JOBS, { ...this.#ref, name });
    const object = await found(this.#request<KubernetesObject>({ method: 'GET', path }));
    return object === undefined ? 'gone' : (jobView(object) ?? 'foreign');
  }

  /** @throws ApiError `already-exists` where the name is taken */
  async createJob(manifest: object): Promise<JobView> {
    const path = resourcePath(JOBS, { namespace: this.#ref.namespace });
    const job = jobView(await this.#request<KubernetesObject>({ method: 'POST', path, body: manifest }));
    if (job === undefined)
      throw new Error('the Job that was created has lost its labels; look for a webhook');
    return job;
  }

  /**
   * Only as it was seen: a Pod that it has started since would go with it, and where that one ran nobody would know.
   * The Job as it is then, or `gone` where it went at once, or was gone already.
   */
  async deleteJob(
    { name, uid, resourceVersion }: JobView,
    propagationPolicy: 'Foreground' | 'Background',
  ): Promise<JobView | 'gone'> {
    const path = resourcePath(JOBS, { ...this.#ref, name });
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid, resourceVersion },
      propagationPolicy,
    };
    const answer = await found(this.#request<KubernetesObject>({ method: 'DELETE', path, body }));
    // What went at once is answered with a Status, or the object as it last was.
    if (answer === undefined || answer.kind === 'Status') return 'gone';
    const job = jobView(answer);
    return job?.deleting === true ? job : 'gone';
  }

  async #list(type: ResourceType): Promise<readonly KubernetesObject[]> {
    const path = resourcePath(type, { namespace: this.#ref.namespace });
    const query = { labelSelector: `${BUILD_UID_LABEL}=${this.#ref.uid}` };
    return (await this.#request<KubernetesList>({ method: 'GET', path, query })).items ?? [];
  }

  #request<T>(options: RequestOptions): Promise<T> {
    return this.#client.request<T>({ timeoutMs: REQUEST_TIMEOUT_MS, ...options });
  }
}

export function isOf(error: unknown, ...classes: readonly ApiErrorClass[]): error is ApiError {
  return error instanceof ApiError && classes.includes(error.classification);
}
