import { describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { charted, type Delivered } from '../support/delivered.ts';
import { grantedTo } from '../../testing/stack/rights.ts';

/* The admission policies in the chart, and the accounts that they are about. Only Helm is needed, and no cluster. */

jest.setTimeout(1_200_000);

const ELSEWHERE = { name: 'other', namespace: 'elsewhere' };

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

/** A policy, by a part of its name, and the permissions that it has to limit. */
interface Policy {
  readonly name: string;
  readonly limits: RegExp;
}

const ROLE_BINDING_POLICY: Policy = {
  name: 'durable-operator-role-bindings',
  limits: /^(create|update|patch|delete|deletecollection) rolebindings\./,
};
const POD_POLICY: Policy = { name: 'durable-operator-pods', limits: /^(update|patch) pods(\/|$)/ };
/** It is about everybody. Its accounts are those that may not approve anything. */
const APPROVAL_POLICY = { name: 'durable-operator-approvals' };

/** The accounts that a policy among some objects is about: `namespace/name`. */
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

/** The accounts that a policy has to be about. */
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
      ['worker', 'mode=split'],
      ['controller-manager', 'namespaces={team-1}'],
      ['worker', 'namespaces={team-1}', 'mode=split'],
      ['controller-manager', 'versioning.enabled=true'],
    ])('for %s: %s', async (account, ...values) => {
      const objects = await charted(values, ELSEWHERE);
      expect(toLimit(policy, objects)).toEqual([`elsewhere/other-durable-operator-${account}`]);
      expect(limitedBy(policy, objects)).toEqual([`elsewhere/other-durable-operator-${account}`]);
    });

    it('for each controller alone', async () => {
      for (const controller of ['pod-label', 'namespace-role-binding', 'pod-set', 'git-build']) {
        const objects = await charted([`controllers={${controller}}`]);
        expect([controller, limitedBy(policy, objects)]).toEqual([controller, toLimit(policy, objects)]);
      }
    });
  },
);

describe('the chart', () => {
  it.each([
    [['controllers={pod-label,pod-set,git-build}'], [POD_POLICY, APPROVAL_POLICY]],
    [['controllers={pod-label}'], [POD_POLICY]],
    [['admissionPolicies.roleBindings=false'], [POD_POLICY, APPROVAL_POLICY]],
    [['admissionPolicies.pods=false'], [ROLE_BINDING_POLICY, APPROVAL_POLICY]],
    [['admissionPolicies.approvals=false'], [ROLE_BINDING_POLICY, POD_POLICY]],
  ])('has the policies that are of use and wanted: %s', async (values, policies) => {
    const objects = await charted(values);
    const names = objects
      .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
      .map(({ metadata: { name } }) => name);
    expect(names).toEqual(policies.map(({ name }) => expect.stringContaining(name)));
    const account = 'durable-operator-system/durable-operator-controller-manager';
    for (const policy of policies) expect(limitedBy(policy, objects)).toEqual([account]);
    const isToldSo = JSON.stringify(objects).includes('"--approvers-checked"');
    expect(isToldSo).toBe(policies.includes(APPROVAL_POLICY));
  });

  it('has no policy where none is wanted, and nothing that is marked for it', async () => {
    const values = ['roleBindings', 'pods', 'approvals'].map((policy) => `admissionPolicies.${policy}=false`);
    expect(JSON.stringify(await charted(values))).not.toMatch(/admission-policy|Admission/);
  });

  it('refuses flags that the policy would not know of', async () => {
    const value = 'extraArgs={--role-binding-prefix=own-}';
    await expect(charted([value])).rejects.toThrow('set it under roleBinding');
    await expect(charted([value, 'admissionPolicies.roleBindings=false'])).resolves.toBeDefined();
  });

  it.each([
    ['no labels', [], undefined],
    [
      'all that a selector has',
      [
        'matchLabels.team=',
        'matchExpressions[0].key=env',
        'matchExpressions[0].operator=In',
        'matchExpressions[0].values={dev,test}',
        'matchExpressions[1].key=tier',
        'matchExpressions[1].operator=NotIn',
        'matchExpressions[1].values={x}',
        'matchExpressions[2].key=zone',
        'matchExpressions[2].operator=NotIn',
        'matchExpressions[2].values={x,y}',
        'matchExpressions[3].key=on',
        'matchExpressions[3].operator=Exists',
        'matchExpressions[4].key=off',
        'matchExpressions[4].operator=DoesNotExist',
      ],
      'team=,env in (dev,test),tier!=x,zone notin (x,y),on,!off',
    ],
  ])('tells the operator which namespaces are selected by %s', async (_what, values, selector) => {
    const objects = await charted(values.map((value) => `roleBinding.namespaceSelector.${value}`));
    const flag = /"--namespace-selector=([^"]*)"/.exec(JSON.stringify(objects));
    expect(flag?.[1]).toBe(selector);
  });
});
