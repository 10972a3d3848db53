import { setTimeout as pause } from 'node:timers/promises';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError, type ApiErrorClass } from '../src/kubernetes/errors.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { Definition } from '../src/program/generate/field-schema.ts';
import { applyManifest, apiResources, type ManifestDocument } from './manifests.ts';
import { sayOverwritten } from './samples.ts';

const FIELD_MANAGER = 'durable-operator-crds';
const WITHIN_MS = 60_000;
const INTERVAL_MS = 50;

/** The cluster does not have the CustomResourceDefinitions. The message says which, and what to do. */
export class CustomResourcesMissing extends Error {
  override readonly name = 'CustomResourcesMissing';
}

/** `there already`: this user is not allowed to apply them, but somebody else has. */
export type CustomResources = 'applied' | 'there already';

interface Applying {
  readonly signal?: AbortSignal;
  readonly say?: (line: string) => void;
}

/**
 * Applies the CustomResourceDefinitions, and waits until the API server serves their resources. Safe to repeat.
 *
 * @throws CustomResourcesMissing, ApiError, or the signal's reason
 */
export async function applyCustomResources(
  cluster: KubernetesClient,
  manifests: readonly ManifestDocument[],
  { signal, say = () => undefined }: Applying = {},
): Promise<CustomResources> {
  try {
    for (const manifest of manifests)
      sayOverwritten(await applyManifest(cluster, manifest, FIELD_MANAGER), say);
  } catch (error) {
    if (!(error instanceof ApiError && error.classification === 'access-denied')) throw error;
    for (const manifest of manifests) await requireServed(cluster, manifest, error);
    return 'there already';
  }
  for (const manifest of manifests) await untilServed(cluster, manifest, signal);
  return 'applied';
}

async function requireServed(
  cluster: KubernetesClient,
  manifest: ManifestDocument,
  denied: ApiError,
): Promise<void> {
  if (await isServed(cluster, manifest)) return;
  throw new CustomResourcesMissing(
    `${manifest.metadata.name} is not on the cluster, and you may not apply it; ask an administrator for: kubectl apply -f deploy/crd (${denied.message})`,
    { cause: denied },
  );
}

async function untilServed(
  cluster: KubernetesClient,
  manifest: ManifestDocument,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name } = manifest.metadata;
  const deadline = performance.now() + WITHIN_MS;
  while (!(await isServed(cluster, manifest))) {
    if (performance.now() > deadline) {
      throw new CustomResourcesMissing(
        `${name} is not served ${WITHIN_MS / 1000} s after it was applied; see its conditions: kubectl describe crd ${name}`,
      );
    }
    await pause(INTERVAL_MS, undefined, { signal });
  }
}

/** Discovery and requests may succeed at different moments, so both are tried. */
async function isServed(cluster: KubernetesClient, manifest: ManifestDocument): Promise<boolean> {
  const { group, names, versions } = Definition.parse(manifest).spec;
  const type = { group, version: versions[0]?.name ?? '', plural: names.plural };
  try {
    const resources = await apiResources(cluster, type);
    if (!resources.some(({ name }) => name === type.plural)) return false;
    await cluster.request({ method: 'GET', path: resourcePath(type), query: { limit: 1 } });
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Its resources exist, although this user may not read them.
    if (error.classification === 'access-denied') return true;
    if (NOT_YET.includes(error.classification)) return false;
    throw error;
  }
}

const NOT_YET: readonly ApiErrorClass[] = ['api-missing', 'unavailable', 'retry-after'];
