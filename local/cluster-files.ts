import { generateKeyPair, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { apiServerUrl, type StackLayout, type StackPorts } from './stack-folder.ts';

/** The user who may do everything. */
export const ADMIN = 'admin';

/** Each component is a user of its own, so that the audit log names it. */
export const COMPONENT_USERS = {
  'kube-controller-manager': 'system:kube-controller-manager',
  'kube-scheduler': 'system:kube-scheduler',
  kwok: 'kwok',
} as const;

const USERS: readonly string[] = [ADMIN, ...Object.values(COMPONENT_USERS)];

const OWNER_ONLY = { mode: 0o600 };

/** One line for each answered request, without its body. */
const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
};

/** Writes the files that the servers read at start. */
export async function writeClusterFiles(layout: StackLayout): Promise<void> {
  await mkdir(layout.certificates);
  await writeFile(layout.auditPolicy, JSON.stringify(AUDIT_POLICY));
  await writeFile(layout.tokens, newTokens(), OWNER_ONLY);
  await writeFile(layout.serviceAccountKey, await newServiceAccountKey(), OWNER_ONLY);
}

/** The format of `--token-auth-file`, one line a user: token, name, uid, groups. */
function newTokens(): string {
  const lines = USERS.map((user) => `${randomBytes(24).toString('hex')},${user},${user},"system:masters"`);
  return `${lines.join('\n')}\n`;
}

async function newServiceAccountKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
}

/** Writes every user's kubeconfig, once the API server has written its certificate. */
export async function writeKubeconfigs(layout: StackLayout, ports: StackPorts): Promise<void> {
  const cluster = { server: apiServerUrl(ports), authority: await readFile(layout.authority, 'utf8') };
  const lines = (await readFile(layout.tokens, 'utf8')).trimEnd().split('\n');
  for (const line of lines) {
    const [token = '', user = ''] = line.split(',');
    await writeFile(layout.kubeconfig(user), kubeconfigOf({ user, token, ...cluster }), OWNER_ONLY);
  }
}

export interface Credentials {
  readonly user: string;
  readonly token: string;
  readonly server: string;
  /** PEM. */
  readonly authority: string;
}

/** In JSON, which is YAML. */
export function kubeconfigOf({ user, token, server, authority }: Credentials): string {
  const cluster = { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') };
  return JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'local', cluster }],
      users: [{ name: user, user: { token } }],
      contexts: [{ name: `${user}@local`, context: { cluster: 'local', user } }],
      'current-context': `${user}@local`,
    },
    null,
    2,
  );
}
