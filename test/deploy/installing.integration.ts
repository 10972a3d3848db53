import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { mergeRules } from '../../deploy/rbac/merge-rules.ts';
import { parseConfig } from '../../src/config/config.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { buildPrograms } from '../../local/build.ts';
import { outputOf } from '../../local/program-output.ts';
import { NAMESPACES, PODS, TestCluster } from '../support/cluster.ts';
import { charted, Delivered, kustomized } from '../support/delivered.ts';
import { copyOfDeploy } from '../support/deploy-copy.ts';
import { eventually } from '../support/eventually.ts';
import { testStack } from '../support/stack.ts';
import { TestTemporal } from '../support/temporal.ts';

jest.setTimeout(1_200_000);

const ROOT = join(import.meta.dirname, '../..');
const stack = testStack();
const cluster = new TestCluster(stack.kubeconfig);
let helm: string;
let temporalCli: string;
/** A copy of deploy/, with what a person would write beside it. */
let deploy: string;

beforeAll(async () => {
  const programs = await buildPrograms(['helm', 'temporal'], {});
  helm = programs.helm;
  temporalCli = programs.temporal;
  deploy = await preparedCopy();
  await cluster.createNamespace('team-1');
  await cluster.createNamespace(NAMESPACE);
});

afterAll(async () => {
  await rm(deploy, { recursive: true });
  for (const name of ['team-1', NAMESPACE]) await cluster.delete({ type: NAMESPACES, name });
  await cluster.close();
});

async function preparedCopy(): Promise<string> {
  const copy = await copyOfDeploy();
  await cp(join(copy, 'overlays/versioned'), join(copy, 'overlays/upgrading'), { recursive: true });
  await upgrade(join(copy, 'overlays/upgrading'));
  await mkdir(join(copy, 'around'));
  await writeFile(join(copy, 'around/kustomization.yaml'), AROUND);
  await mkdir(join(copy, 'everything'));
  await writeFile(join(copy, 'everything/kustomization.yaml'), EVERYTHING);
  for (const [name, resources] of Object.entries(BY_DEFAULT)) {
    await cp(join(copy, 'default'), join(copy, name), { recursive: true });
    await edit(join(copy, name, 'kustomization.yaml'), (text) => text.replace('../base', resources));
  }
  for (const name of ['own', 'building']) {
    await cp(join(copy, 'overlays/namespaced'), join(copy, 'overlays', name), { recursive: true });
    await moveElsewhere(join(copy, 'overlays', name));
  }
  await letBuild(join(copy, 'overlays/building'));
  return copy;
}

/** What is made of deploy/default by another word in it. */
const BY_DEFAULT = {
  'default-split': '../overlays/split',
  'default-versioned': '../overlays/versioned',
  'default-upgrading': '../overlays/upgrading',
  'default-everything': '../everything',
};

/** The Job comes first: later ones change it, too. */
const COMPONENTS = [
  'temporal-retention',
  'alerts',
  'dashboard',
  'payload-keys',
  'service-monitor',
  'temporal-api-key',
  'temporal-tls',
];

const EVERYTHING = [
  'resources: [../common, ../rbac, ../manager]',
  `components: [${COMPONENTS.map((name) => `../components/${name}`).join()}]`,
].join('\n');

/** What docs/deploying.md has people write around deploy/default. */
const AROUND = [
  'namespace: durable-operator-system',
  'resources: [../default]',
  `components: [${COMPONENTS.map((name) => `../components/${name}`).join()}]`,
].join('\n');

/** What docs/deploying.md says of another operator for some namespaces. */
async function moveElsewhere(overlay: string): Promise<void> {
  await edit(join(overlay, 'operator/kustomization.yaml'), (text) => `${text}namespace: ${NAMESPACE}\n`);
  await edit(join(overlay, 'kustomization.yaml'), (text) => `${text}namePrefix: durable-operator-\n`);
}

const NAMESPACE = 'durable-operator-system';

/** What docs/deploying.md says of controller git-build. */
async function letBuild(overlay: string): Promise<void> {
  await edit(join(overlay, 'team-1/kustomization.yaml'), (text) =>
    text.replace(/in-each-namespace$/m, '$&-with-build'),
  );
  await edit(join(overlay, 'operator/deployment.yaml'), (text) => text.replace(/ *- --controllers=.*\n/, ''));
  const component = 'components: [../../../components/node-reader]\n';
  await edit(join(overlay, 'operator/kustomization.yaml'), (text) => text + component);
}

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(file, 'utf8');
  const changed = change(text);
  if (changed === text) throw new Error(`${file} has nothing to change`);
  await writeFile(file, changed);
}

/** What the comment in the folder of a version says. */
async function upgrade(overlay: string): Promise<void> {
  await cp(join(overlay, '0.3.0'), join(overlay, '0.4.0'), { recursive: true });
  for (const folder of ['0.4.0', 'promote']) {
    for (const name of await readdir(join(overlay, folder))) {
      await edit(join(overlay, folder, name), (text) =>
        text.replaceAll('0.3.0', '0.4.0').replaceAll('0-3-0', '0-4-0'),
      );
    }
  }
  await edit(join(overlay, 'kustomization.yaml'), (text) => text.replace('  - 0.3.0', '$&\n  - 0.4.0'));
}

/** The ways to install it: the folder, and the values that make the chart give the same. */
const WAYS: readonly (readonly [folder: string, ...values: string[]])[] = [
  ['default'],
  ['default-split', 'mode=split', 'temporal.retention=72h'],
  [
    'overlays/own',
    'namespaces={team-1}',
    'controllers={pod-label,namespace-role-binding,pod-set}',
    'metrics.secure=false',
  ],
  ['overlays/building', 'namespaces={team-1}', 'metrics.secure=false'],
  ['default-versioned', 'versioning.enabled=true'],
  ['default-upgrading', 'versioning.enabled=true', 'image.tag=0.4.0', 'versioning.previous={0.3.0}'],
  [
    'default-everything',
    'metrics.alerts.enabled=true',
    'metrics.dashboard.enabled=true',
    'metrics.serviceMonitor.enabled=true',
    'payloadKeysSecret=payload-keys',
    'temporal.apiKeySecret=temporal-api-key',
    'temporal.retention=72h',
    'temporal.tlsSecret=temporal-tls',
  ],
];

describe('components that are listed outside of deploy/default', () => {
  it('add objects in the namespace of the operator, and change no others', async () => {
    const [around, within] = await Promise.all(
      ['around', 'default-everything'].map((folder) => kustomized(stack.kubectl, join(deploy, folder))),
    );
    const places = (around ?? []).flatMap(({ metadata }) => metadata.namespace ?? []);
    expect(new Set(places)).toEqual(new Set([NAMESPACE]));
    const withoutPrefix = (object: Delivered) => ({
      ...object,
      metadata: { ...object.metadata, name: object.metadata.name.replace(/^durable-operator-/, '') },
    });
    expect(byName((around ?? []).map(withoutPrefix))).toEqual(byName((within ?? []).map(withoutPrefix)));
  });
});

const ONLY_THERE =
  '(request.resource.resource == "namespaces" ? object.metadata.name : request.namespace) in ["team-1"]';

/** Who may approve is said by the chart for `namespaces` alone, by Kustomize for all: docs/deploying.md says why. */
function withApprovalsEverywhere(object: Delivered): Delivered {
  const everywhere = (_key: string, value: unknown): unknown => (value === ONLY_THERE ? 'true' : value);
  return JSON.parse(JSON.stringify(object, everywhere)) as Delivered;
}

describe.each(WAYS)('what is installed from deploy/%s', (folder, ...values) => {
  let objects: readonly Delivered[];

  beforeAll(async () => {
    objects = await kustomized(stack.kubectl, join(deploy, folder));
  });

  it('is what the chart gives, save for the Namespace, which Helm makes if it is told to', async () => {
    const chart = await charted(helm, values);
    const namespace = objects.filter(({ kind }) => kind === 'Namespace');
    expect(namespace.map(({ metadata }) => metadata.name)).toEqual([NAMESPACE]);
    const others = objects.filter(({ kind }) => kind !== 'Namespace');
    expect(byName(chart.map(withApprovalsEverywhere))).toEqual(byName(others));
  });

  it('has names of its own, and can be taken away without the CustomResourceDefinitions', () => {
    const others = objects.filter(({ kind }) => kind !== 'CustomResourceDefinition');
    const names = others.map(({ metadata }) => metadata.name);
    expect(names.filter((name) => !name.startsWith('durable-operator-'))).toEqual([]);
    const labels = new Set(others.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/name']));
    expect([...labels]).toEqual(['durable-operator']);
    const definitions = objects.filter((object) => !others.includes(object));
    expect(definitions.map(({ metadata }) => metadata.labels)).toEqual([undefined, undefined]);
  });

  it('is accepted by the API server', async () => {
    const file = join(deploy, 'objects.json');
    const known = objects.filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/'));
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: known }));
    const dryRun = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict'];
    const said = await kubectl(...dryRun, '--filename', file);
    expect(said.match(/serverside-applied \(server dry run\)/g)).toHaveLength(known.length);
    expect(said).not.toMatch(/warning/i);
  });

  it('has Pods that Pod Security "restricted" admits', async () => {
    const templates = podTemplates(objects);
    expect(templates.length).toBeGreaterThan(0);
    for (const { name, spec } of templates) await expect(admitted(name, spec)).resolves.toBeDefined();
  });

  it('gives the program only options that it has', async () => {
    const commands = podTemplates(objects).flatMap(({ spec }) => spec.containers.filter(isOperator));
    expect(commands.length).toBeGreaterThan(0);
    for (const { args } of commands) {
      const parsed = await parseConfig(args, {});
      expect(parsed).toMatchObject({ kind: 'config' });
    }
  });
});

/** Kubernetes reads them as equal, whatever their order. */
function byName(objects: readonly Delivered[]): Record<string, unknown> {
  return Object.fromEntries(
    objects.map(toInstall).map((object) => {
      const { apiVersion, kind, metadata } = object;
      return [`${apiVersion} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`, comparable(object)];
    }),
  );
}

/** Without what only Helm, or only Kustomize, adds to each object and selector. */
function toInstall({ metadata: { namespace, ...metadata }, ...object }: Delivered): Delivered {
  // Kustomize takes the policies for something that lies in a namespace.
  const isWide = object.kind.startsWith('ValidatingAdmission');
  const placed = { ...object, metadata: isWide ? metadata : { ...metadata, namespace } };
  const text = JSON.stringify(placed, (key, value: unknown) => {
    if (HELMS_OWN.includes(key)) return undefined;
    return key === 'durable-operator.dev/admission-policy' ? 'the installation' : value;
  });
  // The policies of overlays/namespaced have the prefix, and get it again.
  return Delivered.parse(
    JSON.parse(text.replaceAll('durable-operator-durable-operator-', 'durable-operator-')),
  );
}

const HELMS_OWN = ['app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', 'helm.sh/chart'];

const Rule = z.object({
  apiGroups: z.array(z.string()),
  resources: z.array(z.string()),
  verbs: z.array(z.string()),
  resourceNames: z.array(z.string()).default([]),
});
/** Without any, `resourceNames` means every name, as it does where it is not there. */
const Rules = z.array(Rule);

function comparable(object: Delivered): object {
  const { annotations, ...metadata } = object.metadata;
  const own = Object.entries(annotations ?? {}).filter(([name]) => !name.startsWith('helm.sh/'));
  const rules = Rules.safeParse(object['rules']);
  return {
    ...inAnyOrder(object),
    metadata: own.length > 0 ? { ...metadata, annotations: Object.fromEntries(own) } : metadata,
    ...(rules.success && { rules: mergeRules(rules.data) }),
  };
}

/** Lists of things with names, such as variables and volumes: Kubernetes merges them by name. */
function inAnyOrder(object: object): object {
  return z.record(z.string(), z.unknown()).parse(
    JSON.parse(JSON.stringify(object), (_key, value: unknown) => {
      const named = z.array(z.looseObject({ name: z.string() })).safeParse(value);
      return named.success ? named.data.toSorted((a, b) => (a.name < b.name ? -1 : 1)) : value;
    }),
  );
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

function isOperator({ image }: { readonly image: string }): boolean {
  return image.startsWith('durable-operator:');
}

/** Admission sees all of it; nothing is kept. The service account need not be there. */
function admitted(name: string, spec: object) {
  const withoutAccount = { ...spec, serviceAccountName: 'default' };
  return cluster.client.request({
    method: 'POST',
    path: resourcePath(PODS, { namespace: 'system' }),
    query: { dryRun: 'All' },
    body: { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: withoutAccount },
  });
}

async function kubectl(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(stack.kubectl, [
    ...['--kubeconfig', stack.kubeconfig],
    ...args,
  ]);
  return stdout + stderr;
}

describe('deploy/base on a cluster', () => {
  const DEPLOYMENTS = { group: 'apps', version: 'v1', plural: 'deployments' };
  const at = { type: DEPLOYMENTS, namespace: 'system', name: 'controller-manager' };

  afterAll(() => cluster.deleteAndWait(at));

  it('gets all its Pods, where Pod Security "restricted" is enforced', async () => {
    const asInstalled = ['--server-side', '--field-manager=installed'];
    await kubectl('apply', ...asInstalled, '--kustomize', join(deploy, 'base'));
    await eventually(async () => {
      expect((await cluster.get(at))?.['status']).toMatchObject({ availableReplicas: 3, updatedReplicas: 3 });
      return true;
    }, 120_000);
  });

  it('keeps out of its namespace what asks for more', async () => {
    const spec = { hostNetwork: true, containers: [{ name: 'c', image: 'i' }] };
    await expect(admitted('curious', spec)).rejects.toThrow(/violates PodSecurity "restricted/);
  });
});

describe('the Job temporal-retention', () => {
  it('sets how long Temporal keeps runs that have ended', async () => {
    const objects = await kustomized(stack.kubectl, join(deploy, 'overlays/split'));
    const job = podTemplates(objects.filter(({ metadata }) => metadata.name === 'temporal-retention'))[0];
    const args = job?.spec.containers[0]?.args ?? [];
    const given = args.map((arg) => arg.replace('$(TEMPORAL_NAMESPACE)', 'default'));
    const said = await outputOf(temporalCli, [...given, '--address', stack.temporalAddress]);
    expect(said).toMatchObject({ outcome: 'succeeded' });
    const temporal = new TestTemporal(stack.temporalAddress);
    const { config } = await temporal.client.workflowService.describeNamespace({ namespace: 'default' });
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(72 * 3600);
    await temporal.close();
  });
});

describe('the chart', () => {
  it('has nothing that helm lint objects to', async () => {
    const said = await outputOf(helm, ['lint', '--strict', join(ROOT, 'deploy/helm')]);
    expect(said).toMatchObject({ outcome: 'succeeded' });
  });

  it.each([
    ['mode=both', "'run', 'split'"],
    ['replicas=-1', 'minimum'],
    ['namespace=x', "additional properties 'namespace' not allowed"],
    ['controllers={pods}', 'there is no controller "pods"'],
  ])('refuses %s', async (value, why) => {
    await expect(charted(helm, [value])).rejects.toThrow(why);
  });

  it('lets the operator bind the ClusterRole that it is told to, and no other', async () => {
    const objects = await charted(helm, ['roleBinding.clusterRole=view']);
    const role = objects.find(({ metadata }) => metadata.name === 'durable-operator-manager-role');
    const bind = Rules.parse(role?.['rules']).filter(({ verbs }) => verbs.includes('bind'));
    expect(bind.map(({ resourceNames }) => resourceNames)).toEqual([['view']]);
    expect(JSON.stringify(objects)).toContain('--role-binding-cluster-role=view');
  });

  it('gives only what the chosen controllers need', async () => {
    const objects = await charted(helm, ['controllers={pod-label}']);
    const role = objects.find(({ metadata }) => metadata.name === 'durable-operator-manager-role');
    expect(mergeRules(Rules.parse(role?.['rules']))).toEqual([
      { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['list', 'patch', 'watch'] },
      { apiGroups: [''], resources: ['resourcequotas'], verbs: ['list', 'watch'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    ]);
  });

  it('gives an operator for some namespaces nothing beyond them but Nodes, which controller git-build asks for', async () => {
    const objects = await charted(helm, ['namespaces={team-1}', 'metrics.secure=false', 'userRoles=false']);
    const wide = objects.filter(({ kind }) => kind === 'ClusterRole');
    expect(Object.fromEntries(wide.map(({ metadata, rules }) => [metadata.name, rules]))).toEqual({
      'durable-operator-node-reader-role': [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }],
      // It only marks an account.
      'durable-operator-limited-role': [],
    });
  });

  it('has the version of the program, as the kustomizations have', async () => {
    const version = await programVersion();
    const images = [...(await charted(helm, [])), ...(await kustomized(stack.kubectl, 'default'))];
    expect(
      images
        .flatMap((object) => podTemplates([object]))
        .flatMap(({ spec }) => spec.containers.map(({ image }) => image)),
    ).toEqual([`durable-operator:${version}`, `durable-operator:${version}`]);
  });
});

async function programVersion(): Promise<string> {
  const text = await readFile(join(ROOT, 'package.json'), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}
