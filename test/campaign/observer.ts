import { setTimeout as pause } from 'node:timers/promises';
import type { KubernetesObject } from '../../src/api/object.ts';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { JOBS } from '../../src/api/kinds.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { resourcePath, type PathType } from '../../src/kubernetes/paths.ts';
import { NAMESPACES, PODS, ROLE_BINDINGS, type TestCluster } from '../support/cluster.ts';

/** An object as it was at some time. */
export interface Version {
  readonly atMs: number;
  readonly resource: string;
  readonly isDeleted: boolean;
  readonly object: KubernetesObject;
}

/** It may see a version later than the operator. */
export const OBSERVED_MS = 2_000;

/** As they were written: each type has a watch of its own, and on a busy machine one may be read later than another. */
export function inOrder(versions: readonly Version[]): readonly Version[] {
  const at = ({ object }: Version) => Number(object.metadata.resourceVersion);
  return versions.toSorted((one, other) => at(one) - at(other));
}

/** By the UID of each object. */
export function historiesIn(versions: readonly Version[]): ReadonlyMap<string, readonly Version[]> {
  const histories = new Map<string, Version[]>();
  for (const version of versions) {
    const { uid } = version.object.metadata;
    histories.set(uid, [...(histories.get(uid) ?? []), version]);
  }
  return histories;
}

const TYPES: readonly PathType[] = [PODS, JOBS, PodSetKind, BUILDS, ROLE_BINDINGS, NAMESPACES];
const OURS = 'campaign-';
const TRY_AGAIN_MS = 200;

interface ListOf {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly KubernetesObject[];
}

/**
 * Sees every version of every object in the campaign's namespaces, by watches of its own that no fault is about. Where the
 * API server itself was away it may have missed some.
 */
export class Observer {
  readonly #cluster: TestCluster;
  readonly #stopping = new AbortController();
  /** By namespace. */
  readonly #versions = new Map<string, Version[]>();
  #running: Promise<unknown> = Promise.resolve();

  constructor(cluster: TestCluster) {
    this.#cluster = cluster;
  }

  start(): void {
    this.#running = Promise.all(TYPES.map((type) => this.#follow(type)));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** In the order in which they were read. */
  versionsIn(namespace: string): readonly Version[] {
    return this.#versions.get(namespace) ?? [];
  }

  forget(namespace: string): void {
    this.#versions.delete(namespace);
  }

  /** A watch that breaks goes on where it was. Where none can be opened the server was away, and what there is counts anew. */
  async #follow(type: PathType): Promise<void> {
    const { signal } = this.#stopping;
    const path = resourcePath(type);
    let seen: string | undefined;
    while (!signal.aborted) {
      const watch = { isOpen: false };
      try {
        seen ??= await this.#list(type);
        const query = { resourceVersion: seen };
        const onOpen = () => (watch.isOpen = true);
        for await (const event of this.#cluster.client.watch({ path, query, signal, onOpen })) {
          if (event.type !== 'BOOKMARK') this.#note(type, event.object, event.type === 'DELETED');
          seen = event.object.metadata.resourceVersion;
        }
      } catch (error) {
        if (!watch.isOpen || (error instanceof ApiError && error.classification === 'expired'))
          seen = undefined;
        await pause(TRY_AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #list(type: PathType): Promise<string> {
    const list = await this.#cluster.client.request<ListOf>({ method: 'GET', path: resourcePath(type) });
    for (const object of list.items) this.#note(type, object, false);
    return list.metadata.resourceVersion;
  }

  #note({ plural: resource }: PathType, object: KubernetesObject, isDeleted: boolean): void {
    // A Namespace is kept with what is in it.
    const { name, namespace = resource === 'namespaces' ? name : '' } = object.metadata;
    if (!namespace.startsWith(OURS)) return;
    const versions = this.#versions.get(namespace) ?? [];
    versions.push({ atMs: Date.now(), resource, isDeleted, object });
    this.#versions.set(namespace, versions);
  }
}
