import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError, type ApiErrorClass } from '../src/kubernetes/errors.ts';
import { resourcePath, type ResourceType } from '../src/kubernetes/paths.ts';
import { applyManifest, readManifests, resourcesIn, type Manifest } from './manifests.ts';
import { ROOT } from './root.ts';

/** The CustomResourceDefinitions of the operator, in a checkout as in the package. */
export const CRDS = join(ROOT, 'deploy/crd');

const FIELD_MANAGER = 'durable-operator-crds';
const WITHIN_MS = 60_000;
const INTERVAL_MS = 50;

/** The cluster does not have our kinds of resources. The message says which, and what to do. */
export class CustomResourcesMissing extends Error {
  override readonly name = 'CustomResourcesMissing';
}

/** Who may not apply them need not, where somebody else has. */
export type CustomResources = 'applied' | 'there already';

/**
 * Applies the CRDs, and waits until the API server serves what they define. Safe to repeat.
 *
 * @throws CustomResourcesMissing, ApiError, or the signal's reason
 */
export async function applyCustomResources(
  cluster: KubernetesClient,
  signal?: AbortSignal,
): Promise<CustomResources> {
  const manifests = await readManifests(CRDS);
  try {
    for (const manifest of manifests) await applyManifest(cluster, manifest, FIELD_MANAGER);
  } catch (error) {
    if (!(error instanceof ApiError && error.classification === 'access-denied')) throw error;
    await requireServed(cluster, manifests, error);
    return 'there already';
  }
  await Promise.all(manifests.map((manifest) => untilServed(cluster, manifest, signal)));
  return 'applied';
}

async function requireServed(
  cluster: KubernetesClient,
  manifests: readonly Manifest[],
  denied: ApiError,
): Promise<void> {
  for (const manifest of manifests) {
    if (await isServed(cluster, typeDefinedBy(manifest))) continue;
    throw new CustomResourcesMissing(
      `${manifest.metadata.name} is not on the cluster, and you may not apply it; ask an administrator for: kubectl apply -f deploy/crd (${denied.message})`,
      { cause: denied },
    );
  }
}

async function untilServed(
  cluster: KubernetesClient,
  manifest: Manifest,
  signal: AbortSignal | undefined,
): Promise<void> {
  const type = typeDefinedBy(manifest);
  const deadline = performance.now() + WITHIN_MS;
  while (!(await isServed(cluster, type))) {
    if (performance.now() > deadline) throw notServed(manifest);
    await pause(INTERVAL_MS, undefined, { signal });
  }
}

function notServed({ metadata: { name } }: Manifest): CustomResourcesMissing {
  return new CustomResourcesMissing(
    `the API server does not serve ${name}, ${WITHIN_MS / 1000} s after it was applied; its conditions say why: kubectl describe crd ${name}`,
  );
}

/** Discovery names it once it is Established; requests for it may be answered a moment earlier or later. */
async function isServed(cluster: KubernetesClient, type: ResourceType): Promise<boolean> {
  try {
    const resources = await resourcesIn(cluster, type);
    if (!resources.some(({ name }) => name === type.plural)) return false;
    await cluster.request({ method: 'GET', path: resourcePath(type), query: { limit: 1 } });
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return meansServed(error);
  }
}

function meansServed(error: ApiError): boolean {
  // It is there, though not for us to read.
  if (error.classification === 'access-denied') return true;
  if (NOT_YET.includes(error.classification)) return false;
  throw error;
}

const NOT_YET: readonly ApiErrorClass[] = ['api-missing', 'unavailable', 'retry-after'];

const Definition = z.object({
  spec: z.object({
    group: z.string(),
    names: z.object({ plural: z.string() }),
    versions: z.tuple([z.object({ name: z.string() })]),
  }),
});

function typeDefinedBy(manifest: Manifest): ResourceType {
  const { group, names, versions } = Definition.parse(manifest).spec;
  return { group, version: versions[0].name, plural: names.plural };
}
