import type { KubernetesList } from '../../src/contract/object.ts';
import { PODS } from '../../src/controllers/kinds.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';

/** A Pod that was there, and may be still. */
interface RecordedPod {
  readonly name: string;
  readonly isDeleted: boolean;
}

/**
 * Every Pod that was ever in a namespace, as a watch of the API server shows it. The audit log does not do for that: of a
 * request whose client was killed, it does not say that it succeeded.
 */
export class PodRecord {
  readonly #pods = new Map<string, RecordedPod>();
  readonly #over = new AbortController();
  #problem: Error | undefined;

  /** Resolves once nothing that happens from now on is missed. */
  async begin(cluster: KubernetesClient, namespace: string): Promise<void> {
    const path = resourcePath(PODS, { namespace });
    const list = await cluster.request<KubernetesList>({ method: 'GET', path, metadataOnly: 'list' });
    const query = { resourceVersion: list.metadata.resourceVersion };
    const watch = { path, query, metadataOnly: true, signal: this.#over.signal };
    void this.#follow(cluster, watch).catch((error: unknown) => {
      if (!this.#over.signal.aborted) this.#problem = new Error('the watch of Pods broke', { cause: error });
    });
  }

  end(): void {
    this.#over.abort();
  }

  /** The names of the Pods that a PodSet ever had, and of those that were deleted. @throws Error where the watch broke */
  of(podSet: string): { readonly created: readonly string[]; readonly deleted: readonly string[] } {
    if (this.#problem !== undefined) throw this.#problem;
    const pods = [...this.#pods.values()].filter(({ name }) => name.startsWith(`${podSet}-pod-`));
    return {
      created: pods.map(({ name }) => name),
      deleted: pods.filter(({ isDeleted }) => isDeleted).map(({ name }) => name),
    };
  }

  async #follow(cluster: KubernetesClient, watch: Parameters<KubernetesClient['watch']>[0]): Promise<void> {
    for await (const { type, object } of cluster.watch(watch)) {
      if (type === 'BOOKMARK') continue;
      const { uid, name, deletionTimestamp } = object.metadata;
      this.#pods.set(uid, { name, isDeleted: type === 'DELETED' || deletionTimestamp !== undefined });
    }
    throw new Error('the API server ended it');
  }
}
