import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { applyManifest, readManifests } from '../../local/manifests.ts';
import { manifestsIn } from '../../src/ask/plan/manifests.ts';
import { sampleName } from '../../local/samples.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'samples-'));
});

afterEach(() => rm(folder, { recursive: true }));

const manifest = (kind: string) =>
  `apiVersion: v1\nkind: ${kind}\nmetadata: { name: ${kind.toLowerCase()} }\n`;

describe('the samples', () => {
  it('begin with what others live in', async () => {
    await writeFile(join(folder, 'a.yaml'), `${manifest('Pod')}---\n${manifest('Namespace')}`);
    await writeFile(join(folder, 'b.yaml'), manifest('CustomResourceDefinition'));
    await writeFile(join(folder, 'README.md'), 'no sample');
    const kinds = (await readManifests(folder)).map(({ kind }) => kind);
    expect(kinds).toEqual(['CustomResourceDefinition', 'Namespace', 'Pod']);
  });

  it('are taken as kubectl takes them: .yml, JSON, lists, and documents of comments only', async () => {
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [parse(manifest('Pod')), parse(manifest('Secret'))],
    };
    await writeFile(join(folder, 'a.yml'), `${stringify(list)}---\n# the end\n`);
    await writeFile(join(folder, 'b.json'), JSON.stringify(parse(manifest('Service'))));
    await writeFile(join(folder, 'c.yaml'), '');
    const kinds = (await readManifests(folder)).map(({ kind }) => kind);
    expect(kinds).toEqual(['Pod', 'Secret', 'Service']);
  });

  it.each([
    ['kind: Pod\nmetadata: {}', 'a.yaml: document 1 needs apiVersion, kind and metadata.name'],
    [`${manifest('Pod')}---\njust text`, 'a.yaml: document 2 needs apiVersion'],
    ['a: [', 'a.yaml: Flow sequence in block collection'],
  ])('are named where they are none: %j', async (text, message) => {
    await writeFile(join(folder, 'a.yaml'), text);
    await expect(readManifests(folder)).rejects.toThrow(message);
  });

  it.each([
    ['Pod', true, { namespace: 'default', name: 'pod' }],
    ['Node', false, { name: 'node' }],
  ])('are in the namespace default where they name none: %s', async (kind, namespaced, location) => {
    const asked: RequestOptions[] = [];
    const client = {
      request: (options: RequestOptions) => {
        asked.push(options);
        const plural = `${kind.toLowerCase()}s`;
        return Promise.resolve(
          options.method === 'GET' ? { resources: [{ kind, name: plural, namespaced }] } : {},
        );
      },
    } as unknown as KubernetesClient;
    const [sample] = manifestsIn(manifest(kind), 'a file');
    if (sample === undefined) throw new Error('there is one');
    await applyManifest(client, sample, 'test');
    const path = resourcePath({ group: '', version: 'v1', plural: `${kind.toLowerCase()}s` }, location);
    expect(asked.at(-1)).toMatchObject({ path, body: { metadata: location } });
  });

  it('of the project are one for each controller, and the service that reaches the pod', async () => {
    expect((await readManifests(join(import.meta.dirname, '../../deploy/samples'))).map(sampleName)).toEqual([
      'Namespace team-1',
      'PodSet default/podset-sample',
      'Pod default/my-nginx',
      'Service default/my-nginx',
      'Xxx default/xxx-sample',
    ]);
  });
});
