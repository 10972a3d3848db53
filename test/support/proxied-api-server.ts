import { writeFile } from 'node:fs/promises';
import { KubeConfig } from '@kubernetes/client-node';

/** The API server that a proxy stands before. */
export interface ProxiedApiServer {
  readonly url: URL;
  readonly ca: Buffer;
}

/** @param kubeconfig its text, with the certificate in it. @throws Error where it has none */
export function apiServerIn(kubeconfig: string): ProxiedApiServer {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const cluster = config.getCurrentCluster();
  if (cluster?.caData === undefined) throw new Error('the kubeconfig has no cluster with its certificate');
  return { url: new URL(cluster.server), ca: Buffer.from(cluster.caData, 'base64') };
}

/** Writes the same kubeconfig, but through the proxy at this port of 127.0.0.1, which speaks HTTP. */
export async function writeKubeconfigThrough(port: number, kubeconfig: string, file: string): Promise<void> {
  const { url } = apiServerIn(kubeconfig);
  const through = kubeconfig
    .replace(url.origin, `http://127.0.0.1:${port}`)
    .replace(/"certificate-authority-data": "[^"]*"/, '"insecure-skip-tls-verify": true');
  await writeFile(file, through, { mode: 0o600 });
}
