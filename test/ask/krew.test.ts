import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

const read = (file: string) => readFile(new URL(`../../${file}`, import.meta.url), 'utf8');

const Manifest = z.object({
  apiVersion: z.literal('krew.googlecontainertools.github.com/v1alpha2'),
  kind: z.literal('Plugin'),
  metadata: z.object({ name: z.literal('durable') }),
  spec: z.object({
    version: z.string().regex(/^v\d/),
    homepage: z.url(),
    shortDescription: z.string().max(50),
    description: z.string(),
    platforms: z
      .array(
        z.object({
          uri: z.url(),
          sha256: z.string().regex(/^[0-9a-f]{64}$/),
          bin: z.string(),
          selector: z.object({}).loose(),
          files: z.array(z.object({ from: z.string(), to: z.string() })).min(1),
        }),
      )
      .min(1),
  }),
});

const Package = z.object({ version: z.string(), bin: z.record(z.string(), z.string()) });

describe('the krew manifest', () => {
  it('is of the version of the package, and of its plugin', async () => {
    const { version, bin } = Package.parse(JSON.parse(await read('package.json')));
    const { spec } = Manifest.parse(parse(await read('deploy/krew/durable.yaml')));
    expect(spec.version).toBe(`v${version}`);
    expect(spec.platforms.map((platform) => platform.bin)).toEqual([bin['kubectl-durable']]);
  });
});
