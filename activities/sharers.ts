import type { KubernetesObject } from '../src/contract/object.ts';
import { BUILDS, PURPOSE_LABEL, type Artifact } from '../src/controllers/git-build/resource.ts';
import type { Sharer } from '../src/controllers/git-build/observation.ts';
import { mayShare, sharedWith } from '../src/controllers/git-build/sharing.ts';
import type { SpecOptions } from '../src/controllers/git-build/spec.ts';
import { buildView, podView, type BuildView, type PodView } from '../src/controllers/git-build/views.ts';
import { PODS } from '../src/controllers/kinds.ts';
import type { ObjectClient } from '../src/kubernetes/kube.ts';

export interface SharedScope {
  readonly kube: Pick<ObjectClient, 'list'>;
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
  readonly #watched: SharedScope;
  #last: Promise<unknown> = Promise.resolve();
  #next: Reading | undefined;

  constructor(watched: SharedScope) {
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
    const { kube, namespaces, options } = this.#watched;
    const builds: BuildView[] = [];
    for (const namespace of namespaces.length === 0 ? [undefined] : namespaces) {
      const sharing = (object: KubernetesObject) => {
        const view = buildView(object, options);
        return mayShare(view, artifacts) ? view : undefined;
      };
      builds.push(...(await kube.list({ type: BUILDS, namespace }, sharing)));
    }
    // A build records where it runs only once it has ended.
    const pods: PodView[] = [];
    for (const namespace of new Set(builds.map((build) => build.namespace)))
      pods.push(...(await kube.list({ type: PODS, namespace, labelSelector: BUILDS_ONLY }, podView)));
    return { builds, pods };
  }
}

const BUILDS_ONLY = `${PURPOSE_LABEL}=build`;
