import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import {
  allManifests,
  defaultControllers,
  managerManifests,
  staleManifests,
  writeManifests,
} from '../deploy/generate.ts';
import { LABELS } from '../deploy/labels.ts';
import { mergeRules } from '../deploy/rbac/merge-rules.ts';
import {
  clusterScopedRules,
  managerRules,
  watcherRules,
  workerRules,
} from '../deploy/rbac/operator-roles.ts';
import type { PolicyRule } from '../src/contract/controller.ts';

const DEPLOY = join(import.meta.dirname, '..', 'deploy');

async function read(path: string): Promise<unknown> {
  return parse(await readFile(join(DEPLOY, path), 'utf8'));
}

describe('the operator is allowed what its controllers need and nothing more', () => {
  it('so its role has these rules', async () => {
    expect(await read('rbac/role.yaml')).toEqual({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'manager-role', labels: LABELS },
      rules: [
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
      ],
    });
  });

  it('so no controller asks for a wildcard, nor to bind a role that is not named', () => {
    const rules = defaultControllers().flatMap(({ permissions }) => permissions);
    const tooWide = rules.filter(
      ({ apiGroups, resources, verbs, resourceNames = [] }) =>
        [...apiGroups, ...resources, ...verbs].includes('*') ||
        verbs.some((verb) => verb === 'escalate' || verb === 'impersonate') ||
        (verbs.includes('bind') && resourceNames.length === 0),
    );
    expect(tooWide).toEqual([]);
  });

  it('so the role is bound to its service account alone', async () => {
    const account = await read('rbac/service_account.yaml');
    expect(account).toEqual({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'controller-manager', namespace: 'system', labels: LABELS },
    });
    expect(await read('rbac/role_binding.yaml')).toMatchObject({
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'manager-role' },
      subjects: [{ kind: 'ServiceAccount', name: 'controller-manager', namespace: 'system' }],
    });
  });
});

describe('the parts of the operator are allowed less than the whole', () => {
  const controllers = defaultControllers();
  const verbsIn = (rules: readonly PolicyRule[]) => [...new Set(rules.flatMap(({ verbs }) => verbs))].sort();
  const rulesOn = (resource: string, rules: readonly PolicyRule[]) =>
    rules.filter(({ resources }) => resources.includes(resource));

  it('so the watcher lists and watches, and nothing else', () => {
    expect(verbsIn(watcherRules(controllers, 'cluster'))).toEqual(['list', 'watch']);
  });

  it('so the worker watches nothing', () => {
    expect(verbsIn(workerRules(controllers, 'cluster'))).not.toContain('watch');
  });

  it('so both together are allowed what the one process is', () => {
    const parts = [...watcherRules(controllers, 'cluster'), ...workerRules(controllers, 'cluster')];
    expect(mergeRules(parts)).toEqual(managerRules(controllers, 'cluster'));
  });

  it('so a Role, which cannot let a Namespace be watched, lets it be read by name', () => {
    expect(rulesOn('namespaces', watcherRules(controllers, 'namespaces'))).toEqual([
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
    ]);
  });

  it('so no Role is for Nodes, which are asked for all the same', () => {
    expect(rulesOn('nodes', managerRules(controllers, 'namespaces'))).toEqual([]);
    expect(clusterScopedRules(controllers)).toEqual([
      { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
    ]);
  });
});

describe('the roles for people', () => {
  const everything = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];
  const reading = ['get', 'list', 'watch'];
  const kinds = [
    {
      name: 'podset',
      group: 'batch.tutorial.kubebuilder.io',
      plural: 'podsets',
      editorLabels: {
        'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
        'rbac.authorization.k8s.io/aggregate-to-edit': 'true',
      },
    },
    // Whoever may edit a namespace must not become root on nodes by it.
    { name: 'xxx', group: 'test.inspur.com', plural: 'xxxes', editorLabels: undefined },
  ];

  it.each(kinds)('let an editor do all to $plural, and no more than read their status', async (kind) => {
    expect(await read(`rbac/${kind.name}_editor_role.yaml`)).toEqual({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: {
        name: `${kind.name}-editor-role`,
        labels: { ...LABELS, ...kind.editorLabels },
      },
      rules: rulesOf(kind, { verbs: everything, scale: ['get', 'patch', 'update'] }),
    });
  });

  it.each(kinds)('let a viewer read $plural', async (kind) => {
    expect(await read(`rbac/${kind.name}_viewer_role.yaml`)).toMatchObject({
      metadata: {
        name: `${kind.name}-viewer-role`,
        labels: { ...LABELS, 'rbac.authorization.k8s.io/aggregate-to-view': 'true' },
      },
      rules: rulesOf(kind, { verbs: reading, scale: ['get'] }),
    });
  });

  function rulesOf({ group, plural }: (typeof kinds)[number], may: { verbs: string[]; scale: string[] }) {
    const rule = (resource: string, verbs: string[]) => ({
      apiGroups: [group],
      resources: [resource],
      verbs,
    });
    return [
      rule(plural, may.verbs),
      rule(`${plural}/status`, ['get']),
      ...(plural === 'podsets' ? [rule('podsets/scale', may.scale)] : []),
    ];
  }
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

describe('generated manifests', () => {
  const manifests = managerManifests(defaultControllers());
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'durable-operator-deploy-'));
  });

  afterEach(() => rm(directory, { recursive: true }));

  it('are committed as the code says', async () => {
    expect(await staleManifests(DEPLOY, allManifests())).toEqual([]);
  });

  it('say where they come from', () => {
    for (const [path, text] of allManifests())
      if (path.endsWith('.yaml')) expect(text).toMatch(/^# Generated by "npm run generate"/);
  });

  it('are not stale when they have just been written', async () => {
    await writeManifests(directory, manifests);
    expect(await staleManifests(directory, manifests)).toEqual([]);
  });

  it('are stale when they are missing', async () => {
    expect(await staleManifests(directory, manifests)).toEqual([...manifests.keys()]);
  });

  it('are stale when one was edited, and that one is named', async () => {
    await writeManifests(directory, manifests);
    await appendFile(join(directory, 'rbac/role.yaml'), '  - apiGroups: ["*"]\n');
    expect(await staleManifests(directory, manifests)).toEqual(['rbac/role.yaml']);
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
