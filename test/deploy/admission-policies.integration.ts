import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { buildPrograms } from '../../local/build.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { APPROVED_ANNOTATION } from '../../src/contract/control.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/decide.ts';
import { controllerReference, labelsFor } from '../../src/controllers/pod-set/pod.ts';
import { POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import type { RequestOptions } from '../../src/kubernetes/client.ts';
import {
  NAMESPACES,
  PODS,
  ROLE_BINDINGS,
  TestCluster,
  uniqueName,
  type At,
  type Manifest,
} from '../support/cluster.ts';
import { charted, kustomized, type Delivered } from '../support/delivered.ts';
import { addKustomization, copyOfDeploy } from '../support/deploy-copy.ts';
import { eventually } from '../support/eventually.ts';
import { grantedTo } from '../support/granted.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
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
const ELSEWHERE_BY_CHART = { name: 'other', namespace: 'elsewhere' };

beforeAll(async () => {
  ({ helm } = await buildPrograms(['helm'], {}));
  deploy = await copyOfDeploy();
  for (const overlay of OVERLAYS)
    await addKustomization(deploy, `${overlay}-elsewhere`, { included: overlay, more: ELSEWHERE });
});

afterAll(async () => {
  await rm(deploy, { recursive: true });
  await cluster.close();
});

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

/** A policy, however it is called in the end, and what an account may that it is to limit. */
interface Policy {
  readonly name: string;
  readonly limits: RegExp;
}

const ROLE_BINDING_POLICY: Policy = {
  name: 'durable-operator-role-bindings',
  limits: /^(create|update|patch|delete|deletecollection) rolebindings\./,
};
const POD_POLICY: Policy = { name: 'durable-operator-pods', limits: /^(update|patch) pods(\/|$)/ };
/** About everybody; the accounts are those that it lets answer nothing. */
const APPROVAL_POLICY = { name: 'durable-operator-approvals' };
const ALL_POLICIES = [ROLE_BINDING_POLICY, POD_POLICY, APPROVAL_POLICY];

/** Those accounts that a policy among some objects is about: `namespace/name`. */
function limitedBy(policy: Pick<Policy, 'name'>, objects: readonly Delivered[]): readonly string[] {
  const named = (kind: string) => objects.filter((object) => object.kind === kind);
  const policies = named('ValidatingAdmissionPolicy')
    .map(({ metadata: { name } }) => name)
    .filter((name) => name.includes(policy.name));
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
  const labels = z.record(z.string(), z.string()).default({}).parse(metadata.labels);
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

/** Those accounts that a policy is to be about. */
function toLimit({ limits }: Policy, objects: readonly Delivered[]): readonly string[] {
  return objects
    .filter(({ kind }) => kind === 'ServiceAccount')
    .map(({ metadata: { namespace = '', name } }) => ({ namespace, name }))
    .filter((account) => grantedTo(account, objects).some((what) => limits.test(what)))
    .map(({ namespace, name }) => `${namespace}/${name}`);
}

describe.each([ROLE_BINDING_POLICY, POD_POLICY])(
  'the policy $name is about the accounts that may write what it limits, and no others:',
  (policy) => {
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
      expect(toLimit(policy, objects)).toEqual([account]);
      expect(limitedBy(policy, objects)).toEqual([account]);
    });

    it('deploy/overlays/namespaced in another namespace', async () => {
      const objects = await kustomized(stack.kubectl, join(deploy, 'overlays/namespaced-elsewhere'));
      expect(limitedBy(policy, objects)).toEqual(['elsewhere/own-controller-manager']);
    });

    it.each([
      ['controller-manager', 'mode=run'],
      ['worker', 'mode=split'],
      ['controller-manager', 'namespaces={team-1}'],
      ['worker', 'namespaces={team-1}', 'mode=split'],
      ['controller-manager', 'versioning.enabled=true'],
      ['controller-manager', 'controllers={namespace-role-binding,pod-label}'],
      ['controller-manager', 'controllers={namespace-role-binding,pod-set}'],
    ])('the chart, for %s: %s', async (account, ...values) => {
      const objects = await charted(helm, values, ELSEWHERE_BY_CHART);
      expect(toLimit(policy, objects)).toEqual([`elsewhere/other-durable-operator-${account}`]);
      expect(limitedBy(policy, objects)).toEqual([`elsewhere/other-durable-operator-${account}`]);
    });

    it('the chart, for each controller alone', async () => {
      for (const controller of ['pod-label', 'namespace-role-binding', 'pod-set', 'git-build']) {
        const objects = await charted(helm, [`controllers={${controller}}`]);
        expect([controller, limitedBy(policy, objects)]).toEqual([controller, toLimit(policy, objects)]);
      }
    });
  },
);

describe('the chart', () => {
  it.each([
    [['controllers={pod-label,pod-set,git-build}'], [POD_POLICY, APPROVAL_POLICY]],
    [['controllers={pod-label}'], [POD_POLICY]],
    [['controllers={git-build}'], [APPROVAL_POLICY]],
    [['admissionPolicies.roleBindings=false'], [POD_POLICY, APPROVAL_POLICY]],
    [['admissionPolicies.pods=false'], [ROLE_BINDING_POLICY, APPROVAL_POLICY]],
    [['admissionPolicies.approvals=false'], [ROLE_BINDING_POLICY, POD_POLICY]],
    [
      ['namespaces={team-1}', 'admissionPolicies.pods=false'],
      [ROLE_BINDING_POLICY, APPROVAL_POLICY],
    ],
  ])('has the policies that are of use and wanted: %s', async (values, policies) => {
    const objects = await charted(helm, values);
    const names = objects
      .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
      .map(({ metadata: { name } }) => name);
    expect(names).toEqual(policies.map(({ name }) => expect.stringContaining(name)));
    const account = 'durable-operator-system/durable-operator-controller-manager';
    for (const policy of policies) expect(limitedBy(policy, objects)).toEqual([account]);
  });

  it.each([
    [['controllers={git-build}', 'admissionPolicies.approvals=false']],
    [['roleBindings', 'pods', 'approvals'].map((policy) => `admissionPolicies.${policy}=false`)],
  ])('has no policy, and nothing that is marked for it: %s', async (values) => {
    expect(JSON.stringify(await charted(helm, values))).not.toMatch(/admission-policy|Admission/);
  });

  it('refuses flags that the policy would not know of', async () => {
    const value = 'extraArgs={--role-binding-prefix=own-}';
    await expect(charted(helm, [value])).rejects.toThrow('set it under roleBinding');
    await expect(charted(helm, [value, 'admissionPolicies.roleBindings=false'])).resolves.toBeDefined();
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
  /** Any other request. */
  readonly client: TestCluster['client'];
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
      client: user.client,
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
    for (const at of ALL_POLICIES.flatMap(({ name }) => policyNamed(name))) await cluster.delete(at);
    const pod = await cluster.create(PODS, aPod().in(team).manifest);
    await withTokenOf({ namespace: 'elsewhere', name: 'own-controller-manager' }, async (probe) => {
      await eventually(async () => {
        const asked = probe.client.request(patchOf(pod.metadata.name, { metadata: { labels: { a: 'b' } } }));
        await expect(asked).rejects.toThrow('own-durable-operator-pods');
        return true;
      }, WITHIN_MS);
      await probe.accepted(aRoleBinding(team), team);
      await probe.denied(aRoleBinding(team).of('intruders'), team, 'own-durable-operator-role-bindings');
    });
    await installAccess(cluster.client, await kustomized(stack.kubectl, 'base'));
    for (const at of ALL_POLICIES.flatMap(({ name }) => policyNamed(`own-${name}`))) await cluster.delete(at);
    await cluster.delete({
      type: { ...ROLE_BINDINGS, plural: 'clusterrolebindings' },
      name: 'own-manager-rolebinding',
    });
  });

  it('by the chart, for pod-label alone, may write the label of Pods, and nothing else', async () => {
    const pod = aPod().in(team).labelled(labelsFor('set')).annotated();
    const { name } = (await cluster.create(PODS, pod.named('labelled').manifest)).metadata;
    const objects = await charted(helm, ['controllers={pod-label}'], ELSEWHERE_BY_CHART);
    await installAccess(cluster.client, objects);
    await withTokenOf(byChart('controller-manager'), async ({ client }) => {
      const label = { metadata: { labels: { [POD_NAME_LABEL]: name } } };
      await eventually(() => client.request(patchOf(name, label)), WITHIN_MS);
      const adopting = { ownerReferences: [controllerReference({ name: 'set', uid: 'a-uid' })] };
      await eventually(async () => {
        const asked = client.request(patchOf(name, { metadata: adopting }));
        await expect(asked).rejects.toThrow('may only make a PodSet the controller');
        return true;
      }, WITHIN_MS);
      const image = [{ op: 'replace', path: '/spec/containers/0/image', value: 'example.com/other' }];
      const replacing = { ...patchOf(name, image), contentType: 'application/json-patch+json' } as const;
      await expect(client.request(replacing)).rejects.toThrow('may not change the spec');
      await expect(client.request(applied(pod.named('new').manifest))).rejects.toThrow('cannot create');
    });
    await kubectlDelete(objects.filter(isAccess));
  });

  const byChart = (name: string): ServiceAccount => ({
    namespace: 'elsewhere',
    name: `other-durable-operator-${name}`,
  });

  /** Nothing is kept. */
  function patchOf(name: string, body: object): RequestOptions {
    const path = resourcePath(PODS, { namespace: team, name });
    return { method: 'PATCH', path, query: { dryRun: 'All' }, body };
  }

  /** Creates what is not there. */
  function applied(manifest: Manifest): RequestOptions {
    const query = { dryRun: 'All', fieldManager: 'thief', force: true };
    const contentType = 'application/apply-patch+yaml';
    return { ...patchOf(manifest.metadata.name, manifest), query, contentType };
  }

  it('by the chart, with other options, may write what these say, and nothing else', async () => {
    const label = uniqueName();
    const selected = await cluster.createNamespace(uniqueName(), { [label]: 'a' });
    const excluded = await cluster.createNamespace(uniqueName(), { [label]: 'a' });
    const { name: own } = selected.metadata;
    const { name: left } = excluded.metadata;
    const values = ['mode=split', 'roleBinding.clusterRole=view', 'roleBinding.prefix=t:<&'];
    const selector = `roleBinding.namespaceSelector.matchLabels.${label}=a`;
    const all = [...values, selector, `roleBinding.excludeNamespaces={${left}}`];
    const objects = await charted(helm, all, ELSEWHERE_BY_CHART);
    await installAccess(cluster.client, objects);
    await withTokenOf(byChart('worker'), async ({ accepted, denied }) => {
      const binding = (where: string) => aRoleBinding(where).prefixed('t:<&').to('view');
      await accepted(binding(own), own);
      await denied(binding(own).to('edit'), own, 'attempting to grant RBAC permissions');
      await denied(aRoleBinding(own).to('view'), own, `may write no RoleBinding here but t:<&${own}`);
      await denied(binding(left), left, 'it is excluded, or not selected');
      await denied(binding(team), team, 'it is excluded, or not selected');
    });
    await kubectlDelete(objects.filter(isAccess));
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
      ELSEWHERE_BY_CHART,
    );
    await installAccess(cluster.client, objects);
    await withTokenOf(byChart('controller-manager'), async (probe) => {
      await probe.denied(aRoleBinding(namespaces[1]), namespaces[1], 'it is excluded, or not selected');
      await probe.accepted(aRoleBinding(namespaces[0]), namespaces[0]);
    });
    await kubectlDelete(objects.filter(isAccess));
  });

  it('by the chart, for some namespaces, has nobody approve without a name there, and says nothing of others', async () => {
    const other = await cluster.aNamespace();
    // The one of deploy/base says the same of all.
    for (const at of policyNamed(APPROVAL_POLICY.name)) await cluster.delete(at);
    const values = [`namespaces={${team}}`, 'metrics.secure=false'];
    const objects = await charted(helm, values, ELSEWHERE_BY_CHART);
    await installAccess(cluster.client, objects);
    const annotations = { [APPROVED_ANNOTATION]: '1-00000000' };
    const ofNamespace = (name: string): RequestOptions => {
      const path = resourcePath(NAMESPACES, { name });
      return { method: 'PATCH', path, query: { dryRun: 'All' }, body: { metadata: { annotations } } };
    };
    const inNamespace = (namespace: string): RequestOptions => {
      const body = {
        ...aPodSet().wanting(0).object,
        metadata: { name: uniqueName(), namespace, annotations },
      };
      const path = resourcePath(POD_SETS, { namespace });
      return { method: 'POST', path, query: { dryRun: 'All' }, body };
    };
    for (const approving of [ofNamespace, inNamespace]) {
      await eventually(async () => {
        await expect(cluster.client.request(approving(team))).rejects.toThrow(
          'other-durable-operator-approvals',
        );
        return true;
      }, WITHIN_MS);
      await eventually(() => cluster.client.request(approving(other)), WITHIN_MS);
    }
    await kubectlDelete(objects.filter(isAccess));
    await installAccess(cluster.client, await kustomized(stack.kubectl, 'base'));
  });
});

describe('what docs/deploying.md says to patch', () => {
  /** The examples of the section, each with nothing before its lines. */
  async function examples(): Promise<readonly string[]> {
    const page = await readFile(join(ROOT, 'docs/deploying.md'), 'utf8');
    const [, section = ''] = page.split('### Admission policies');
    const blocks = section.split('\n## ')[0]?.matchAll(/^( *)```yaml\n(.*?)^ *```$/gms) ?? [];
    return [...blocks].map(([, indent = '', text = '']) => text.replaceAll(RegExp(`^${indent}`, 'gm'), ''));
  }

  it('makes the policy for RoleBindings follow options, and leaves the other as it is', async () => {
    const [options = ''] = await examples();
    await addKustomization(deploy, 'patched', { included: 'base', more: options });
    const objects = await kustomized(stack.kubectl, join(deploy, 'patched'));
    const policy = objects.find(
      ({ kind, metadata }) =>
        kind === 'ValidatingAdmissionPolicy' && metadata.name === ROLE_BINDING_POLICY.name,
    );
    expect(policy?.['spec']).toMatchObject({
      variables: expect.arrayContaining([
        { name: 'prefix', expression: '"team-"' },
        { name: 'clusterRole', expression: '"edit"' },
        { name: 'excludeNamespaces', expression: '["kube-system", "system"]' },
      ]),
    });
  });

  it('leaves the policies out', async () => {
    const [, none = ''] = await examples();
    await addKustomization(deploy, 'without', { included: 'base', more: none });
    const [base, without] = await Promise.all(
      ['base', 'without'].map((folder) => kustomized(stack.kubectl, join(deploy, folder))),
    );
    const isOfPolicy = ({ kind }: Delivered) => kind.startsWith('ValidatingAdmission');
    expect(base?.filter(isOfPolicy)).toHaveLength(6);
    expect(without).toEqual(base?.filter((object) => !isOfPolicy(object)));
  });
});

function kubectlApply(objects: readonly Delivered[]): Promise<void> {
  return kubectl(objects, ['apply', '--server-side', '--validate=strict']);
}

function kubectlDelete(objects: readonly Delivered[]): Promise<void> {
  return kubectl(objects, ['delete', '--ignore-not-found']);
}

async function kubectl(objects: readonly Delivered[], args: readonly string[]): Promise<void> {
  const file = join(deploy, 'access.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  const all = ['--kubeconfig', stack.kubeconfig, ...args, '--filename', file];
  await promisify(execFile)(stack.kubectl, all);
}
