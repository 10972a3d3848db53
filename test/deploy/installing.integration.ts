import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { installManifest as installManifestNow } from '../../deploy/install.ts';
import { mergeRules } from '../../src/program/generate/merge-rules.ts';
import { parseConfig } from '../../src/config/config.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { buildPrograms } from '../../local/build.ts';
import { outputOf } from '../../local/program-output.ts';
import { NAMESPACES, PODS, TestCluster } from '../support/cluster.ts';
import {
  charted,
  INSTALL_MANIFEST,
  parseDocuments,
  RELEASE,
  withControllers,
  type Delivered,
} from '../support/delivered.ts';
import { testStack } from '../support/stack.ts';
import { TestTemporal } from '../support/temporal.ts';

jest.setTimeout(1_200_000);

const stack = testStack();
const cluster = new TestCluster(stack.kubeconfig);
const run = promisify(execFile);
let programs: Readonly<Record<'helm' | 'temporal', string>>;
let dir: string;
let installManifest: string;

beforeAll(async () => {
  programs = await buildPrograms(['helm', 'temporal'], {});
  dir = await mkdtemp(join(tmpdir(), 'durable-operator-install-'));
  installManifest = await readFile(INSTALL_MANIFEST, 'utf8');
  for (const name of ['team-1', RELEASE.namespace]) await cluster.createNamespace(name);
});

afterAll(async () => {
  for (const name of ['team-1', RELEASE.namespace]) await cluster.delete({ type: NAMESPACES, name });
  await cluster.close();
  await rm(dir, { recursive: true });
});

/** Combinations of values that the API server and the program have to accept. */
const INSTALLATIONS: readonly (readonly string[])[] = [
  [],
  ['mode=split', 'temporal.retention=72h'],
  ['namespaces={team-1}', 'controllers={pod-label,pod-set}', 'metrics.secure=false'],
  ['namespaces={team-1}', 'mode=split'],
  ['versioning.enabled=true', 'image.tag=0.5.0', 'versioning.previous={0.4.0}'],
  [
    'metrics.alerts.enabled=true',
    'metrics.dashboard.enabled=true',
    'metrics.serviceMonitor.enabled=true',
    'metrics.certSecret=metrics-cert',
    'payloadKeysSecret=payload-keys',
    'temporal.apiKeySecret=temporal-api-key',
    'temporal.retention=72h',
    'temporal.tlsSecret=temporal-tls',
  ],
];

describe.each(INSTALLATIONS.map((values) => ({ values })))('the chart with $values', ({ values }) => {
  let objects: readonly Delivered[];

  beforeAll(async () => {
    objects = await charted(values);
  });

  it('is accepted by the API server', async () => {
    const known = objects.filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/'));
    await isAccepted(known);
  });

  it('has Pods that Pod Security "restricted" admits', async () => {
    const templates = podTemplates(objects);
    expect(templates.length).toBeGreaterThan(0);
    for (const { name, spec } of templates) await expect(admitted(name, spec)).resolves.toBeDefined();
  });

  it('gives the program only options that it has', async () => {
    const containers = podTemplates(objects).flatMap(({ spec }) => spec.containers);
    const commands = containers.filter(({ image }) => image.startsWith('durable-operator:'));
    expect(commands.length).toBeGreaterThan(0);
    for (const { args } of commands) {
      expect(await parseConfig(durableOperator, args, {})).toMatchObject({ kind: 'config' });
    }
  });
});

async function isAccepted(objects: readonly Delivered[]): Promise<void> {
  const file = join(dir, 'objects.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  const dryRun = ['--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict'];
  const { stdout, stderr } = await run(stack.kubectl, [
    ...['--kubeconfig', stack.kubeconfig, 'apply', ...dryRun, '--filename', file],
  ]);
  expect(stdout.match(/serverside-applied \(server dry run\)/g)).toHaveLength(objects.length);
  expect(stdout + stderr).not.toMatch(/warning/i);
}

const PodSpec = z.looseObject({
  containers: z.array(z.looseObject({ image: z.string(), args: z.array(z.string()) })),
});
const Workload = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ template: z.looseObject({ spec: PodSpec }) }),
});

function podTemplates(objects: readonly Delivered[]) {
  return objects
    .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    .map((object) => Workload.parse(object))
    .map(({ metadata: { name }, spec: { template } }) => ({ name, spec: template.spec }));
}

/** Asks admission without creating anything. The service account need not exist. */
function admitted(name: string, spec: object) {
  return cluster.client.request({
    method: 'POST',
    path: resourcePath(PODS, { namespace: 'system' }),
    query: { dryRun: 'All' },
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { ...spec, serviceAccountName: 'default' },
    },
  });
}

describe('install.yaml', () => {
  const parts = (objects: readonly Delivered[]) =>
    objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();

  // `npm run check` has no Helm, so it cannot say so.
  it('is what the chart is now; else run npm run generate, and commit what it wrote', async () => {
    expect(installManifest).toBe(await installManifestNow());
  });

  it('has the controllers pod-label and pod-set, and the namespace', async () => {
    const chart = await charted(['controllers={pod-label,pod-set}']);
    const namespace = `Namespace ${RELEASE.namespace}`;
    expect(parts(parseDocuments(installManifest))).toEqual([namespace, ...parts(chart)].sort());
    expect(installManifest).toContain('--controllers=pod-label,pod-set');
  });

  it('says that nothing is managed by Helm', () => {
    const objects = parseDocuments(installManifest);
    expect(JSON.stringify(objects.map(({ metadata }) => metadata))).not.toMatch(/helm/i);
  });

  it('says in its first lines how to add the other controllers', async () => {
    const [introduction = ''] = installManifest.split('\n---\n');
    const command = /helm template [^|]*/.exec(introduction)?.[0].replaceAll(/\\\n#/g, '') ?? '';
    const env = { PATH: `${dirname(programs.helm)}:${process.env['PATH'] ?? ''}` };
    const { stdout } = await run('bash', ['-euc', command], {
      cwd: join(RELEASE.chart, '../..'),
      env,
      maxBuffer: 2 ** 26,
    });
    expect(parts(parseDocuments(stdout))).toEqual(parts(await charted([])));
  });

  it('is a resource for Kustomize', async () => {
    const kustomization = {
      resources: ['install.yaml'],
      images: [{ name: 'durable-operator', newName: 'example.com/op', newTag: '1' }],
    };
    await writeFile(join(dir, 'install.yaml'), installManifest);
    await writeFile(join(dir, 'kustomization.yaml'), JSON.stringify(kustomization));
    const { stdout } = await run(stack.kubectl, ['kustomize', dir], { maxBuffer: 2 ** 26 });
    expect(parts(parseDocuments(stdout))).toEqual(parts(parseDocuments(installManifest)));
    expect(stdout).toContain('image: example.com/op:1\n');
  });
});

describe('the Job temporal-retention', () => {
  it('sets how long Temporal keeps runs that have ended', async () => {
    const objects = await charted(['temporal.retention=72h']);
    const [job] = podTemplates(
      objects.filter(({ metadata }) => metadata.name.endsWith('temporal-retention')),
    );
    const args = job?.spec.containers[0]?.args ?? [];
    const given = args.map((arg) => arg.replace('$(TEMPORAL_NAMESPACE)', 'default'));
    const said = await outputOf(programs.temporal, [...given, '--address', stack.temporalAddress]);
    expect(said).toMatchObject({ outcome: 'succeeded' });
    const temporal = new TestTemporal(stack.temporalAddress);
    const { config } = await temporal.client.workflowService.describeNamespace({ namespace: 'default' });
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(72 * 3600);
    await temporal.close();
  });
});

const Rules = z.array(
  z.object({
    apiGroups: z.array(z.string()),
    resources: z.array(z.string()),
    verbs: z.array(z.string()),
    resourceNames: z.array(z.string()).default([]),
  }),
);

describe('the chart', () => {
  it('has nothing that helm lint objects to', async () => {
    const sets = withControllers([]).flatMap((value) => ['--set', value]);
    const said = await outputOf(programs.helm, ['lint', '--strict', RELEASE.chart, ...sets]);
    expect(said).toMatchObject({ outcome: 'succeeded' });
  });

  it.each([
    ['controllers=null', 'controllers is empty'],
    ['controllers={pods}', 'there is no controller "pods"'],
  ])('with %s, says which controllers there are and what each one changes', async (value, problem) => {
    const refused = charted([value]);
    await expect(refused).rejects.toThrow(problem);
    for (const change of [
      'git-build: create, delete jobs;',
      'namespace-role-binding: bind clusterroles (edit);',
      'pod-label: patch pods\n',
      'pod-set: create, delete, patch pods;',
    ])
      await expect(refused).rejects.toThrow(change);
  });

  it('lets the operator bind the ClusterRole that it is told to, and no other', async () => {
    const objects = await charted(['roleBinding.clusterRole=view']);
    const role = objects.find(({ metadata }) => metadata.name === 'durable-operator-manager-role');
    const bind = Rules.parse(role?.['rules']).filter(({ verbs }) => verbs.includes('bind'));
    expect(bind.map(({ resourceNames }) => resourceNames)).toEqual([['view']]);
    expect(JSON.stringify(objects)).toContain('--role-binding-cluster-role=view');
  });

  it('gives only what the chosen controllers need', async () => {
    const objects = await charted(['controllers={pod-label}']);
    const role = objects.find(({ metadata }) => metadata.name === 'durable-operator-manager-role');
    expect(mergeRules(Rules.parse(role?.['rules']))).toEqual([
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['list', 'patch', 'watch'] },
      { apiGroups: [''], resources: ['resourcequotas'], verbs: ['list', 'watch'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    ]);
  });

  it('gives an operator for some namespaces nothing beyond them but Nodes, for git-build', async () => {
    const objects = await charted(['namespaces={team-1}', 'metrics.secure=false', 'userRoles=false']);
    const wide = objects.filter(({ kind }) => kind === 'ClusterRole');
    expect(Object.fromEntries(wide.map(({ metadata, rules }) => [metadata.name, rules]))).toEqual({
      'durable-operator-node-reader-role': [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }],
      // It only marks an account.
      'durable-operator-limited-role': [],
    });
  });
});
