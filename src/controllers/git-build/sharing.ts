import { warning, type DecisionEvent } from '../../contract/decision.ts';
import type { Sharer } from './observation.ts';
import type { Artifact } from './resource.ts';
import { isReported, listed, obsoleteArtifacts, recorded, without } from './status.ts';
import type { BuildView, PodView } from './views.ts';

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
): DecisionEvent {
  const others = sharers.filter(({ artifacts }) => sharedIn(shared, [{ artifacts }]).length > 0);
  const alsoAbout = others.slice(0, SHARERS_MAX);
  const cause = {
    reason: 'SharedBinary',
    message: `${nameOf(build)} leaves ${listed(shared)}: it is also the file of ${alsoAbout.map(nameOf).join(', ')}`,
    advice: ['give each its own binaryName, so that none overwrites the file of another'],
  };
  return { ...warning(cause, 'Clean', build.uid), alsoAbout };
}

function nameOf({ namespace, name }: Pick<Sharer, 'namespace' | 'name'>): string {
  return `Xxx ${namespace}/${name}`;
}
