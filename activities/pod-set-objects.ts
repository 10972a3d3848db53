import type { KubernetesObject, OwnerReference } from '../src/contract/object.ts';
import type { ResourceRef } from '../src/contract/resource.ts';
import { NODES } from '../src/api/kinds.ts';
import { troubleOfNode } from '../src/api/pod-trouble.ts';
import { PODS } from '../src/controllers/kinds.ts';
import { isAvailable } from '../src/controllers/pod-set/decide.ts';
import {
  podSetReference,
  desiredPod,
  podView,
  selectorFor,
  type PodView,
} from '../src/controllers/pod-set/pod.ts';
import { POD_SETS, podSetView, type PodSetView } from '../src/controllers/pod-set/resource.ts';
import type { NodeSeen } from '../src/controllers/pod-set/unready.ts';
import type { StatusPatch } from '../src/controllers/pod-set/status.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { found, isOf } from '../src/kubernetes/errors.ts';
import { kubeOf, type ObjectClient, type ObjectAt } from '../src/kubernetes/kube.ts';
import { changeOf } from './overridden.ts';

const READ_ONE_BY_ONE_MAX = 16;

/** A Pod as a write has left it, and whether it was this write that did. */
export interface Written {
  readonly pod: PodView;
  readonly isDone: boolean;
  /** What something changed in the write on its way. */
  readonly changed?: string | undefined;
}

/** The API calls about one PodSet and its Pods. Each throws ApiError. */
export class PodSetObjects {
  readonly #kube: ObjectClient;
  readonly #ref: ResourceRef;

  constructor(client: KubernetesClient, ref: ResourceRef) {
    this.#kube = kubeOf(client);
    this.#ref = ref;
  }

  async readPodSet(): Promise<PodSetView | 'gone'> {
    const podSet = await this.#kube.get({ ...this.#ref, type: POD_SETS });
    const view = podSet && podSetView(podSet);
    return view?.uid === this.#ref.uid ? view : 'gone';
  }

  /** @returns undefined if the PodSet is gone */
  async patchStatus({ uid, resourceVersion }: PodSetView, status: StatusPatch) {
    const at = { ...this.#ref, type: POD_SETS, subresource: 'status' } as const;
    const body = { metadata: { uid, resourceVersion }, status };
    const answer = await found(this.#kube.patch(at, body));
    return answer && { podSet: podSetView(answer), changed: changeOf(body, answer) };
  }

  /** All Pods with the PodSet's labels, whoever controls them: the latest state, which a cache does not promise. */
  listPods(): Promise<readonly PodView[]> {
    const { namespace, name } = this.#ref;
    const of = { type: PODS, namespace, labelSelector: selectorFor(name) };
    return this.#kube.list(of, (pod) => this.#view(pod));
  }

  /** Those that exist, whatever their labels. Many are looked for in a list of the namespace: one call for 500 Pods. */
  async readPods(names: readonly string[]): Promise<readonly PodView[]> {
    if (names.length > READ_ONE_BY_ONE_MAX) {
      const wanted = new Set(names);
      const { namespace } = this.#ref;
      return this.#kube.list({ type: PODS, namespace }, (pod) =>
        wanted.has(pod.metadata.name) ? this.#view(pod) : undefined,
      );
    }
    const pods = await Promise.all(names.map((name) => this.#read(name)));
    return pods.filter((pod) => pod !== undefined);
  }

  /** Where the operator may not read nodes, the status says less, and is written nevertheless. */
  async readNode(name: string): Promise<NodeSeen> {
    const reading = this.#kube.get({ type: NODES, name });
    const node = await reading.catch((error: unknown) => {
      if (!isOf(error, 'refused', 'access-denied')) throw error;
      return undefined;
    });
    const trouble = node && troubleOfNode(node)?.text;
    return { name, ...(trouble !== undefined && { trouble }) };
  }

  /** Undefined where there is none of that name. */
  async #read(name: string): Promise<PodView | undefined> {
    const pod = await this.#kube.get(this.#at(name));
    return pod && this.#view(pod);
  }

  /**
   * A name that is taken is most likely taken by an earlier attempt whose answer was lost, or that still writes:
   * then the Pod is there. Else the next of its names is tried, also if something took the labels off that Pod.
   */
  async create(names: Iterator<readonly string[], never>): Promise<Written> {
    let taken: unknown;
    for (const name of names.next().value) {
      const body = desiredPod(this.#ref, name);
      try {
        const answer = await this.#kube.create(PODS, body);
        return { pod: this.#view(answer), isDone: true, changed: changeOf(body, answer) };
      } catch (error) {
        if (!isOf(error, 'already-exists')) throw error;
        taken = error;
      }
      const pod = await this.#read(name);
      if (pod?.controllerUid === this.#ref.uid && pod.matches) return { pod, isDone: false };
    }
    throw taken;
  }

  /**
   * Conditional on the UID alone, as the ReplicaSet controller deletes: a kubelet updates the status of a Pod at any time,
   * and each update would make a delete by resourceVersion fail. A Pod is spared if it has lost the labels, failed, or got
   * another controller since the decision.
   *
   * @param decidedOn the Pod as the decision knew it
   * @param latest the Pod as it was within the last second; undefined: it is read first
   */
  async delete(decidedOn: PodView, latest: PodView | undefined): Promise<Written> {
    const pod = latest ?? (await this.#read(decidedOn.name));
    if (pod === undefined) return { pod: { ...decidedOn, life: 'being deleted' }, isDone: false };
    if (!countsAs(decidedOn, pod)) return { pod, isDone: false };
    const deleting = this.#kube.delete(this.#at(pod.name), { uid: pod.uid });
    const isDone = await found(deleting.then(() => true));
    return { pod: { ...pod, life: 'being deleted' }, isDone: isDone ?? false };
  }

  async adopt(pod: PodView): Promise<Written> {
    return this.#setOwners(pod, [...(await this.#otherOwners(pod)), podSetReference(this.#ref)]);
  }

  async release(pod: PodView): Promise<Written> {
    return this.#setOwners(pod, await this.#otherOwners(pod));
  }

  /** They may be long, so no view keeps them. What was read too late is refused with the write, by its resourceVersion. */
  async #otherOwners({ name, hasOtherOwners }: PodView): Promise<readonly OwnerReference[]> {
    if (hasOtherOwners !== true) return [];
    const pod = await this.#kube.get(this.#at(name));
    return (pod?.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== this.#ref.uid);
  }

  /** A merge patch replaces the whole list, so it is conditional on the list being the one that was read. */
  async #setOwners(pod: PodView, ownerReferences: readonly OwnerReference[]): Promise<Written> {
    const { uid, resourceVersion, name } = pod;
    const body = { metadata: { uid, resourceVersion, ownerReferences } };
    const answer = await found(this.#kube.patch(this.#at(name), body));
    if (answer === undefined) return { pod: { ...pod, life: 'being deleted' }, isDone: false };
    return { pod: this.#view(answer), isDone: true, changed: changeOf(body, answer) };
  }

  #at(name: string): ObjectAt {
    return { type: PODS, namespace: this.#ref.namespace, name };
  }

  #view(object: KubernetesObject): PodView {
    const view = podView(object, this.#ref.name);
    if (view === undefined)
      throw new Error(`the API server returned something other than a Pod for ${object.metadata.name}`);
    return view;
  }
}

function countsAs(before: PodView, now: PodView): boolean {
  return (
    now.uid === before.uid &&
    now.life !== 'being deleted' &&
    now.controllerUid === before.controllerUid &&
    now.matches === before.matches &&
    isAvailable(now) === isAvailable(before)
  );
}
