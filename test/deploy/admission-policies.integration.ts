import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { APPROVED_ANNOTATION } from '../../src/api/annotations.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { podSetReference, labelsFor } from '../../src/controllers/pod-set/pod.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
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
import { charted, installed, type Delivered } from '../support/delivered.ts';
import { eventually } from '../../testing/eventually.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { aRoleBinding } from '../support/role-bindings.ts';
import { installAccess, isAccess } from '../support/service-accounts.ts';
import { writeKubeconfig, type ServiceAccount } from '../../testing/stack/service-account.ts';
import { testStack } from '../support/stack.ts';

jest.setTimeout(1_200_000);
const WITHIN_MS = 60_000;

const stack = testStack();
const cluster = new TestCluster(stack.kubeconfig);
const ELSEWHERE = { name: 'other', namespace: 'elsewhere' };
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'durable-operator-policies-'));
});

afterAll(async () => {
  await rm(dir, { recursive: true });
  await cluster.close();
});

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

  it('for pod-label alone, may write the label of Pods, and nothing else', async () => {
    const pod = aPod().in(team).labelled(labelsFor('set')).annotated();
    const { name } = (await cluster.create(PODS, pod.named('labelled').manifest)).metadata;
    const objects = await charted(['controllers={pod-label}'], ELSEWHERE);
    await installAccess(cluster.client, objects);
    await withTokenOf(byChart('controller-manager'), async ({ client }) => {
      const label = { metadata: { labels: { [POD_NAME_LABEL]: name } } };
      await eventually(() => client.request(patchOf(name, label)), WITHIN_MS);
      const adopting = { ownerReferences: [podSetReference({ name: 'set', uid: 'a-uid' })] };
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

  it('with other options, may write what these say, and nothing else', async () => {
    const label = uniqueName();
    const selected = await cluster.createNamespace(uniqueName(), { [label]: 'a' });
    const excluded = await cluster.createNamespace(uniqueName(), { [label]: 'a' });
    const { name: own } = selected.metadata;
    const { name: left } = excluded.metadata;
    const values = ['mode=split', 'roleBinding.clusterRole=view', 'roleBinding.prefix=t:<&'];
    const selector = `roleBinding.namespaceSelector.matchLabels.${label}=a`;
    const all = [...values, selector, `roleBinding.excludeNamespaces={${left}}`];
    const objects = await charted(all, ELSEWHERE);
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
    ['NotIn', ['a', 'b'], { yes: {}, no: { k: 'b' } }],
    ['Exists', [], { yes: { k: '' }, no: {} }],
    ['DoesNotExist', [], { yes: {}, no: { k: '' } }],
  ])('for some namespaces, follows a selector with %s %j', async (operator, values, { yes, no }) => {
    const [selected, unselected] = await Promise.all([
      cluster.createNamespace(uniqueName(), yes),
      cluster.createNamespace(uniqueName(), no),
    ]);
    const namespaces = [selected.metadata.name, unselected.metadata.name] as const;
    const expression = 'roleBinding.namespaceSelector.matchExpressions[0]';
    const objects = await charted(
      [
        ...[`namespaces={${namespaces.join()}}`, 'metrics.secure=false'],
        ...[`${expression}.key=k`, `${expression}.operator=${operator}`],
        ...(values.length > 0 ? [`${expression}.values={${values.join()}}`] : []),
      ],
      ELSEWHERE,
    );
    await installAccess(cluster.client, objects);
    await withTokenOf(byChart('controller-manager'), async (probe) => {
      await probe.denied(aRoleBinding(namespaces[1]), namespaces[1], 'it is excluded, or not selected');
      await probe.accepted(aRoleBinding(namespaces[0]), namespaces[0]);
    });
    await kubectlDelete(objects.filter(isAccess));
  });

  it('for some namespaces, has nobody approve without a name there, and says nothing of others', async () => {
    const other = await cluster.aNamespace();
    // The policy of the stack's own operator is about all namespaces.
    for (const at of policyNamed('durable-operator-approvals')) await cluster.delete(at);
    const values = [`namespaces={${team}}`, 'metrics.secure=false'];
    const objects = await charted(values, ELSEWHERE);
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
      const path = resourcePath(PodSetKind, { namespace });
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
    await installAccess(cluster.client, await installed());
  });
});

async function kubectlDelete(objects: readonly Delivered[]): Promise<void> {
  const file = join(dir, 'access.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  const all = ['--kubeconfig', stack.kubeconfig, 'delete', '--ignore-not-found', '--filename', file];
  await promisify(execFile)(stack.kubectl, all);
}
