import type { KubernetesList } from '../contract/object.ts';
import type { KubernetesClient, WatchEvent } from '../kubernetes/client.ts';
import type { PageRequest } from '../kubernetes/pages.ts';

/** The objects that a reflector lists and watches. */
export interface CollectionOptions {
  readonly client: KubernetesClient;
  /** The collection's, such as `/api/v1/pods`. */
  readonly path: string;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** Reads PartialObjectMetadata instead of whole objects. */
  readonly metadataOnly?: boolean | undefined;
}

const LIST_TIMEOUT_MS = 60_000;

/** The two calls about a collection. */
export class Collection {
  readonly #options: CollectionOptions;

  constructor(options: CollectionOptions) {
    this.#options = options;
  }

  /** Without a resourceVersion the server answers with the latest state, never from a stale cache. @throws ApiError */
  readPage({ limit, continue: next, ...size }: PageRequest, signal: AbortSignal): Promise<KubernetesList> {
    const { client, path, fieldSelector, labelSelector, metadataOnly = false } = this.#options;
    return client.request<KubernetesList>({
      method: 'GET',
      path,
      query: { limit, continue: next, fieldSelector, labelSelector },
      metadataOnly: metadataOnly && 'list',
      timeoutMs: LIST_TIMEOUT_MS,
      ...size,
      signal,
    });
  }

  watch(watch: {
    readonly from: string;
    readonly timeoutSeconds: number;
    readonly signal: AbortSignal;
    readonly onOpen: () => void;
  }): AsyncIterable<WatchEvent> {
    const { from: resourceVersion, timeoutSeconds, signal, onOpen } = watch;
    const { client, path, fieldSelector, labelSelector, metadataOnly = false } = this.#options;
    return client.watch({
      path,
      query: { resourceVersion, allowWatchBookmarks: true, timeoutSeconds, fieldSelector, labelSelector },
      metadataOnly,
      signal,
      onOpen,
    });
  }
}
