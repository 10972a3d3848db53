/** An entry of the API server's token file. */
export interface ClusterUser {
  readonly name: string;
  readonly groups: readonly string[];
}

const MASTERS = ['system:masters'];

/** May do everything. */
export const ADMIN = 'admin';

/** Each component has a name of its own, so that the audit log tells them apart. */
export const COMPONENT_USERS = {
  'kube-controller-manager': 'system:kube-controller-manager',
  'kube-scheduler': 'system:kube-scheduler',
  kwok: 'kwok',
} as const;

export const CLUSTER_USERS: readonly ClusterUser[] = [
  { name: ADMIN, groups: MASTERS },
  ...Object.values(COMPONENT_USERS).map((name) => ({ name, groups: MASTERS })),
];

/** One line a user, as `--token-auth-file` reads it: token, name, uid, groups. */
export function tokenLine(user: ClusterUser, token: string): string {
  return `${token},${user.name},${user.name},"${user.groups.join(',')}"`;
}

/** @throws Error that names the users there are */
export function tokenOf(user: string, tokens: string): string {
  const line = tokens.split('\n').find((text) => text.split(',')[1] === user);
  const token = line?.split(',')[0];
  if (token === undefined) {
    const known = CLUSTER_USERS.map(({ name }) => name).join(', ');
    throw new Error(`the local cluster has no user ${user}; use one of: ${known}`);
  }
  return token;
}

/** What a kubeconfig needs to say. */
export interface Credentials {
  readonly user: string;
  readonly token: string;
  readonly server: string;
  /** PEM. */
  readonly authority: string;
}

/** JSON is YAML, and needs no library to write. */
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
