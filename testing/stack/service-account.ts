import { KubeConfig } from '@kubernetes/client-node';
import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { kubeconfigOf } from '../../local/cluster-files.ts';
import type { KubernetesClient } from '../../src/kubernetes/client.ts';
import { SERVICE_ACCOUNTS } from '../../src/api/built-in.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** As the audit log and messages name it. */
export function userNameOf({ namespace, name }: ServiceAccount): `system:serviceaccount:${string}` {
  return `system:serviceaccount:${namespace}:${name}`;
}

const Token = z.object({ status: z.object({ token: z.string() }) });
/** Longer than any run of the tests. */
const TOKEN_LASTS_S = 86_400;

/**
 * A file for whoever is to run as a service account, with a token that the API server has made for it.
 *
 * @param admin the kubeconfig of a user who may do everything
 */
export async function writeKubeconfig(
  client: KubernetesClient,
  {
    account,
    admin,
    file,
  }: { readonly account: ServiceAccount; readonly admin: string; readonly file: string },
): Promise<void> {
  const answer = await client.request({
    method: 'POST',
    path: resourcePath(SERVICE_ACCOUNTS, { ...account, subresource: 'token' }),
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: TOKEN_LASTS_S },
    },
  });
  const credentials = { user: account.name, token: Token.parse(answer).status.token, ...clusterIn(admin) };
  await writeFile(file, kubeconfigOf(credentials), { mode: 0o600 });
}

function clusterIn(kubeconfig: string): { server: string; authority: string } {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const cluster = config.getCurrentCluster();
  if (cluster?.caData === undefined) throw new Error(`${kubeconfig} names no cluster with its authority`);
  return { server: cluster.server, authority: Buffer.from(cluster.caData, 'base64').toString('utf8') };
}
