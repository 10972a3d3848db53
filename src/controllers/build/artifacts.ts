import type { BuildView } from './build-view.ts';
import type { PodView } from './pod-view.ts';
import type { Artifact } from './resource.ts';
import { united } from './status.ts';

/** What an earlier spec has left on nodes. */
export function obsoleteArtifacts({ spec, status }: BuildView): readonly Artifact[] {
  if (!spec.ok) return [];
  return (status.artifacts ?? []).filter(({ binary }) => binary !== spec.spec.binaryName);
}

const NOTHING: readonly Artifact[] = [];

/** Where something of a build ran, its binary may be. */
export function artifactsOf(pods: readonly PodView[]): readonly Artifact[] {
  return united(
    [],
    pods
      .filter(({ purpose, started, binary }) => purpose === 'build' && started && binary !== '')
      .map(({ node, binary }) => ({ node, binary })),
  );
}

/** What is recorded, and what the Pods tell besides; the very same list where that is nothing. */
export function recorded({ status }: BuildView, pods: readonly PodView[]): readonly Artifact[] {
  return united(status.artifacts ?? NOTHING, artifactsOf(pods));
}

export function isUnfinishedBuild({ purpose, phase }: PodView): boolean {
  return purpose === 'build' && phase === 'unfinished';
}

/** What is said of Pods that run on without their Job, which the operator may not delete. */
export function straysMessage(strays: readonly PodView[]): string {
  const names = strays.map(({ name }) => name).join(', ');
  return `Pods without their Job still run: ${names}; delete them, or wait until their deadline`;
}

/** `helloworld on node-1, node-2` */
export function listed(artifacts: readonly Artifact[]): string {
  const binaries = [...new Set(artifacts.map(({ binary }) => binary))];
  const nodesOf = (name: string) => artifacts.filter(({ binary }) => binary === name).map(({ node }) => node);
  return binaries.map((binary) => `${binary} on ${nodesOf(binary).join(', ')}`).join('; ');
}
