import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Cluster, User } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { ConfigurationError } from '../config/configuration-error.ts';
import { parseProxy, proxyFor } from '../config/proxies.ts';
import { KubeConfig } from './kube-config.ts';

/** With what client-node does not read. */
export interface KubeUser extends User {
  /** The headers for `as-groups`, `as-uid` and `as-user-extra`. */
  readonly impersonation?: Readonly<Record<string, string | string[]>>;
}

/** With what client-node does not read. */
export interface KubeCluster extends Cluster {
  /** What the kubeconfig has for the exec plugin. */
  readonly execConfig?: unknown;
}

export interface ClusterChoice {
  /** `--run-outside-cluster`: never use a Pod's own service account. */
  readonly outsideCluster?: boolean | undefined;
  /** `--kubeconfig FILE`, or several as in KUBECONFIG. */
  readonly kubeconfig?: string | undefined;
  /** `--context NAME`, of the kubeconfig. Default: its current one. */
  readonly context?: string | undefined;
  /** KUBECONFIG, KUBERNETES_SERVICE_HOST and HOME are read, and the variables of proxies. */
  readonly env: Environment;
}

type Environment = Readonly<Record<string, string | undefined>>;

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * The cluster to work on: the flag's file, else those of KUBECONFIG, else the Pod's own service account (unless
 * it is to run outside), else `~/.kube/config`.
 * @throws ConfigurationError
 */
export function loadKubeConfig(choice: ClusterChoice): KubeConfig {
  const { kubeconfig, env, outsideCluster } = choice;
  if (kubeconfig) {
    return loadFiles(filesOf(kubeconfig), `kubeconfig ${kubeconfig}`, choice);
  }
  if (env['KUBECONFIG']) {
    return loadFiles(filesOf(env['KUBECONFIG']), `KUBECONFIG=${env['KUBECONFIG']}`, choice);
  }
  if (!outsideCluster && env['KUBERNETES_SERVICE_HOST']) return loadServiceAccount(env);
  const file = env['HOME'] ? path.join(env['HOME'], '.kube', 'config') : undefined;
  if (file && existsSync(file)) return loadFiles([file], file, choice);
  throw new ConfigurationError(
    `no cluster configured: not running in a Pod, KUBECONFIG is not set, and ${file ?? '~/.kube/config'} does not exist; set --kubeconfig FILE`,
  );
}

function filesOf(list: string): string[] {
  return list.split(path.delimiter).filter((file) => file !== '');
}

function loadServiceAccount(env: Environment): KubeConfig {
  if (!existsSync(SERVICE_ACCOUNT_TOKEN)) {
    throw new ConfigurationError(
      `this Pod has no service account token (${SERVICE_ACCOUNT_TOKEN}): set automountServiceAccountToken: true, or set --kubeconfig FILE`,
    );
  }
  const config = new KubeConfig();
  config.loadFromCluster();
  return checked(config, "the Pod's service account", env);
}

/** As kubectl does, what an earlier file says wins, and of several files the missing ones are passed over. */
function loadFiles(files: readonly string[], source: string, { context, env }: ClusterChoice): KubeConfig {
  const present = files.length > 1 ? files.filter((file) => existsSync(file)) : files;
  const [first, ...others] = present.map((file) => loadFile(file, source));
  if (!first) throw new ConfigurationError(`${source}: none of these files exists`);
  for (const other of others) addMissing(first, other);
  if (context !== undefined) first.currentContext = context;
  return checked(first, source, env);
}

function addMissing(config: KubeConfig, other: KubeConfig): void {
  config.clusters = withMissing(config.clusters, other.clusters);
  config.users = withMissing(config.users, other.users);
  config.contexts = withMissing(config.contexts, other.contexts);
  config.currentContext ||= other.currentContext;
}

function withMissing<T extends { readonly name: string }>(known: readonly T[], others: readonly T[]): T[] {
  return [...known, ...others.filter((other) => !known.some(({ name }) => name === other.name))];
}

function loadFile(file: string, source: string): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromFile(file);
    readTheRest(config, file);
  } catch (error) {
    throw new ConfigurationError(`${source}: ${whyUnreadable(file, error)}`, { cause: error });
  }
  return config;
}

function whyUnreadable(file: string, error: unknown): string {
  const code = field(error, 'code');
  if (code === 'ENOENT') return `${file} does not exist`;
  if (typeof code === 'string') return `${file} cannot be read (${code})`;
  const [words = ''] = String(field(error, 'message')).split('\n');
  return `${file} is not a kubeconfig: ${words}`;
}

/** What client-node drops. */
function readTheRest(config: KubeConfig, file: string): void {
  const raw: unknown = parse(readFileSync(file, 'utf8'));
  const directory = path.dirname(file);
  config.users = config.users.map((user) => userWithRest(user, bodyOf(raw, 'user', user.name), directory));
  config.clusters = config.clusters.map((cluster): KubeCluster => {
    const extensions = field(bodyOf(raw, 'cluster', cluster.name), 'extensions');
    return { ...cluster, execConfig: field(named(extensions, EXEC_EXTENSION), 'extension') };
  });
}

/** Source: Kubernetes docs, "client-go credential plugins". */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

function userWithRest(user: User, raw: unknown, directory: string): KubeUser {
  const tokenFile = field(raw, 'tokenFile');
  const exec: unknown = user.exec;
  const command = field(exec, 'command');
  const isRelative = typeof command === 'string' && command.includes('/');
  return {
    ...user,
    // client-node's own authenticator for token files is reached this way.
    ...(typeof tokenFile === 'string' && {
      authProvider: { name: 'tokenFile', config: { tokenFile: path.resolve(directory, tokenFile) } },
    }),
    ...(isRelative && { exec: Object.assign({}, exec, { command: path.resolve(directory, command) }) }),
    ...(user.impersonateUser && { impersonation: impersonationIn(raw) }),
  };
}

/** Source: Kubernetes docs, "User impersonation". */
function impersonationIn(raw: unknown): Record<string, string | string[]> {
  const groups = texts(field(raw, 'as-groups'));
  const uid = field(raw, 'as-uid');
  const extra = Object.entries(field(raw, 'as-user-extra') ?? {}).map(
    ([key, values]) => [`impersonate-extra-${encodeURIComponent(key)}`, texts(values)] as const,
  );
  return {
    ...(groups.length > 0 && { 'impersonate-group': groups }),
    ...(typeof uid === 'string' && { 'impersonate-uid': uid }),
    ...Object.fromEntries(extra),
  };
}

/** The user or cluster of a name. */
function bodyOf(raw: unknown, kind: 'user' | 'cluster', name: string): unknown {
  return field(named(field(raw, `${kind}s`), name), kind);
}

function named(list: unknown, name: string): unknown {
  return Array.isArray(list) ? list.find((each: unknown) => field(each, 'name') === name) : undefined;
}

function texts(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((each): each is string => typeof each === 'string') : [];
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function checked(config: KubeConfig, source: string, env: Environment): KubeConfig {
  const trouble = troubleWith(config);
  if (trouble) throw new ConfigurationError(`${source}: ${trouble}`);
  const current = config.getCurrentCluster()?.name;
  config.clusters = config.clusters.map((each) =>
    each.name === current ? withProxy(each, source, env) : each,
  );
  return config;
}

/** As in client-go, `proxy-url` wins over the environment, and is also used for loopback. */
function withProxy({ proxyUrl, ...cluster }: Cluster, source: string, env: Environment): Cluster {
  const proxy = proxyUrl
    ? parseProxy(proxyUrl, `${source}: proxy-url of the cluster`)
    : proxyFor(new URL(cluster.server), env);
  return { ...cluster, ...(proxy && { proxyUrl: proxy.href }) };
}

function troubleWith(config: KubeConfig): string | undefined {
  const name = config.getCurrentContext();
  if (!name) return 'it has no current-context; choose one with kubectl config use-context NAME';
  const context = config.getContextObject(name);
  if (!context) return `the context "${name}" does not exist in the file`;
  const cluster = config.getCluster(context.cluster);
  if (!cluster) return `the cluster "${context.cluster}" of context "${name}" does not exist in the file`;
  const user = config.getUser(context.user);
  if (context.user && !user) {
    return `the user "${context.user}" of context "${name}" does not exist in the file`;
  }
  const provider: unknown = field(user?.authProvider, 'name') ?? 'oidc';
  if (provider !== 'oidc' && provider !== 'tokenFile') {
    return `the user "${context.user}" has the auth-provider "${String(provider)}", which Kubernetes no longer has; use an exec plugin`;
  }
  return troubleWithServer(cluster.server, cluster.skipTLSVerify);
}

function troubleWithServer(server: string, skipTlsVerify: boolean | undefined): string | undefined {
  if (!URL.canParse(server)) return `the server "${server}" is not a URL`;
  const { protocol } = new URL(server);
  if (protocol !== 'https:' && protocol !== 'http:')
    return `the server "${server}" is neither https nor http`;
  // client-node refuses it, so that no token is ever sent in the clear by mistake.
  if (protocol === 'http:' && !skipTlsVerify) {
    return `the server ${server} is not https: use https, or set insecure-skip-tls-verify: true on its cluster`;
  }
  return undefined;
}
