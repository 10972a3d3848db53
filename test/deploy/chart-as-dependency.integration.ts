import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { charted, RELEASE } from '../support/delivered.ts';
import { generated } from '../support/generated.ts';

/* The charts as a part of another one, which may leave them out. Only Helm is needed, and no cluster. */

jest.setTimeout(1_200_000);

const NAME = 'durable-operator';
let parent: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'durable-operator-parent-'));
  const dependency = { name: NAME, version: packageJson.version, condition: `${NAME}.enabled` };
  const chart = { apiVersion: 'v2', name: 'parent', version: '1.0.0', dependencies: [dependency] };
  await writeFile(join(parent, 'Chart.yaml'), stringify(chart));
  await mkdir(join(parent, 'charts'));
});

afterEach(() => rm(parent, { recursive: true }));

describe.each([
  ['the chart', () => Promise.resolve(RELEASE.chart)],
  ["an author's chart", async () => join(await generated(NAME), 'deploy/chart')],
])('%s', (_, chart) => {
  it.each([
    [true, ['Deployment']],
    [false, []],
  ])('is there if its parent says enabled: %s', async (enabled, expected) => {
    await cp(await chart(), join(parent, 'charts', NAME), { recursive: true });
    const values = [`enabled=${enabled}`, 'controllers={pod-label}'].map((value) => `${NAME}.${value}`);
    const objects = await charted([...values, 'global.registry=example.com'], { chart: parent });
    expect(objects.map(({ kind }) => kind).filter((kind) => kind === 'Deployment')).toEqual(expected);
  });
});
