import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readManifests } from '../../local/manifests.ts';
import { sampleName } from '../../local/samples.ts';

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
