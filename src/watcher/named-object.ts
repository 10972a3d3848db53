import { setTimeout as delay } from 'node:timers/promises';
import { Audience, type AudienceOptions, type Told } from './audience.ts';
import { identityOf, type Projection } from './known-objects.ts';
import type { Logger } from '../api/logger.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError, found } from '../kubernetes/errors.ts';
import { Backoff } from './timing.ts';

export interface NamedObjectOptions {
  readonly client: KubernetesClient;
  /** The object's own: `/api/v1/namespaces/team-1`. */
  readonly path: string;
  readonly metadataOnly?: boolean | undefined;
  readonly log: Logger;
  /** Default: so often that a pause, or its end, is seen within half a minute. */
  readonly everyMs?: number | undefined;
}

const EVERY_MS = 15_000;

/**
 * Reads one cluster-scoped object by name, every so often. It stands in for a Reflector where a Role in a namespace is all
 * that is granted: such a Role lets its own Namespace be read, but not watched.
 */
export class NamedObject {
  readonly synced: Promise<void>;
  /** What is read by name is of Kubernetes itself. */
  readonly isApiMissing = false;
  readonly isMissing = false;
  readonly answered: Promise<void>;
  /** It has no pages. */
  readonly isComplete = true;
  readonly #options: NamedObjectOptions;
  readonly #audiences: Told[] = [];
  readonly #everyMs: number;
  readonly #stopping = new AbortController();
  readonly #backoff = new Backoff({ firstMs: 250, maxMs: EVERY_MS, random: Math.random });
  #markSynced: () => void = () => undefined;
  #hasSynced = false;
  #problem: string | undefined;
  #lastReadMs = performance.now();
  #reading: Promise<void> | undefined;

  constructor(options: NamedObjectOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs ?? EVERY_MS;
    this.synced = new Promise((resolve) => (this.#markSynced = resolve));
    this.answered = this.synced;
  }

  /** Only before it starts. @returns the object, under its key, if it exists */
  join<P extends Projection>(options: AudienceOptions<P>): ReadonlyMap<string, P> {
    const audience = new Audience(options);
    this.#audiences.push(audience);
    return audience.items;
  }

  start(): void {
    this.#reading ??= this.#readAgainAndAgain();
  }

  /** It is read again anyway. */
  isGone(): void {
    return;
  }

  /** Drops what is in progress; resolves once nothing is. Safe to repeat. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#reading;
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

  async #readAgainAndAgain(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const waitMs = await this.#read();
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** @returns in how many milliseconds to read again */
  async #read(): Promise<number> {
    const { client, path, metadataOnly = false } = this.#options;
    const { signal } = this.#stopping;
    try {
      this.#take(
        await found(client.request<KubernetesObject>({ method: 'GET', path, metadataOnly, signal })),
      );
      this.#backoff.workedFor(this.#everyMs);
      return this.#everyMs;
    } catch (error) {
      if (!signal.aborted) this.#note(error instanceof Error ? error.message : String(error));
      const retryAfterMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      return Math.max(this.#backoff.next(), retryAfterMs);
    }
  }

  #note(problem: string): void {
    for (const { observer } of this.#audiences) observer.ended('failed');
    if (problem !== this.#problem) this.#options.log.warn({}, problem);
    this.#problem = problem;
  }

  #take(object: KubernetesObject | undefined): void {
    for (const audience of this.#audiences) {
      if (object !== undefined) audience.listed(object);
      audience.listEnded(new Set(object && [identityOf(object).key]));
    }
    this.#lastReadMs = performance.now();
    this.#problem = undefined;
    this.#hasSynced = true;
    this.#markSynced();
  }
}
