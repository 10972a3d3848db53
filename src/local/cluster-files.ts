import { generateKeyPair, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { CLUSTER_USERS, kubeconfigOf, tokenLine, tokenOf } from './cluster-users.ts';
import { apiServerUrl } from './server-commands.ts';
import type { StackLayout, StackPorts } from './stack-layout.ts';

const OWNER_ONLY = { mode: 0o600 };

/** Every answered request is one line, without its body. */
const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
};

/** Writes what the servers read at start. What is there from an earlier start with this state stays. */
export async function writeClusterFiles(layout: StackLayout): Promise<void> {
  await mkdir(layout.certificates, { recursive: true });
  await writeFile(layout.auditPolicy, JSON.stringify(AUDIT_POLICY));
  if (!existsSync(layout.tokens)) await writeFile(layout.tokens, newTokens(), OWNER_ONLY);
  if (!existsSync(layout.serviceAccountKey)) {
    await writeFile(layout.serviceAccountKey, await newServiceAccountKey(), OWNER_ONLY);
  }
}

function newTokens(): string {
  const lines = CLUSTER_USERS.map((user) => tokenLine(user, randomBytes(24).toString('hex')));
  return `${lines.join('\n')}\n`;
}

async function newServiceAccountKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}

/** Every user's kubeconfig; only possible once the API server has written its certificate. */
export async function writeKubeconfigs(layout: StackLayout, ports: StackPorts): Promise<void> {
  const authority = await readFile(layout.authority, 'utf8');
  const tokens = await readFile(layout.tokens, 'utf8');
  for (const { name } of CLUSTER_USERS) {
    const credentials = { user: name, token: tokenOf(name, tokens), server: apiServerUrl(ports), authority };
    await writeFile(layout.kubeconfig(name), kubeconfigOf(credentials), OWNER_ONLY);
  }
}
