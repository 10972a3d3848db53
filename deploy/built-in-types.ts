import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResourceType } from '../src/api/resource-type.ts';
import { createKubernetesClient, type KubernetesClient } from '../src/kubernetes/client.ts';
import { loadKubeConfig } from '../src/kubernetes/config.ts';

/*
 * Writes src/api/built-in.ts from what an API server says that it serves: `KUBECONFIG=… node deploy/built-in-types.ts`. A test compares
 * the file with the API server of the local stack.
 */

export const BUILT_IN_FILE = join(import.meta.dirname, '../src/api/built-in.ts');

const HEAD = `import type { ResourceType } from './resource-type.ts';

/*
 * The types of Kubernetes' own, at their stable versions. Written by deploy/built-in-types.ts. Any other type is written in the same way:
 * \`{ group: 'gateway.networking.k8s.io', version: 'v1', plural: 'httproutes', kind: 'HTTPRoute', namespaced: true }\`.
 */
`;

interface Discovered {
  /** The plural, or \`pods/status\`. */
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
}

interface Group {
  readonly name: string;
  /** The one that the server prefers first. */
  readonly versions: readonly { readonly version: string }[];
}

/** The text of the file. */
export async function builtInTypes(client: Pick<KubernetesClient, 'request'>): Promise<string> {
  const { groups } = await client.request<{ groups: readonly Group[] }>({ method: 'GET', path: '/apis' });
  const stable = groups.filter(({ name }) => isBuiltIn(name)).flatMap(stableOf);
  const served = [{ group: '', version: 'v1' }, ...stable];
  const types = (await Promise.all(served.map((each) => typesOf(client, each)))).flat();
  const lines = new Map(types.map((type) => [constantOf(type), type] as const).filter(isFirst));
  return [HEAD, ...[...lines].sort(byName).map(lineOf)].join('\n') + '\n';
}

/** The groups of custom resources have a domain of somebody else. */
function isBuiltIn(group: string): boolean {
  return !group.includes('.') || group.endsWith('.k8s.io');
}

function stableOf({ name, versions }: Group) {
  const stable = versions.find(({ version }) => /^v\d+$/.test(version));
  return stable === undefined ? [] : [{ group: name, version: stable.version }];
}

async function typesOf(
  client: Pick<KubernetesClient, 'request'>,
  { group, version }: Pick<ResourceType, 'group' | 'version'>,
): Promise<readonly ResourceType[]> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const { resources } = await client.request<{ resources: readonly Discovered[] }>({ method: 'GET', path });
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map(({ name, kind, namespaced, shortNames }) => ({
      ...{ group, version, plural: name, kind, namespaced },
      ...(shortNames && { shortNames }),
    }));
}

/** `CSIDriver`, whose plural is `csidrivers`, is `CSI_DRIVERS`. */
function constantOf({ kind, plural }: ResourceType): string {
  const words = kind.match(/[A-Z]+(?![a-z])|[A-Z][a-z]+/g) ?? [];
  const before = words.slice(0, -1);
  return [...before, plural.slice(before.join('').length)].join('_').toUpperCase();
}

/** Events are of two groups, of which events.k8s.io is the newer one. */
function isFirst([, { group, kind }]: readonly [string, ResourceType]): boolean {
  return kind !== 'Event' || group !== '';
}

function byName([one]: readonly [string, ResourceType], [other]: readonly [string, ResourceType]): number {
  return one < other ? -1 : 1;
}

function lineOf([name, { group, version, plural, kind, namespaced, shortNames }]: readonly [
  string,
  ResourceType,
]) {
  const short =
    shortNames === undefined ? '' : `, shortNames: [${shortNames.map((each) => `'${each}'`).join(', ')}]`;
  return `export const ${name}: ResourceType = { group: '${group}', version: '${version}', plural: '${plural}', kind: '${kind}', namespaced: ${namespaced}${short} };`;
}

if (import.meta.main)
  await writeFile(
    BUILT_IN_FILE,
    await builtInTypes(createKubernetesClient(loadKubeConfig({ env: process.env }))),
  );
