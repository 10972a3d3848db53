import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { buildPrograms } from '../../local/build.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { NAMESPACES, ROLE_BINDINGS, TestCluster, uniqueName, type At } from '../support/cluster.ts';
import { charted, kustomized, type Delivered } from '../support/delivered.ts';
import { eventually } from '../support/eventually.ts';
import { grantedTo } from '../support/granted.ts';
import { aRoleBinding } from '../support/role-bindings.ts';
import {
  installAccess,
  isAccess,
  writeKubeconfig,
  type ServiceAccount,
} from '../support/service-accounts.ts';
import { testStack } from '../support/stack.ts';

jest.setTimeout(1_200_000);
const WITHIN_MS = 60_000;

const ROOT = join(import.meta.dirname, '../..');
const stack = testStack();
const cluster = new TestCluster(stack.kubeconfig);
let helm: string;
/** A copy of deploy/, with what a person would write beside it. */
let deploy: string;

const OVERLAYS = ['base', 'overlays/split', 'overlays/namespaced', 'overlays/versioned'];
const ELSEWHERE = 'namespace: elsewhere\nnamePrefix: own-\n';

beforeAll(async () => {
  ({ helm } = await buildPrograms(['helm'], {}));
  deploy = await mkdtemp(join(tmpdir(), 'durable-operator-deploy-'));
  await cp(join(ROOT, 'deploy'), deploy, { recursive: true });
  for (const overlay of OVERLAYS) await kustomization(`${overlay}-elsewhere`, overlay, ELSEWHERE);
});

afterAll(async () => {
  await rm(deploy, { recursive: true });
  await cluster.close();
});

/** A folder of the copy that includes another. */
async function kustomization(folder: string, included: string, more: string): Promise<void> {
  await mkdir(join(deploy, folder));
  const text = `resources: [${join(...folder.split('/').map(() => '..'), included)}]\n${more}`;
  await writeFile(join(deploy, folder, 'kustomization.yaml'), text);
}

const Subjects = z.array(
  z.object({ kind: z.literal('ServiceAccount'), name: z.string(), namespace: z.string() }),
);
const InForce = z.object({
  spec: z.object({
    policyName: z.string(),
    paramRef: z.object({ selector: z.object({ matchLabels: z.record(z.string(), z.string()) }) }),
    validationActions: z.array(z.string()),
  }),
});

/** Those accounts that the policies among some objects are about: `namespace/name`. */
function limitedBy(objects: readonly Delivered[]): readonly string[] {
  const named = (kind: string) => objects.filter((object) => object.kind === kind);
  const policies = named('ValidatingAdmissionPolicy').map(({ metadata: { name } }) => name);
  return named('ValidatingAdmissionPolicyBinding')
    .map((object) => InForce.parse(object).spec)
    .filter(
      ({ policyName, validationActions }) =>
        policies.includes(policyName) && validationActions.includes('Deny'),
    )
    .flatMap(({ paramRef: { selector } }) =>
      named('ClusterRoleBinding').filter(({ metadata }) => hasLabels(metadata, selector.matchLabels)),
    )
    .flatMap(({ subjects }) => Subjects.parse(subjects))
    .map(({ namespace, name }) => `${namespace}/${name}`);
}

function hasLabels(metadata: Delivered['metadata'], wanted: Readonly<Record<string, string>>): boolean {
  const labels = z.record(z.string(), z.string()).default({}).parse(metadata['labels']);
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

/** Those accounts that may create, change or delete RoleBindings. */
function writersAmong(objects: readonly Delivered[]): readonly string[] {
  return objects
    .filter(({ kind }) => kind === 'ServiceAccount')
    .map(({ metadata: { namespace = '', name } }) => ({ namespace, name }))
    .filter((account) => grantedTo(account, objects).some((what) => WRITES.test(what)))
    .map(({ namespace, name }) => `${namespace}/${name}`);
}

const WRITES = /^(create|update|patch|delete|deletecollection) rolebindings\./;

describe('the policy for RoleBindings is about the accounts that may write them, and no others:', () => {
  it.each([
    ['base', 'system/controller-manager'],
    ['overlays/split', 'system/worker'],
    ['overlays/namespaced', 'system/controller-manager'],
    ['overlays/versioned', 'system/controller-manager'],
    ['base-elsewhere', 'elsewhere/own-controller-manager'],
    ['overlays/split-elsewhere', 'elsewhere/own-worker'],
    ['overlays/versioned-elsewhere', 'elsewhere/own-controller-manager'],
  ])('deploy/%s', async (folder, account) => {
    const objects = await kustomized(stack.kubectl, join(deploy, folder));
    expect(writersAmong(objects)).toEqual([account]);
    expect(limitedBy(objects)).toEqual([account]);
  });

  it('deploy/overlays/namespaced in another namespace', async () => {
    const objects = await kustomized(stack.kubectl, join(deploy, 'overlays/namespaced-elsewhere'));
    expect(limitedBy(objects)).toEqual(['elsewhere/own-controller-manager']);
  });

  it.each([
    ['controller-manager', 'mode=run'],
    ['worker', 'mode=split'],
    ['controller-manager', 'namespaces={team-1}'],
    ['worker', 'namespaces={team-1}', 'mode=split'],
    ['controller-manager', 'versioning.enabled=true'],
    ['controller-manager', 'controllers={namespace-role-binding}'],
  ])('the chart, for %s: %s', async (account, ...values) => {
    const objects = await charted(helm, values, 'elsewhere');
    expect(writersAmong(objects)).toEqual([`elsewhere/${account}`]);
    expect(limitedBy(objects)).toEqual([`elsewhere/${account}`]);
  });
});

describe('the chart', () => {
  it.each([['controllers={pod-label,pod-set,git-build}'], ['roleBinding.admissionPolicy=false']])(
    'has no policy, and nothing that is marked for it: %s',
    async (value) => {
      expect(JSON.stringify(await charted(helm, [value]))).not.toMatch(/role-binding-policy|Admission/);
    },
  );

  it('refuses flags that the policy would not know of', async () => {
    const value = 'extraArgs={--role-binding-prefix=own-}';
    await expect(charted(helm, [value])).rejects.toThrow('set it under roleBinding');
    await expect(charted(helm, [value, 'roleBinding.admissionPolicy=false'])).resolves.toBeDefined();
  });

  it.each([
    ['no labels', [], undefined],
    ['a label', ['matchLabels.team=a'], 'team=a'],
    [
      'all that a selector has',
      [
        'matchLabels.team=',
        ...expression(0, 'env', 'In', 'dev', 'test'),
        ...expression(1, 'tier', 'NotIn', 'x'),
        ...expression(2, 'zone', 'NotIn', 'x', 'y'),
        ...expression(3, 'on', 'Exists'),
        ...expression(4, 'off', 'DoesNotExist'),
      ],
      'team=,env in (dev,test),tier!=x,zone notin (x,y),on,!off',
    ],
  ])('tells the operator which namespaces are selected by %s', async (_what, values, selector) => {
    const objects = await charted(
      helm,
      values.map((value) => `roleBinding.namespaceSelector.${value}`),
    );
    const flag = /"--namespace-selector=([^"]*)"/.exec(JSON.stringify(objects));
    expect(flag?.[1]).toBe(selector);
  });
});

function expression(index: number, key: string, operator: string, ...values: readonly string[]): string[] {
  const path = `matchExpressions[${index}]`;
  const some = values.length > 0 ? [`${path}.values={${values.join()}}`] : [];
  return [`${path}.key=${key}`, `${path}.operator=${operator}`, ...some];
}

/** What an account may create in a namespace, as far as the API server lets it, and nothing is kept. */
interface Probe {
  readonly denied: (binding: { readonly manifest: object }, where: string, why: string) => Promise<true>;
  readonly accepted: (binding: { readonly manifest: object }, where: string) => Promise<unknown>;
}

/** With a token of the account. */
async function withTokenOf(account: ServiceAccount, test: (probe: Probe) => Promise<void>): Promise<void> {
  const file = join(stack.dir, `${uniqueName()}.kubeconfig`);
  await writeKubeconfig(cluster.client, { account, admin: stack.kubeconfig, file });
  const user = new TestCluster(file);
  const create = ({ manifest }: { readonly manifest: object }, namespace: string) =>
    user.client.request({
      method: 'POST',
      path: resourcePath(ROLE_BINDINGS, { namespace }),
      query: { dryRun: 'All' },
      body: manifest,
    });
  try {
    await test({
      // It takes the API server a moment to see roles and policies.
      accepted: (binding, where) => eventually(() => create(binding, where), WITHIN_MS),
      denied: (binding, where, why) =>
        eventually(async () => {
          await expect(create(binding, where)).rejects.toThrow(why);
          return true;
        }, WITHIN_MS),
    });
  } finally {
    await user.close();
  }
}

const POLICIES = { group: 'admissionregistration.k8s.io', version: 'v1' };
const policyNamed = (name: string): At[] =>
  ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map((plural) => ({
    type: { ...POLICIES, plural },
    name,
  }));

describe('an operator that was installed elsewhere', () => {
  let team: string;

  beforeAll(async () => {
    team = await cluster.aNamespace();
    await cluster.createNamespace('elsewhere');
  });

  afterAll(() => cluster.delete({ type: NAMESPACES, name: 'elsewhere' }));

  it('by Kustomize, under other names, may write what it is to write, and nothing else', async () => {
    const objects = await kustomized(stack.kubectl, join(deploy, 'base-elsewhere'));
    const access = objects.filter((object) => isAccess(object) && object.kind !== 'Namespace');
    // By kubectl: Kustomize takes the policy for something that lies in a namespace, and kubectl knows better.
    await kubectlApply(access);
    // The one of deploy/base is about this account, too: it goes by the label.
    for (const at of policyNamed('durable-operator-role-bindings')) await cluster.delete(at);
    await withTokenOf({ namespace: 'elsewhere', name: 'own-controller-manager' }, async (probe) => {
      await probe.accepted(aRoleBinding(team), team);
      await probe.denied(aRoleBinding(team).of('intruders'), team, 'own-durable-operator-role-bindings');
    });
    await installAccess(cluster.client, await kustomized(stack.kubectl, 'base'));
    for (const at of policyNamed('own-durable-operator-role-bindings')) await cluster.delete(at);
    await cluster.delete({
      type: { ...ROLE_BINDINGS, plural: 'clusterrolebindings' },
      name: 'own-manager-rolebinding',
    });
  });

  it('by the chart, with other options, may write what these say, and nothing else', async () => {
    const label = uniqueName();
    const selected = await cluster.createNamespace(uniqueName(), { [label]: 'a' });
    const excluded = await cluster.createNamespace(uniqueName(), { [label]: 'a' });
    const { name: own } = selected.metadata;
    const { name: left } = excluded.metadata;
    const values = ['mode=split', 'roleBinding.clusterRole=view', 'roleBinding.prefix=t:<&'];
    const selector = `roleBinding.namespaceSelector.matchLabels.${label}=a`;
    await installAccess(
      cluster.client,
      await charted(helm, [...values, selector, `roleBinding.excludeNamespaces={${left}}`], 'elsewhere'),
    );
    await withTokenOf({ namespace: 'elsewhere', name: 'worker' }, async ({ accepted, denied }) => {
      const binding = (where: string) => aRoleBinding(where).prefixed('t:<&').to('view');
      await accepted(binding(own), own);
      await denied(binding(own).to('edit'), own, 'attempting to grant RBAC permissions');
      await denied(aRoleBinding(own).to('view'), own, `may write no RoleBinding here but t:<&${own}`);
      await denied(binding(left), left, 'it is excluded, or not selected');
      await denied(binding(team), team, 'it is excluded, or not selected');
    });
    await installAccess(cluster.client, await kustomized(stack.kubectl, 'base'));
    await cluster.delete({
      type: { ...ROLE_BINDINGS, plural: 'clusterrolebindings' },
      name: 'worker-rolebinding',
    });
  });

  it.each([
    ['In', ['a', 'b'], { yes: { k: 'b' }, no: { k: 'c' } }],
    ['In', ['a'], { yes: { k: 'a' }, no: {} }],
    ['NotIn', ['a', 'b'], { yes: {}, no: { k: 'b' } }],
    ['NotIn', ['a', 'b'], { yes: { k: 'c' }, no: { k: 'a' } }],
    ['Exists', [], { yes: { k: '' }, no: {} }],
    ['DoesNotExist', [], { yes: {}, no: { k: '' } }],
  ])('for some namespaces, follows a selector with %s %j', async (operator, values, { yes, no }) => {
    const [selected, unselected] = await Promise.all([
      cluster.createNamespace(uniqueName(), yes),
      cluster.createNamespace(uniqueName(), no),
    ]);
    const namespaces = [selected.metadata.name, unselected.metadata.name] as const;
    const selector = expression(0, 'k', operator, ...values);
    const objects = await charted(
      helm,
      [
        `namespaces={${namespaces.join()}}`,
        'metrics.secure=false',
        ...selector.map((value) => `roleBinding.namespaceSelector.${value}`),
      ],
      'elsewhere',
    );
    await installAccess(cluster.client, objects);
    await withTokenOf({ namespace: 'elsewhere', name: 'controller-manager' }, async (probe) => {
      await probe.denied(aRoleBinding(namespaces[1]), namespaces[1], 'it is excluded, or not selected');
      await probe.accepted(aRoleBinding(namespaces[0]), namespaces[0]);
    });
    for (const at of policyNamed('durable-operator-role-bindings-elsewhere')) await cluster.delete(at);
  });
});

describe('what docs/deploying.md says to patch', () => {
  /** The examples of the section, each with nothing before its lines. */
  async function examples(): Promise<readonly string[]> {
    const page = await readFile(join(ROOT, 'docs/deploying.md'), 'utf8');
    const [, section = ''] = page.split('### The policy for RoleBindings');
    const blocks = section.split('\n## ')[0]?.matchAll(/^( *)```yaml\n(.*?)^ *```$/gms) ?? [];
    return [...blocks].map(([, indent = '', text = '']) => text.replaceAll(RegExp(`^${indent}`, 'gm'), ''));
  }

  it('makes the policy follow options', async () => {
    const [options = ''] = await examples();
    await kustomization('patched', 'base', options);
    const objects = await kustomized(stack.kubectl, join(deploy, 'patched'));
    const policy = objects.find(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    expect(policy?.['spec']).toMatchObject({
      variables: expect.arrayContaining([
        { name: 'prefix', expression: '"team-"' },
        { name: 'clusterRole', expression: '"edit"' },
        { name: 'excludeNamespaces', expression: '["kube-system", "system"]' },
      ]),
    });
  });

  it('leaves the policy out', async () => {
    const [, none = ''] = await examples();
    await kustomization('without', 'base', none);
    const [base, without] = await Promise.all(
      ['base', 'without'].map((folder) => kustomized(stack.kubectl, join(deploy, folder))),
    );
    const isOfPolicy = ({ kind }: Delivered) => kind.startsWith('ValidatingAdmission');
    expect(base?.filter(isOfPolicy)).toHaveLength(2);
    expect(without).toEqual(base?.filter((object) => !isOfPolicy(object)));
  });
});

async function kubectlApply(objects: readonly Delivered[]): Promise<void> {
  const file = join(deploy, 'access.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  const args = ['apply', '--server-side', '--validate=strict', '--filename', file];
  await promisify(execFile)(stack.kubectl, ['--kubeconfig', stack.kubeconfig, ...args]);
}
