import { cp, mkdtemp, rm, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { buildPrograms } from '../../local/build.ts';
import { kustomized, kustomizedBy } from '../support/delivered.ts';

const ROOT = join(import.meta.dirname, '../..');

jest.setTimeout(1_200_000);

let programs: Readonly<Record<'kubectl' | 'kustomize', string>>;
let deploy: string;

beforeAll(async () => {
  programs = await buildPrograms(['kubectl', 'kustomize'], {});
  deploy = await mkdtemp(join(tmpdir(), 'durable-operator-deploy-'));
  await cp(join(ROOT, 'deploy'), deploy, { recursive: true });
});

afterAll(() => rm(deploy, { recursive: true }));

describe('the oldest Kustomize that is supported', () => {
  it.each(['base', 'default', 'overlays/split', 'overlays/namespaced', 'overlays/versioned'])(
    'makes of %s what the newest does, under other names, too',
    async (included) => {
      const folder = join(deploy, `${included.replace('/', '-')}-elsewhere`);
      await mkdir(folder);
      const kustomization = `resources: [../${included}]\nnamespace: elsewhere\nnamePrefix: own-\n`;
      await writeFile(join(folder, 'kustomization.yaml'), kustomization);
      const byNewest = await kustomized(programs.kubectl, folder);
      expect(byNewest.length).toBeGreaterThan(10);
      expect(await kustomizedBy(programs.kustomize, folder)).toEqual(byNewest);
    },
  );
});
