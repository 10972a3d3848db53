import { setTimeout as pause } from 'node:timers/promises';
import type { KubernetesObject } from '../../src/api/object.ts';
import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';
import { resourcePath, type PathType } from '../../src/kubernetes/paths.ts';
import { undefinedIf, type At, type Listed, type Manifest, type TestCluster } from '../support/cluster.ts';

export type Propagation = 'Background' | 'Foreground' | 'Orphan';

const TRY_AGAIN_MS = 150;
const PASSING: readonly ApiErrorClass[] = ['unavailable', 'retry-after', 'conflict', 'namespace-terminating'];

/** The cluster as people use it: who finds it away, or is refused for now, tries again until somebody has answered. */
export class InsistentCluster {
  readonly #cluster: TestCluster;
  readonly #leaving: AbortSignal;

  /** @param leaving once it is aborted, what waits for an answer fails with an AbortError */
  constructor(cluster: TestCluster, leaving: AbortSignal) {
    this.#cluster = cluster;
    this.#leaving = leaving;
  }

  /** The object, or undefined where there is none. */
  get<T extends KubernetesObject>(at: At): Promise<T | undefined> {
    return this.#insist(() => this.#cluster.get<T>(at));
  }

  list(type: PathType, of: Listed): Promise<readonly KubernetesObject[]> {
    return this.#insist(() => this.#cluster.list(type, of));
  }

  /** Waits until one of that name that is being deleted is gone. One that is there for good is left as it is. */
  async create(type: PathType, manifest: Manifest): Promise<void> {
    const { name, namespace } = manifest.metadata;
    for (;;) {
      if ((await this.createUnlessTaken(type, manifest)) !== undefined) return;
      const there = await this.get({ type, name, ...(namespace !== undefined && { namespace }) });
      if (there !== undefined && there.metadata.deletionTimestamp === undefined) return;
      await this.pause();
    }
  }

  /** @returns what was created; undefined: there is one of that name */
  createUnlessTaken(type: PathType, manifest: Manifest): Promise<KubernetesObject | undefined> {
    return this.#insist(() => undefinedIf('already-exists', this.#cluster.create(type, manifest)));
  }

  /** Does nothing where there is no such object. */
  async patch(at: At, body: object, subresource?: 'status'): Promise<void> {
    await this.#insist(() => undefinedIf('not-found', this.#cluster.patch(at, body, subresource)));
  }

  /** Does nothing where there is no such object. */
  async delete({ type, ...location }: At, propagationPolicy?: Propagation): Promise<void> {
    const path = resourcePath(type, location);
    const query = { gracePeriodSeconds: type.plural === 'namespaces' ? undefined : 0, propagationPolicy };
    await this.#insist(() =>
      undefinedIf('not-found', this.#cluster.client.request({ method: 'DELETE', path, query })),
    );
  }

  /** Until it may be worth another try. */
  async pause(): Promise<void> {
    await pause(TRY_AGAIN_MS, undefined, { signal: this.#leaving });
  }

  /** @throws what no other try would change */
  async #insist<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
      await this.pause();
    }
  }
}

/** A quota refuses what people create, too, until it is lifted. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (PASSING.includes(error.classification)) return true;
  return /exceeded quota|no API token found|serviceaccount .* not found|unable to create new content/.test(
    error.message,
  );
}
