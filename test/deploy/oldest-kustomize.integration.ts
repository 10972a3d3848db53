import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { buildPrograms } from '../../local/build.ts';
import { kustomized, kustomizedBy } from '../support/delivered.ts';
import { addKustomization, copyOfDeploy } from '../support/deploy-copy.ts';

jest.setTimeout(1_200_000);

let programs: Readonly<Record<'kubectl' | 'kustomize', string>>;
let deploy: string;

beforeAll(async () => {
  programs = await buildPrograms(['kubectl', 'kustomize'], {});
  deploy = await copyOfDeploy();
});

afterAll(() => rm(deploy, { recursive: true }));

describe('the oldest Kustomize that is supported', () => {
  it.each(['base', 'default', 'overlays/split', 'overlays/namespaced', 'overlays/versioned'])(
    'makes of %s what the newest does, under other names, too',
    async (included) => {
      const folder = `${included}-elsewhere`;
      await addKustomization(deploy, folder, { included, more: 'namespace: elsewhere\nnamePrefix: own-\n' });
      const byNewest = await kustomized(programs.kubectl, join(deploy, folder));
      expect(byNewest.length).toBeGreaterThan(10);
      expect(await kustomizedBy(programs.kustomize, join(deploy, folder))).toEqual(byNewest);
    },
  );
});
