import { join } from 'node:path';
import { RBAC_GROUP } from '../../src/api/kinds.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../src/kubernetes/config.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { definitionsOf } from '../../src/program/generate/field-schema.ts';
import { applyCustomResources } from '../../local/custom-resources.ts';
import { applyManifest } from '../../local/manifests.ts';
import { writeKubeconfig, type ServiceAccount } from '../../testing/stack/service-account.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, type TestCluster } from './cluster.ts';
import { installed, type Delivered } from './delivered.ts';

/** The operator's account on the test stacks. */
export const OPERATOR: ServiceAccount = { namespace: 'system', name: 'durable-operator-controller-manager' };

const ACCESS = [
  'Namespace',
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
];

/** Whether it says who the operator is, or what it may do. */
export function isAccess({ kind }: Delivered): boolean {
  return ACCESS.includes(kind);
}

/** Applies those objects that say who the operator is and what it may do; nobody else is given anything. */
export async function installAccess(client: KubernetesClient, objects: readonly Delivered[]): Promise<void> {
  for (const object of objects) {
    if (isAccess(object)) await applyManifest(client, object, 'installed');
  }
}

/**
 * Gives the operator the account and the permissions of the chart. Each test starts it itself.
 *
 * @param admin the kubeconfig of a user who may do everything
 * @param dir the folder for the operator's kubeconfig
 * @returns the path of that kubeconfig
 */
export async function installOperator({
  admin,
  dir,
}: {
  readonly admin: string;
  readonly dir: string;
}): Promise<string> {
  const client = createKubernetesClient(loadKubeConfig({ kubeconfig: admin, env: {} }), { version: 'test' });
  const file = join(dir, 'operator.kubeconfig');
  try {
    await applyCustomResources(client, definitionsOf(durableOperator));
    await installAccess(client, await installed());
    await writeKubeconfig(client, { account: OPERATOR, admin, file });
  } finally {
    await client.close();
  }
  return file;
}

/** What lets service accounts do something in all namespaces. */
interface Grant {
  /** Of the role and of the binding. */
  readonly name: string;
  readonly rules: unknown;
  readonly accounts: readonly ServiceAccount[];
}

export async function grant(cluster: TestCluster, { name, rules, accounts }: Grant): Promise<void> {
  const rbac = { apiVersion: `${RBAC_GROUP}/v1`, metadata: { name } };
  await cluster.create(CLUSTER_ROLES, { ...rbac, kind: 'ClusterRole', rules });
  await cluster.create(CLUSTER_ROLE_BINDINGS, {
    ...rbac,
    kind: 'ClusterRoleBinding',
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
    subjects: accounts.map((account) => ({ kind: 'ServiceAccount', ...account })),
  });
}

/** @param name of a grant */
export async function revoke(cluster: TestCluster, name: string): Promise<void> {
  await cluster.delete({ type: CLUSTER_ROLE_BINDINGS, name });
  await cluster.delete({ type: CLUSTER_ROLES, name });
}
