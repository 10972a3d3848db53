import { expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

const read = (file: string) => readFile(new URL(`../../${file}`, import.meta.url), 'utf8');

const Package = z.object({ version: z.string(), bin: z.record(z.string(), z.string()) });
const Manifest = z.object({
  spec: z.object({ version: z.string(), platforms: z.array(z.object({ bin: z.string() })) }),
});

it('the krew manifest is of the version of the package, and of its plugin', async () => {
  const { version, bin } = Package.parse(JSON.parse(await read('package.json')));
  const { spec } = Manifest.parse(parse(await read('deploy/krew/durable.yaml')));
  expect(spec.version).toBe(`v${version}`);
  expect(spec.platforms).toEqual([{ bin: bin['kubectl-durable'] }]);
});
