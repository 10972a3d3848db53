import { join } from 'node:path';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { applyManifest, readManifests, type AppliedManifest, type Manifest } from './manifests.ts';
import { packageRoot } from './package-root.ts';

/** A sample as the API server has it. */
export type AppliedSample = AppliedManifest;

export const SAMPLES = join(packageRoot(), 'deploy', 'samples');

const FIELD_MANAGER = 'durable-operator-samples';

/** Applies every sample, in the order in which they need each other. Safe to repeat. @throws ApiError */
export async function applySamples(cluster: KubernetesClient): Promise<AppliedSample[]> {
  const applied: AppliedSample[] = [];
  for (const manifest of await readManifests(SAMPLES)) {
    applied.push(await applyManifest(cluster, manifest, FIELD_MANAGER));
  }
  return applied;
}

/** `Pod default/my-nginx` */
export function sampleName({ kind, metadata: { name, namespace } }: Manifest): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
