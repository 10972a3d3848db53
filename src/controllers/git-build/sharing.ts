import { inOneLine, PODS, type DecidedEvent, type KubeReader } from '../../api/index.ts';
import { listed, obsoleteArtifacts, recorded, without } from './artifacts.ts';
import { isReported, listedBuildView, type BuildView, type Sharer } from './facts.ts';
import { BUILDS, PURPOSE_LABEL, type Artifact } from './kind.ts';
import type { SpecOptions } from './spec.ts';
import { podView, type PodView } from './views.ts';

/** Builds that may have one of some files, and the Pods of builds in their namespaces. */
interface Found {
  readonly builds: readonly BuildView[];
  readonly pods: readonly PodView[];
}

interface Reading {
  readonly artifacts: Artifact[];
  readonly found: Promise<Found>;
}

/** A build that asks. */
interface Asking {
  readonly uid: string;
  readonly artifacts: readonly Artifact[];
  readonly kube: KubeReader;
  readonly signal: AbortSignal;
}

/**
 * Finds the other builds that have, or may have, the same files, and stay. A build that begins after they were read can still
 * lose its file, if it ends before the cleanup has run.
 *
 * One reading serves all who asked before it began, so a burst of deletions takes a few.
 */
export class Sharers {
  readonly #options: SpecOptions;
  readonly #namespaces: readonly string[];
  #last: Promise<unknown> = Promise.resolve();
  #next: Reading | undefined;

  /** @param namespaces that the operator watches. Empty: all */
  constructor(options: SpecOptions, namespaces: readonly string[]) {
    this.#options = options;
    this.#namespaces = namespaces;
  }

  async of(asking: Asking): Promise<readonly Sharer[]> {
    const { uid: own, artifacts, signal } = asking;
    const isFirst = this.#next === undefined;
    const reading = (this.#next ??= this.#begin(asking));
    reading.artifacts.push(...artifacts);
    const found = await reading.found.catch((error: unknown) => {
      // The attempt that read for all was asked to end.
      if (isFirst || signal.aborted) throw error;
      return undefined;
    });
    if (found === undefined) return this.of(asking);
    const { builds, pods } = found;
    return builds.flatMap((build) => {
      const { namespace, name, uid } = build;
      const shared = uid === own ? [] : sharedWith(build, pods, artifacts);
      return shared.length === 0 ? [] : [{ namespace, name, uid, artifacts: shared }];
    });
  }

  /** After the last reading has ended. */
  #begin({ kube }: Asking): Reading {
    const artifacts: Artifact[] = [];
    const found = this.#last.then(() => {
      this.#next = undefined;
      return this.#read(kube, artifacts);
    });
    this.#last = found.then(
      () => undefined,
      () => undefined,
    );
    return { artifacts, found };
  }

  async #read(kube: KubeReader, artifacts: readonly Artifact[]): Promise<Found> {
    const builds: BuildView[] = [];
    for (const namespace of this.#namespaces.length === 0 ? [undefined] : this.#namespaces) {
      const selection = namespace === undefined ? {} : { namespace };
      const all = await kube.list(BUILDS, selection, (object) => {
        const view = listedBuildView(object, this.#options);
        return mayShare(view, artifacts) ? view : undefined;
      });
      builds.push(...all);
    }
    // A build records where it runs only once it has started there.
    const pods: PodView[] = [];
    for (const namespace of new Set(builds.map((build) => build.namespace)))
      pods.push(...(await kube.list(PODS, { namespace, labelSelector: `${PURPOSE_LABEL}=build` }, podView)));
    return { builds, pods };
  }
}

/** Whether it stays, and has a binary of one of these names somewhere. */
export function mayShare({ deleting, spec, status }: BuildView, artifacts: readonly Artifact[]): boolean {
  if (deleting) return false;
  const binaries = (status.artifacts ?? []).map(({ binary }) => binary);
  if (spec.ok) binaries.push(spec.spec.binaryName);
  return artifacts.some(({ binary }) => binaries.includes(binary));
}

/**
 * Those of these files that a build has, or may have. What an earlier spec of it has left is not among them once it removes
 * that itself. Of two builds that are being deleted, each sees it of the other, so the later one removes the file.
 *
 * @param pods of any builds
 */
export function sharedWith(
  build: BuildView,
  pods: readonly PodView[],
  artifacts: readonly Artifact[],
): readonly Artifact[] {
  const own = pods.filter(({ buildUid }) => buildUid === build.uid);
  const obsolete = isReported(build, 'Succeeded') ? obsoleteArtifacts(build) : [];
  const its = without(recorded(build, own), obsolete);
  return without(artifacts, without(artifacts, its));
}

/** Those that stay for others. */
export function sharedIn(
  artifacts: readonly Artifact[],
  sharers: readonly Pick<Sharer, 'artifacts'>[],
): readonly Artifact[] {
  const theirs = sharers.flatMap((each) => each.artifacts);
  return without(artifacts, without(artifacts, theirs));
}

/** So many of them get the Event. */
const SHARERS_MAX = 5;

/** All of them read the same. */
export function sharedEvent(
  build: BuildView,
  shared: readonly Artifact[],
  sharers: readonly Sharer[],
): DecidedEvent {
  const others = sharers.filter(({ artifacts }) => sharedIn(shared, [{ artifacts }]).length > 0);
  const alsoAbout = others
    .slice(0, SHARERS_MAX)
    .map(({ namespace, name, uid }) => ({ namespace, name, uid }));
  const cause = {
    reason: 'SharedBinary',
    message: `${nameOf(build)} leaves ${listed(shared)}: it is also the file of ${alsoAbout.map(nameOf).join(', ')}`,
    advice: ['give each its own binaryName, so that none overwrites the file of another'],
  };
  return { type: 'Warning', reason: cause.reason, action: 'Clean', message: inOneLine(cause), alsoAbout };
}

function nameOf({ namespace, name }: Pick<Sharer, 'namespace' | 'name'>): string {
  return `Xxx ${namespace}/${name}`;
}
