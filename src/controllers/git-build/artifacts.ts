import type { BuildView } from './facts.ts';
import type { Artifact } from './kind.ts';
import type { PodView } from './views.ts';

/*
 * Which binaries are, or may be, on which nodes.
 */

/** Each once, sorted. The same list if there is nothing to add. */
export function united(some: readonly Artifact[], others: readonly Artifact[]): readonly Artifact[] {
  const added = others.filter((other, index) => !holds(some, other) && !holds(others.slice(0, index), other));
  return added.length === 0 ? some : [...some, ...added].sort(byNodeAndBinary);
}

export function without(some: readonly Artifact[], others: readonly Artifact[]): readonly Artifact[] {
  return some.filter((each) => !holds(others, each));
}

function holds(artifacts: readonly Artifact[], { node, binary }: Artifact): boolean {
  return artifacts.some((each) => each.node === node && each.binary === binary);
}

function byNodeAndBinary(a: Artifact, b: Artifact): number {
  return compare(a.node, b.node) || compare(a.binary, b.binary);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A binary may be wherever a Pod of a build ran, or may run by now. */
function artifactsOf(pods: readonly PodView[]): readonly Artifact[] {
  return pods.filter(mayHaveWritten).map(({ node, binary }) => ({ node, binary }));
}

/** A Pod on a node may have started since it was read, unless the kubelet says what prevents it. */
function mayHaveWritten({ purpose, node, binary, started, phase, trouble }: PodView): boolean {
  if (purpose !== 'build' || node === '' || binary === '') return false;
  return started || (phase === 'unfinished' && trouble === undefined);
}

const NOTHING: readonly Artifact[] = [];

/** The artifacts of the status, and those that these Pods add. */
export function recorded(
  { status }: Pick<BuildView, 'status'>,
  pods: readonly PodView[],
): readonly Artifact[] {
  return united(status.artifacts ?? NOTHING, artifactsOf(pods));
}

/** What an earlier spec has left on nodes. */
export function obsoleteArtifacts({ spec, status }: Pick<BuildView, 'spec' | 'status'>): readonly Artifact[] {
  if (!spec.ok) return [];
  return (status.artifacts ?? []).filter(({ binary }) => binary !== spec.spec.binaryName);
}

/** `helloworld on node-1, node-2` */
export function listed(artifacts: readonly Artifact[]): string {
  const binaries = [...new Set(artifacts.map(({ binary }) => binary))];
  const nodesOf = (name: string) => artifacts.filter(({ binary }) => binary === name).map(({ node }) => node);
  return binaries.map((binary) => `${binary} on ${nodesOf(binary).join(', ')}`).join('; ');
}
