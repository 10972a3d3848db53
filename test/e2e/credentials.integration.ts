import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { CLUSTER_ROLE_BINDINGS, PODS, SERVICE_ACCOUNTS, TestCluster } from '../support/cluster.ts';
import { installed } from '../support/delivered.ts';
import { aPod } from '../support/pods.ts';
import { installAccess, OPERATOR, userNameOf } from '../support/service-accounts.ts';
import { setUpStage } from '../support/stage.ts';

/*
 * What SECURITY.md says of the operator's service accounts, "What each credential is worth", in both modes of the chart:
 * the answers of the API server. The tests of the admission policies are in role-binding-policy.integration.ts and
 * pod-policy.integration.ts.
 */

jest.setTimeout(120_000);

const { stack, cluster } = setUpStage(async () => {
  await thief.close();
  // Other tests run with the account of mode "run".
  for (const name of ['watcher-rolebinding', 'worker-rolebinding'])
    await cluster.delete({ type: CLUSTER_ROLE_BINDINGS, name: `durable-operator-${name}` });
  await installAccess(cluster.client, await installed());
});
/** Has the operator's token. */
const thief = new TestCluster(stack.operatorKubeconfig);

beforeAll(async () => {
  await installAccess(cluster.client, await installed(['mode=split']));
});

/** In kube-system, where it is worth most. */
const RUNS_PROGRAMS = ['create pods', 'create jobs.batch'];
const WORKER_CAN = [
  ...RUNS_PROGRAMS,
  'patch pods',
  'delete pods',
  'delete jobs.batch',
  'create rolebindings.rbac.authorization.k8s.io',
  'patch xxxes.test.inspur.com',
  'patch xxxes.test.inspur.com/status',
  'patch podsets.batch.tutorial.kubebuilder.io/status',
  'create events.events.k8s.io',
];
const READING = [
  'pods',
  'jobs.batch',
  'rolebindings.rbac.authorization.k8s.io',
  'namespaces',
  'podsets.batch.tutorial.kubebuilder.io',
  'xxxes.test.inspur.com',
].map((what) => `list ${what}`);
const NOBODY_CAN = [
  'get secrets',
  'list secrets',
  'get configmaps',
  'get pods/log',
  'create pods/exec',
  'patch pods/ephemeralcontainers',
  'patch pods/resize',
  'patch pods/status',
  'update pods',
  'create serviceaccounts/token',
  'impersonate users',
  'create roles.rbac.authorization.k8s.io',
  'escalate clusterroles.rbac.authorization.k8s.io',
  'bind clusterroles.rbac.authorization.k8s.io',
  'patch clusterroles.rbac.authorization.k8s.io',
  'create clusterrolebindings.rbac.authorization.k8s.io',
  'patch clusterrolebindings.rbac.authorization.k8s.io',
  'patch validatingadmissionpolicies.admissionregistration.k8s.io',
  'delete validatingadmissionpolicybindings.admissionregistration.k8s.io',
];

describe.each([
  ['controller-manager', { can: [...WORKER_CAN, ...READING], cannot: NOBODY_CAN }],
  ['worker', { can: WORKER_CAN, cannot: NOBODY_CAN }],
  ['watcher', { can: READING, cannot: [...NOBODY_CAN, ...WORKER_CAN] }],
])('the token of %s', (name, { can, cannot }) => {
  it.each(can)('lets its owner %s in any namespace', async (what) => {
    expect(await allows(name, what)).toBe(true);
  });

  it.each(cannot)('does not let its owner %s', async (what) => {
    expect(await allows(name, what)).toBe(false);
  });
});

describe('the token of a watcher', () => {
  it('lets its owner write Leases where the operator is, and nowhere else', async () => {
    expect(await allows('watcher', 'create leases.coordination.k8s.io', 'system')).toBe(true);
    expect(await allows('watcher', 'create leases.coordination.k8s.io', 'kube-system')).toBe(false);
    expect(await allows('watcher', 'update leases.coordination.k8s.io', 'system')).toBe(false);
    expect(await allows('watcher', 'create tokenreviews.authentication.k8s.io', '')).toBe(true);
  });
});

describe('whoever may create Pods', () => {
  it('runs what they want in new ones, as any service account', async () => {
    const namespace = await cluster.aNamespace();
    const account = { type: SERVICE_ACCOUNTS, namespace, name: 'powerful' };
    await cluster.create(account.type, {
      kind: 'ServiceAccount',
      metadata: { name: account.name, namespace },
    });
    const spec = {
      serviceAccountName: account.name,
      containers: [{ name: 'web', image: 'example.com/other' }],
    };
    const pod = await thief.create(PODS, { ...aPod().in(namespace).manifest, spec });
    expect(pod['spec']).toMatchObject({
      serviceAccountName: account.name,
      containers: [
        { image: 'example.com/other', volumeMounts: [{ name: expect.stringMatching(/^kube-api-access-/) }] },
      ],
    });
  });
});

const Review = z.object({ status: z.object({ allowed: z.boolean() }) });

/** @param what as kubectl names it: `patch xxxes.test.inspur.com/status` */
async function allows(name: string, what: string, namespace = 'kube-system'): Promise<boolean> {
  const account = { ...OPERATOR, name: `durable-operator-${name}` };
  const [, verb, resource, group = '', subresource = ''] =
    /^(\w+) (\w+)(?:\.([\w.]+))?(?:\/(\w+))?$/.exec(what) ?? [];
  const spec = {
    user: userNameOf(account),
    groups: ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`, 'system:authenticated'],
    resourceAttributes: { verb, resource, group, subresource, namespace },
  };
  const review = await cluster.client.request({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
  });
  return Review.parse(review).status.allowed;
}
