import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { staleFiles, writeFiles } from '../src/program/generate/files.ts';
import { mergeRules } from '../src/program/generate/merge-rules.ts';
import { defaultControllers, watcherRules, workerRules } from '../src/program/generate/permissions.ts';
import type { PolicyRule } from '../src/api/policy-rule.ts';
import { durableOperator } from '../src/controllers/index.ts';

const DEPLOY = join(import.meta.dirname, '..', 'deploy');

async function read(path: string): Promise<unknown> {
  return parse(await readFile(join(DEPLOY, path), 'utf8'));
}

describe('the operator is allowed what its controllers need and nothing more', () => {
  const controllers = defaultControllers(durableOperator);
  const watcher = controllers.map(watcherRules);
  const worker = controllers.map(workerRules);
  const verbsIn = (rules: readonly PolicyRule[]) => [...new Set(rules.flatMap(({ verbs }) => verbs))].sort();
  const rulesOn = (resource: string, rules: readonly PolicyRule[]) =>
    rules.filter(({ resources }) => resources.includes(resource));

  it('so no controller asks for a wildcard, nor to bind a role that is not named', () => {
    const rules = controllers.flatMap(({ permissions }) => permissions);
    const tooWide = rules.filter(
      ({ apiGroups, resources, verbs, resourceNames = [] }) =>
        [...apiGroups, ...resources, ...verbs].includes('*') ||
        verbs.some((verb) => verb === 'escalate' || verb === 'impersonate') ||
        (verbs.includes('bind') && resourceNames.length === 0),
    );
    expect(tooWide).toEqual([]);
  });

  it('so the watcher lists and watches, and gets Namespaces, and nothing else', () => {
    const rules = watcher.flatMap(({ namespaced, cluster }) => [...namespaced, ...cluster]);
    const gets = rules.filter(({ verbs }) => verbs.includes('get'));
    expect(mergeRules(gets)).toEqual([{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }]);
    expect(verbsIn(rules.filter((rule) => !gets.includes(rule)))).toEqual(['list', 'watch']);
  });

  it('so the worker watches nothing', () => {
    expect(verbsIn(worker.flatMap(({ namespaced, cluster }) => [...namespaced, ...cluster]))).not.toContain(
      'watch',
    );
  });

  it('so a Role, which cannot let a Namespace be watched, lets it be read by name', () => {
    expect(rulesOn('namespaces', mergeRules(watcher.flatMap(({ namespaced }) => namespaced)))).toEqual([
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
    ]);
  });

  it('so only a ClusterRole is for Nodes', () => {
    expect(mergeRules(worker.flatMap(({ cluster }) => cluster))).toEqual([
      { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
    ]);
  });
});

describe('merging rules', () => {
  const rule = (resources: string[], verbs: string[], more: Partial<PolicyRule> = {}): PolicyRule => ({
    apiGroups: [''],
    resources,
    verbs,
    ...more,
  });

  it('never gives a verb on a resource, group or name that was not asked for', () => {
    const asked = [
      rule(['pods', 'nodes'], ['get']),
      rule(['pods'], ['delete']),
      rule(['events'], ['create'], { apiGroups: ['events.k8s.io'] }),
      rule(['events'], ['get']),
      rule(['clusterroles'], ['bind'], { resourceNames: ['edit'] }),
      rule(['clusterroles'], ['get']),
    ];
    expect(allowedBy(mergeRules(asked))).toEqual(allowedBy(asked));
  });

  it('unites the verbs of a resource, and resources with the same verbs, in any order', () => {
    const rules = [rule(['pods'], ['list']), rule(['nodes'], ['list', 'get']), rule(['pods'], ['get'])];
    const merged = [rule(['nodes', 'pods'], ['get', 'list'])];
    expect(mergeRules(rules)).toEqual(merged);
    expect(mergeRules(rules.toReversed())).toEqual(merged);
  });

  /** Every single thing that rules allow, one line each. */
  function allowedBy(rules: readonly PolicyRule[]): string[] {
    const allowed = rules.flatMap(({ apiGroups, resources, verbs, resourceNames = ['*'] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.flatMap((verb) => resourceNames.map((name) => `${verb} ${group}/${resource}/${name}`)),
        ),
      ),
    );
    return [...new Set(allowed)].sort();
  }
});

describe('generated files', () => {
  const files = new Map([
    ['one.yaml', 'a: 1\n'],
    ['two.yaml', 'b: 2\n'],
  ]);
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'durable-operator-deploy-'));
  });

  afterEach(() => rm(directory, { recursive: true }));

  it('are stale if they are missing or edited, and are named', async () => {
    expect(await staleFiles(directory, files)).toEqual(['one.yaml', 'two.yaml']);
    await writeFiles(directory, files);
    expect(await staleFiles(directory, files)).toEqual([]);
    await appendFile(join(directory, 'two.yaml'), 'c: 3\n');
    expect(await staleFiles(directory, files)).toEqual(['two.yaml']);
  });
});

const Sample = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

describe('samples', () => {
  async function samples() {
    const files = await readdir(join(DEPLOY, 'samples'));
    const entries = files.map(async (file) => [file, Sample.parse(await read(`samples/${file}`))] as const);
    return new Map(await Promise.all(entries));
  }

  it('have a Pod that asks for its label, and a Service that reaches it by that label', async () => {
    const all = await samples();
    expect(all.get('pod.yaml')).toMatchObject({
      kind: 'Pod',
      metadata: { name: 'my-nginx', annotations: { 'padok.fr/add-pod-name-label': 'true' } },
      spec: { containers: [{ image: 'nginx:1.20.0' }] },
    });
    expect(all.get('service.yaml')).toMatchObject({
      kind: 'Service',
      spec: { selector: { 'padok.fr/pod-name': all.get('pod.yaml')?.metadata.name } },
    });
    expect(all.get('service.yaml')?.metadata.namespace).toBe(all.get('pod.yaml')?.metadata.namespace);
  });
});
