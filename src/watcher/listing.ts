import type { KubernetesList } from '../api/object.ts';
import type { WatchEvent } from '../kubernetes/client.ts';
import type { Told } from './audience.ts';
import { identityOf } from './known-objects.ts';

/**
 * A list in progress, and a watch from its first page on. A slow list may end after the server has forgotten the changes since
 * that page; and with the watch, pages of different versions make a whole.
 */
export class Listing {
  readonly #audiences: readonly Told[];
  readonly #keys = new Set<string>();
  /** Told by the watch: pages may show them as they were before. */
  readonly #told = new Set<string>();
  #version: string | undefined;

  constructor(audiences: readonly Told[]) {
    this.#audiences = audiences;
  }

  /** A watch from here tells all that has not been shown. */
  get version(): string {
    return this.#version ?? '';
  }

  page({ metadata, items }: KubernetesList): void {
    this.#version ??= metadata.resourceVersion;
    for (const object of items ?? []) {
      const { key } = identityOf(object);
      if (this.#told.has(key)) continue;
      this.#keys.add(key);
      for (const audience of this.#audiences) audience.listed(object);
    }
  }

  /** In their order, so each is newer than the pages, even where known objects are from before a restore. */
  event({ type, object }: WatchEvent): void {
    const { key, resourceVersion } = identityOf(object);
    this.#version = resourceVersion;
    if (type === 'BOOKMARK') return;
    this.#told.add(key);
    if (type === 'DELETED') this.#keys.delete(key);
    else this.#keys.add(key);
    for (const audience of this.#audiences) {
      if (type === 'DELETED') audience.vanished(object);
      else audience.listed(object);
    }
  }

  end(): void {
    for (const audience of this.#audiences) audience.listEnded(this.#keys);
  }
}
