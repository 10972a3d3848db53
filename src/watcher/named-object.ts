import { identityOf, type Projection } from './projection.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { SILENT_WATCH, type WatchObserver } from '../contract/telemetry.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { found } from '../kubernetes/found.ts';
import { Backoff } from './backoff.ts';
import { KnownObjects, type Change } from './known-objects.ts';

export interface NamedObjectOptions<P extends Projection> {
  readonly client: KubernetesClient;
  /** The object's own: `/api/v1/namespaces/team-1`. */
  readonly path: string;
  readonly metadataOnly?: boolean | undefined;
  readonly project: (object: KubernetesObject) => P | undefined;
  readonly onChange: (change: Change<P>) => void;
  readonly log: Logger;
  /** Default: not observed. */
  readonly observer?: WatchObserver;
  /** Default: so often that a pause, or its end, is seen within half a minute. */
  readonly everyMs?: number;
}

const EVERY_MS = 15_000;

/**
 * Reads one cluster-scoped object by name, every so often. It stands in for a Reflector where a Role in a namespace is all
 * that is granted: such a Role lets its own Namespace be read, but not watched.
 */
export class NamedObject<P extends Projection> {
  readonly synced: Promise<void>;
  readonly #options: NamedObjectOptions<P>;
  readonly #everyMs: number;
  readonly #known: KnownObjects<P>;
  readonly #stopping = new AbortController();
  readonly #observer: WatchObserver;
  readonly #backoff = new Backoff({ firstMs: 250, maxMs: EVERY_MS, random: Math.random });
  #markSynced: () => void = () => undefined;
  #hasSynced = false;
  #problem: string | undefined;
  #lastReadMs = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: NamedObjectOptions<P>) {
    this.#options = options;
    this.#everyMs = options.everyMs ?? EVERY_MS;
    this.#known = new KnownObjects<P>(options.onChange);
    this.#observer = options.observer ?? SILENT_WATCH;
    this.synced = new Promise((resolve) => (this.#markSynced = resolve));
  }

  start(): void {
    this.#reading ??= this.#read();
  }

  /** Drops what is in progress; resolves once nothing is. Safe to repeat. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#reading;
  }

  /** What is read by name is of Kubernetes itself. */
  readonly isApiMissing = false;

  /** It has no pages. */
  readonly isComplete = true;

  get items(): ReadonlyMap<string, P> {
    return this.#known.items;
  }

  /** Since it was last read. */
  get silenceSeconds(): number {
    return (performance.now() - this.#lastReadMs) / 1000;
  }

  hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Why it cannot be read just now, in one line. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async #read(): Promise<void> {
    const next = await this.#readOnce();
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#reading = this.#read();
    }, next);
  }

  /** @returns in how many milliseconds to read again */
  async #readOnce(): Promise<number> {
    try {
      this.#take(await this.#get());
      this.#problem = undefined;
      this.#backoff.workedFor(this.#everyMs);
      return this.#everyMs;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (!this.#stopping.signal.aborted) this.#note(problem);
      return this.#pauseAfter(error);
    }
  }

  /** In milliseconds. */
  #pauseAfter(error: unknown): number {
    const pauseMs = this.#backoff.next();
    return error instanceof ApiError ? Math.max(pauseMs, error.retryAfterMs ?? 0) : pauseMs;
  }

  #note(problem: string): void {
    this.#observer.ended('failed');
    if (problem !== this.#problem) this.#options.log.warn({}, problem);
    this.#problem = problem;
  }

  #get(): Promise<KubernetesObject | undefined> {
    const { client, path, metadataOnly = false } = this.#options;
    const { signal } = this.#stopping;
    return found(client.request<KubernetesObject>({ method: 'GET', path, metadataOnly, signal }));
  }

  #take(object: KubernetesObject | undefined): void {
    if (object === undefined) this.#known.listEnded(new Set());
    else this.#known.listed({ ...identityOf(object), projection: this.#options.project(object) });
    this.#lastReadMs = performance.now();
    this.#hasSynced = true;
    this.#markSynced();
  }
}
