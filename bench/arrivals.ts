import type { KubernetesObject } from '../src/api/object.ts';
import type { KubernetesClient, WatchEvent } from '../src/kubernetes/client.ts';

export interface ArrivalsRequest {
  readonly client: KubernetesClient;
  /** The path of the collection that is watched. */
  readonly path: string;
  /** The name under which an object is waited for, where it is as wanted. */
  readonly arrivedAs: (object: KubernetesObject) => string | undefined;
  /** What of an object is looked at. Default: its metadata. */
  readonly read?: 'metadata' | 'all';
  /** Whether it is waited for to be there, or to be gone. Default: there. */
  readonly awaited?: 'there' | 'gone';
}

const TIMEOUT_MS = 180_000;

interface Waiting {
  readonly timer: NodeJS.Timeout;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

/** One watch that notes when each resource is seen to be as wanted. */
export class Arrivals {
  readonly #request: ArrivalsRequest;
  readonly #abort = new AbortController();
  readonly #at = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting>();
  #watching: Promise<void> = Promise.resolve();
  #failure: Error | undefined;

  private constructor(request: ArrivalsRequest) {
    this.#request = request;
  }

  /** Resolves when the server has accepted the watch. @throws ApiError */
  static async open(request: ArrivalsRequest): Promise<Arrivals> {
    const arrivals = new Arrivals(request);
    const { client, path } = request;
    const list = { method: 'GET', path, metadataOnly: 'list', timeoutMs: 60_000 } as const;
    const { metadata } = await client.request<KubernetesObject>(list);
    await new Promise<void>((resolve, reject) => {
      arrivals.#watching = arrivals.#watch(metadata.resourceVersion, resolve).catch((error: unknown) => {
        const failure = error instanceof Error ? error : new Error(String(error));
        arrivals.#fail(failure);
        reject(failure);
      });
    });
    return arrivals;
  }

  /** When it came, by `performance.now()`. @throws Error where it does not come within three minutes, or the watch broke */
  async of(name: string): Promise<number> {
    const known = this.#at.get(name);
    if (known !== undefined) return known;
    if (this.#failure !== undefined) throw this.#failure;
    await new Promise<void>((resolve, reject) => {
      const late = new Error(`${name} has not converged within ${TIMEOUT_MS / 1000} s`);
      const timer = setTimeout(() => reject(late), TIMEOUT_MS);
      this.#waiting.set(name, { timer, resolve, reject });
    });
    return this.of(name);
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#watching;
  }

  /** The server ends every watch now and then; it is resumed where it ended. */
  async #watch(resourceVersion: string, onOpen: () => void): Promise<void> {
    const { client, path } = this.#request;
    const { signal } = this.#abort;
    const metadataOnly = this.#request.read !== 'all';
    let seen = resourceVersion;
    while (!signal.aborted) {
      const query = { resourceVersion: seen };
      for await (const event of client.watch({ path, query, metadataOnly, onOpen, signal })) {
        this.#take(event);
        seen = event.object.metadata.resourceVersion;
      }
    }
  }

  #take({ type, object }: WatchEvent): void {
    const { awaited = 'there', arrivedAs } = this.#request;
    const name = (type === 'DELETED') === (awaited === 'gone') ? arrivedAs(object) : undefined;
    if (name === undefined || this.#at.has(name)) return;
    this.#at.set(name, performance.now());
    const waiting = this.#waiting.get(name);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    waiting.resolve();
    this.#waiting.delete(name);
  }

  #fail(failure: Error): void {
    this.#failure = failure;
    for (const { timer, reject } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(failure);
    }
  }
}
