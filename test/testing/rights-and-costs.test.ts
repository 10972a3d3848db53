import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectAtMost } from '../../testing/stack/costs.ts';
import { expectLeastPrivilege } from '../../testing/stack/rights.ts';

const account = { namespace: 'system', name: 'shop-operator' };
const RBAC = 'rbac.authorization.k8s.io/v1';
const rule = (apiGroups: readonly string[], resources: readonly string[], verbs: readonly string[]) => ({
  ...{ apiGroups, resources, verbs },
});
const objects = [
  {
    ...{ apiVersion: RBAC, kind: 'ClusterRole', metadata: { name: 'shop-operator' } },
    rules: [
      rule(['apps'], ['deployments'], ['create', 'delete']),
      rule(['coordination.k8s.io'], ['leases'], ['create']),
    ],
  },
  {
    ...{ apiVersion: RBAC, kind: 'ClusterRoleBinding', metadata: { name: 'shop-operator' } },
    roleRef: { kind: 'ClusterRole', name: 'shop-operator' },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  },
];

let dir: string;
let auditLog: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'audit-'));
  auditLog = join(dir, 'audit.log');
  await asked('create', 'deployments');
});

afterAll(() => rm(dir, { recursive: true }));

function asked(verb: string, resource: string, decision = 'allow'): Promise<void> {
  const line = {
    ...{ stage: 'ResponseComplete', verb, requestURI: `/${resource}`, userAgent: 'shop-operator/1' },
    user: { username: 'system:serviceaccount:system:shop-operator' },
    objectRef: { resource, apiGroup: resource === 'deployments' ? 'apps' : '' },
    responseStatus: { code: decision === 'allow' ? 201 : 403 },
    requestReceivedTimestamp: new Date().toISOString(),
    annotations: { 'authorization.k8s.io/decision': decision },
  };
  return appendFile(auditLog, `${JSON.stringify(line)}\n`);
}

const check = (...unused: readonly string[]) => expectLeastPrivilege({ account, objects, auditLog, unused });

describe('expectLeastPrivilege', () => {
  it('names what was never used; what the library needs at times need not be', () => {
    expect(check).toThrow(
      'shop-operator never used: delete deployments.apps; let a test use it, name it in { unused }, or take it out of permissions, if it is there',
    );
  });

  it('accepts what is named', () => {
    expect(() => check('delete deployments.apps')).not.toThrow();
  });

  it('names what was denied', async () => {
    await asked('get', 'secrets', 'forbid');
    expect(() => check('delete deployments.apps')).toThrow('shop-operator was denied: get secrets; add it');
  });
});

describe('expectCosts', () => {
  const during = async () => {
    await asked('create', 'deployments');
    await asked('patch', 'services');
    await asked('watch', 'services');
    await asked('update', 'leases');
    await asked('create', 'events');
    return 1;
  };
  const measured = (calls: number, runs: number, events: number) =>
    expectAtMost({ calls, runs, events }, { account, auditLog, during });

  it('counts what is asked for meanwhile, but for watches and the Lease', async () => {
    await expect(measured(2, 1, 1)).resolves.toBeUndefined();
  });

  it('says what is too much', async () => {
    await expect(measured(1, 0, 0)).rejects.toThrow(
      [
        '2 calls instead of at most 1: 1 × create deployments, 1 × patch services',
        '1 runs instead of at most 0',
        '1 events instead of at most 0: 1 × create events',
      ].join('\n'),
    );
  });
});
