import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { staleFiles, writeFiles } from '../deploy/generate.ts';
import { mergeRules } from '../deploy/rbac/merge-rules.ts';
import { changesBy, defaultControllers, watcherRules, workerRules } from '../deploy/rbac/permissions.ts';
import { userRoles } from '../deploy/rbac/user-roles.ts';
import type { PolicyRule } from '../src/contract/controller.ts';

const DEPLOY = join(import.meta.dirname, '..', 'deploy');

async function read(path: string): Promise<unknown> {
  return parse(await readFile(join(DEPLOY, path), 'utf8'));
}

describe('the operator is allowed what its controllers need and nothing more', () => {
  const controllers = defaultControllers();
  const watcher = controllers.map(watcherRules);
  const worker = controllers.map(workerRules);
  const verbsIn = (rules: readonly PolicyRule[]) => [...new Set(rules.flatMap(({ verbs }) => verbs))].sort();
  const rulesOn = (resource: string, rules: readonly PolicyRule[]) =>
    rules.filter(({ resources }) => resources.includes(resource));

  it('so all controllers together have these rules', () => {
    const all = [...watcher, ...worker].flatMap(({ namespaced, cluster }) => [...namespaced, ...cluster]);
    expect(mergeRules(all)).toEqual([
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
      {
        apiGroups: [''],
        resources: ['pods'],
        verbs: ['create', 'delete', 'get', 'list', 'patch', 'watch'],
      },
      { apiGroups: [''], resources: ['resourcequotas'], verbs: ['list', 'watch'] },
      {
        apiGroups: ['batch'],
        resources: ['jobs'],
        verbs: ['create', 'delete', 'get', 'list', 'watch'],
      },
      {
        apiGroups: ['batch.tutorial.kubebuilder.io'],
        resources: ['podsets'],
        verbs: ['get', 'list', 'watch'],
      },
      {
        apiGroups: ['batch.tutorial.kubebuilder.io'],
        resources: ['podsets/finalizers'],
        verbs: ['update'],
      },
      {
        apiGroups: ['batch.tutorial.kubebuilder.io'],
        resources: ['podsets/status'],
        verbs: ['patch'],
      },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
      {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['clusterroles'],
        resourceNames: ['edit'],
        verbs: ['bind'],
      },
      {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['rolebindings'],
        verbs: ['create', 'delete', 'get', 'list', 'patch', 'watch'],
      },
      {
        apiGroups: ['test.inspur.com'],
        resources: ['xxxes'],
        verbs: ['get', 'list', 'patch', 'watch'],
      },
      { apiGroups: ['test.inspur.com'], resources: ['xxxes/finalizers'], verbs: ['update'] },
      { apiGroups: ['test.inspur.com'], resources: ['xxxes/status'], verbs: ['patch'] },
    ]);
  });

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
    expect(worker.flatMap(({ cluster }) => cluster)).toEqual([
      { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
    ]);
  });

  it('and people are told what each one changes', () => {
    expect(Object.fromEntries(controllers.map((each) => [each.name, changesBy(each)]))).toEqual({
      'pod-label': 'patch pods',
      'namespace-role-binding': 'bind clusterroles (edit); create, delete, patch rolebindings',
      'pod-set': 'create, delete, patch pods; update podsets/finalizers; patch podsets/status',
      'git-build': 'create, delete jobs; patch xxxes, xxxes/status; update xxxes/finalizers',
    });
  });
});

describe('the roles for people', () => {
  const resource = { group: 'example.com', plural: 'webs', hasScale: true, isPowerful: false };
  const rule = (name: string, ...verbs: string[]) => ({
    apiGroups: ['example.com'],
    resources: [name],
    verbs,
  });

  it('let an editor do everything, and only read the status', () => {
    expect(userRoles('web', resource)['web-editor-role']).toEqual({
      labels: {
        'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
        'rbac.authorization.k8s.io/aggregate-to-edit': 'true',
      },
      rules: [
        rule('webs', 'create', 'delete', 'get', 'list', 'patch', 'update', 'watch'),
        rule('webs/status', 'get'),
        rule('webs/scale', 'get', 'patch', 'update'),
      ],
    });
  });

  it('let a viewer read', () => {
    expect(userRoles('web', resource)['web-viewer-role']).toEqual({
      labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' },
      rules: [rule('webs', 'get', 'list', 'watch'), rule('webs/status', 'get'), rule('webs/scale', 'get')],
    });
  });

  it('give nobody more power than before: whoever may edit a namespace does not become root on nodes', () => {
    expect(userRoles('web', { ...resource, isPowerful: true })['web-editor-role']?.labels).toEqual({});
  });
});

describe('merging rules', () => {
  const rule = (resources: string[], verbs: string[], more: Partial<PolicyRule> = {}): PolicyRule => ({
    apiGroups: [''],
    resources,
    verbs,
    ...more,
  });

  it('unites the verbs of a resource that several controllers use', () => {
    expect(mergeRules([rule(['pods'], ['list', 'get']), rule(['pods'], ['patch', 'get'])])).toEqual([
      rule(['pods'], ['get', 'list', 'patch']),
    ]);
  });

  it('unites resources with the same verbs', () => {
    expect(mergeRules([rule(['pods'], ['get']), rule(['nodes'], ['get']), rule(['jobs'], ['list'])])).toEqual(
      [rule(['jobs'], ['list']), rule(['nodes', 'pods'], ['get'])],
    );
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

  it('does not depend on the order', () => {
    const rules = [rule(['pods'], ['get', 'list']), rule(['nodes'], ['get']), rule(['pods'], ['patch'])];
    expect(mergeRules(rules.toReversed())).toEqual(mergeRules(rules));
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

  it('have a namespace of a team', async () => {
    expect((await samples()).get('namespace.yaml')).toMatchObject({
      kind: 'Namespace',
      metadata: { name: 'team-1' },
    });
  });

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

  it('have a PodSet of three Pods', async () => {
    expect((await samples()).get('pod-set.yaml')).toMatchObject({
      apiVersion: 'batch.tutorial.kubebuilder.io/v1',
      kind: 'PodSet',
      spec: { replicas: 3 },
    });
  });

  it('have an Xxx with the values that people know', async () => {
    expect((await samples()).get('xxx.yaml')).toMatchObject({
      apiVersion: 'test.inspur.com/v1alpha1',
      kind: 'Xxx',
      metadata: { name: 'xxx-sample' },
      spec: {
        gitUrl: 'https://github.com/kelseyhightower/helloworld.git',
        clonePath: '/root/go/src/helloworld',
        buildCommand: 'go build',
        binaryName: 'helloworld',
        jobName: 'build-helloworld',
      },
    });
  });
});
