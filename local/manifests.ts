import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { z } from 'zod';
import { manifestsIn } from '../src/ask/plan/manifests.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import type { KubernetesClient } from '../src/kubernetes/client.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { resourcePath, type PathType } from '../src/kubernetes/paths.ts';

/** A Kubernetes object as a file describes it. */
export interface ManifestDocument {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
  readonly spec?: unknown;
}

/** A manifest, and the object that the API server has made of it. */
export interface AppliedManifest {
  readonly type: PathType;
  readonly manifest: ManifestDocument;
  readonly object: KubernetesObject;
  /** In the server's words: the fields of others that it has changed. */
  readonly overwrote?: string;
  /** By the clock of `performance`. */
  readonly appliedAtMs: number;
}

/** As of `kubectl apply -f`. */
const EXTENSIONS: readonly string[] = ['.yaml', '.yml', '.json'];

/**
 * Every object in the folder's files, as `kubectl apply -f` takes them; CustomResourceDefinitions and Namespaces come first.
 *
 * @throws AskProblem that names a file with something else
 */
export async function readManifests(folder: string): Promise<ManifestDocument[]> {
  const files = (await readdir(folder)).filter((file) => EXTENSIONS.includes(extname(file))).sort();
  const manifests = await Promise.all(
    files.map(async (file) => manifestsIn(await readFile(join(folder, file), 'utf8'), join(folder, file))),
  );
  return manifests.flat().sort((a, b) => rank(a) - rank(b));
}

const FIRST_KINDS = ['CustomResourceDefinition', 'Namespace'];

function rank({ kind }: ManifestDocument): number {
  const position = FIRST_KINDS.indexOf(kind);
  return position === -1 ? FIRST_KINDS.length : position;
}

/**
 * Creates or changes the object by server-side apply. Safe to repeat. What others have changed of these fields is changed back.
 * The namespace is `default` where the manifest names none.
 *
 * @throws ApiError
 */
export async function applyManifest(
  client: KubernetesClient,
  given: ManifestDocument,
  fieldManager: string,
): Promise<AppliedManifest> {
  const type = await typeOf(client, given);
  const { name, namespace = 'default' } = given.metadata;
  const place = { name, namespace: type.namespaced ? namespace : undefined };
  const manifest = { ...given, metadata: { ...given.metadata, ...place } };
  const appliedAtMs = performance.now();
  const apply = (force: boolean) =>
    client.request<KubernetesObject>({
      method: 'PATCH',
      path: resourcePath(type, place),
      query: { fieldManager, ...(force && { force }) },
      body: manifest,
      contentType: 'application/apply-patch+yaml',
    });
  const applied = { type, manifest, appliedAtMs };
  try {
    return { ...applied, object: await apply(false) };
  } catch (error) {
    // Another manager has set a field; or somebody wrote in between.
    if (!(error instanceof ApiError && error.status === 409)) throw error;
    return { ...applied, object: await apply(true), overwrote: error.words };
  }
}

type ManifestType = PathType & { readonly namespaced: boolean };

/** A manifest does not name the plural of its kind, so discovery is asked. */
export async function typeOf(
  client: KubernetesClient,
  { apiVersion, kind }: Pick<ManifestDocument, 'apiVersion' | 'kind'>,
): Promise<ManifestType> {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const resources = await apiResources(client, { group, version });
  const found = resources.find((resource) => resource.kind === kind && !resource.name.includes('/'));
  if (found === undefined) throw new Error(`the API server does not know ${apiVersion} ${kind}`);
  return { group, version, plural: found.name, namespaced: found.namespaced };
}

const ApiResource = z.object({ name: z.string(), kind: z.string(), namespaced: z.boolean() });
const ApiResources = z.object({ resources: z.array(ApiResource) });

/** The resources of a version of an API group. @throws ApiError: `api-missing` if there is none */
export async function apiResources(
  client: KubernetesClient,
  { group, version }: Omit<PathType, 'plural'>,
): Promise<z.infer<typeof ApiResource>[]> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return ApiResources.parse(await client.request({ method: 'GET', path })).resources;
}
