import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { KubernetesObject } from '../src/contract/object.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { resourcePath, type PathType } from '../src/kubernetes/paths.ts';

const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

/** A Kubernetes object as a file describes it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
  readonly spec?: unknown;
}

/** A manifest, and the object that the API server has made of it. */
export interface AppliedManifest {
  readonly type: PathType;
  readonly manifest: Manifest;
  readonly object: KubernetesObject;
  /** By the clock of `performance`. */
  readonly appliedAtMs: number;
}

/** Every object in the folder's YAML files; CustomResourceDefinitions and Namespaces come first. */
export async function readManifests(folder: string): Promise<Manifest[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml')).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return texts.flatMap(manifestsIn).sort((a, b) => rank(a) - rank(b));
}

export function manifestsIn(yaml: string): Manifest[] {
  return parseAllDocuments(yaml).map((document) => Manifest.parse(document.toJS()));
}

const FIRST_KINDS = ['CustomResourceDefinition', 'Namespace'];

function rank({ kind }: Manifest): number {
  const position = FIRST_KINDS.indexOf(kind);
  return position === -1 ? FIRST_KINDS.length : position;
}

/**
 * Creates or changes the object by server-side apply. Safe to repeat; it takes no field from anybody else.
 *
 * @throws ApiError
 */
export async function applyManifest(
  client: KubernetesClient,
  manifest: Manifest,
  fieldManager: string,
): Promise<AppliedManifest> {
  const type = await typeOf(client, manifest);
  const { name, namespace } = manifest.metadata;
  const appliedAtMs = performance.now();
  const object = await client.request<KubernetesObject>({
    method: 'PATCH',
    path: resourcePath(type, { name, namespace }),
    query: { fieldManager },
    body: manifest,
    contentType: 'application/apply-patch+yaml',
  });
  return { type, manifest, object, appliedAtMs };
}

/** A manifest does not name the plural of its kind, so discovery is asked. */
export async function typeOf(
  client: KubernetesClient,
  { apiVersion, kind }: Pick<Manifest, 'apiVersion' | 'kind'>,
): Promise<PathType> {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const resources = await apiResources(client, { group, version });
  const found = resources.find((resource) => resource.kind === kind && !resource.name.includes('/'));
  if (found === undefined) throw new Error(`the API server does not know ${apiVersion} ${kind}`);
  return { group, version, plural: found.name };
}

const ApiResources = z.object({ resources: z.array(z.object({ name: z.string(), kind: z.string() })) });

/** The resources of a version of an API group. @throws ApiError: `api-missing` if there is none */
export async function apiResources(
  client: KubernetesClient,
  { group, version }: Omit<PathType, 'plural'>,
): Promise<{ name: string; kind: string }[]> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return ApiResources.parse(await client.request({ method: 'GET', path })).resources;
}
