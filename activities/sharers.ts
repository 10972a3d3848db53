import type { KubernetesList, KubernetesObject } from '../src/contract/object.ts';
import { BUILDS, PURPOSE_LABEL, type Artifact } from '../src/controllers/git-build/resource.ts';
import type { Sharer } from '../src/controllers/git-build/observation.ts';
import { mayShare, sharedWith } from '../src/controllers/git-build/sharing.ts';
import type { SpecOptions } from '../src/controllers/git-build/spec.ts';
import { buildView, podView, type BuildView, type PodView } from '../src/controllers/git-build/views.ts';
import { PODS } from '../src/controllers/kinds.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { eachPage, type Collection } from '../src/kubernetes/pages.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';

const REQUEST_TIMEOUT_MS = 5_000;

export interface Watched {
  readonly client: Pick<KubernetesClient, 'request'>;
  /** Those that the operator watches. Empty: all. */
  readonly namespaces: readonly string[];
  readonly options: SpecOptions;
}

/** A build, and files that it is to remove. */
export interface OwnFiles {
  readonly uid: string;
  readonly artifacts: readonly Artifact[];
}

/** Builds that may have one of some files, and the Pods of builds in their namespaces. */
interface Found {
  readonly builds: readonly BuildView[];
  readonly pods: readonly PodView[];
}

interface Reading {
  readonly artifacts: Artifact[];
  readonly found: Promise<Found>;
}

/**
 * Finds the other builds that have, or may have, the same files, and stay. A build that begins after they were read can still
 * lose its file, if it ends before the cleanup has run.
 *
 * One reading serves all who asked before it began, so a burst of deletions takes a few.
 */
export class Sharers {
  readonly #watched: Watched;
  #last: Promise<unknown> = Promise.resolve();
  #next: Reading | undefined;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** @throws ApiError */
  async of({ uid: own, artifacts }: OwnFiles): Promise<readonly Sharer[]> {
    const reading = (this.#next ??= this.#begin());
    reading.artifacts.push(...artifacts);
    const { builds, pods } = await reading.found;
    return builds.flatMap((build) => {
      const { namespace, name, uid } = build;
      const shared = uid === own ? [] : sharedWith(build, pods, artifacts);
      return shared.length === 0 ? [] : [{ namespace, name, uid, artifacts: shared }];
    });
  }

  /** After the last reading has ended. */
  #begin(): Reading {
    const artifacts: Artifact[] = [];
    const found = this.#last.then(() => {
      this.#next = undefined;
      return this.#read(artifacts);
    });
    this.#last = found.then(
      () => undefined,
      () => undefined,
    );
    return { artifacts, found };
  }

  async #read(artifacts: readonly Artifact[]): Promise<Found> {
    const { namespaces, options } = this.#watched;
    const builds: BuildView[] = [];
    for (const namespace of namespaces.length === 0 ? [undefined] : namespaces) {
      await this.#each({ path: resourcePath(BUILDS, { namespace }) }, (item) => {
        const view = buildView(item, options);
        if (mayShare(view, artifacts)) builds.push(view);
      });
    }
    // A build records where it runs only once it has ended.
    const pods: PodView[] = [];
    for (const namespace of new Set(builds.map((build) => build.namespace))) {
      const path = resourcePath(PODS, { namespace });
      await this.#each({ path, labelSelector: `${PURPOSE_LABEL}=build` }, (item) => {
        const view = podView(item);
        if (view !== undefined) pods.push(view);
      });
    }
    return { builds, pods };
  }

  #each(of: Omit<Collection, 'client'>, keep: (item: KubernetesObject) => void): Promise<void> {
    const onPage = ({ items }: KubernetesList) => items?.forEach(keep);
    const { client } = this.#watched;
    return eachPage({ client, ...of }, { onPage, timeoutMs: REQUEST_TIMEOUT_MS });
  }
}
