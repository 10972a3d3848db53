import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildPrograms } from '../../local/build.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { definitionsOf } from '../../src/program/generate/field-schema.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { NAMESPACES, uniqueName } from '../support/cluster.ts';
import { RELEASE } from '../support/delivered.ts';
import { setUpStage } from '../support/stage.ts';

/* A release on a cluster that has the custom resource definitions already. */

jest.setTimeout(600_000);

const releases: Release[] = [];
const { stack, cluster } = setUpStage(async () => {
  for (const each of releases) {
    await uninstall(each).catch(() => undefined);
    await cluster.delete({ type: NAMESPACES, name: each.namespace });
  }
  await applyDefinitions();
});
let helm: string;

beforeAll(async () => {
  ({ helm } = await buildPrograms(['helm'], {}));
});

const DEFINITIONS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };

interface Release {
  readonly name: string;
  readonly namespace: string;
}

async function install(flags: readonly string[]): Promise<Release> {
  const name = uniqueName();
  const release = { name, namespace: `${name}-system` };
  releases.push(release);
  const values = ['--create-namespace', '--set', 'controllers={pod-label}'];
  await run('install', name, RELEASE.chart, ...placeOf(release), ...values, ...flags);
  return release;
}

function uninstall(release: Release): Promise<unknown> {
  // The check needs a running operator.
  return run('uninstall', release.name, ...placeOf(release), '--no-hooks');
}

function placeOf({ namespace }: Release): string[] {
  return ['--namespace', namespace, '--kubeconfig', stack.kubeconfig];
}

async function run(...args: readonly string[]): Promise<void> {
  await promisify(execFile)(helm, [...args]);
}

/** As `npm start` does, but other test files on this stack may have applied them, too. */
async function applyDefinitions(changed: object = {}): Promise<void> {
  for (const { spec, ...definition } of definitionsOf(durableOperator)) {
    const names = { ...fieldsOf(fieldsOf(spec)['names']), ...changed };
    await cluster.client.request({
      method: 'PATCH',
      path: resourcePath(DEFINITIONS, { name: definition.metadata.name }),
      query: { fieldManager: 'durable-operator-crds', force: true },
      body: { ...definition, spec: { ...spec, names } },
      contentType: 'application/apply-patch+yaml',
    });
  }
}

/** What to add to the command, as a page says it. */
async function flagsIn(page: string): Promise<readonly string[]> {
  const text = await readFile(join(import.meta.dirname, '../../docs', page), 'utf8');
  const [, flags] = /cannot be imported[^`]*`(--[^`]*)`/.exec(text) ?? [];
  if (flags === undefined) throw new Error(`docs/${page} does not say what to add`);
  return flags.split(' ');
}

describe('by what docs/deploying.md says, Helm takes over the definitions', () => {
  it('of npm start, also of another version, and of a release of another name', async () => {
    await applyDefinitions({ categories: ['an-earlier-version'] });
    const flags = await flagsIn('deploying.md');
    await uninstall(await install(flags));
    await install(flags);
    for (const { metadata } of definitionsOf(durableOperator)) {
      const definition = await cluster.get({ type: DEFINITIONS, name: metadata.name });
      expect(fieldsOf(fieldsOf(definition?.['spec'])['names'])['categories']).toEqual(['durable-operator']);
    }
  });

  it('of an author, too', async () => {
    expect(await flagsIn('your-operator-in-production.md')).toEqual(await flagsIn('deploying.md'));
  });
});
