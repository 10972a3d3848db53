import type { ConnectionOptions } from '@temporalio/client';
import { loadClientConfigProfile, toClientOptions, type ClientConnectConfig } from '@temporalio/envconfig';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from './configuration-error.ts';
import { proxyFor } from './proxies.ts';
import { firstLineOf, whyUnreadable } from './readable.ts';
import { boolean, readableFile } from './values.ts';

export interface TemporalTarget {
  readonly connect: ClientConnectConfig;
  /** `host:port`, for messages. */
  readonly address: string;
  readonly namespace: string;
}

export const LOCAL_TEMPORAL: TemporalTarget = {
  address: 'localhost:7233',
  namespace: 'default',
  connect: { connectionOptions: { address: 'localhost:7233' }, namespace: 'default' },
};

/** Whether somebody named a Temporal server in the environment; a profile that merely exists is no choice. */
export function temporalIsGiven(env: NodeJS.ProcessEnv): boolean {
  return ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'].some((name) => Boolean(env[name]));
}

/**
 * Temporal's own environment configuration, but with an error where the library ignores a mistake.
 *
 * @param report gets each problem, as a line
 * Source: https://docs.temporal.io/references/client-environment-configuration
 */
export function temporalFrom(env: NodeJS.ProcessEnv, report: (problem: string) => void): TemporalTarget {
  const given = withCredentials(nonEmpty(env), report);
  const before = problemsBeforeLoading(given);
  if (before.length > 0) {
    before.forEach(report);
    return LOCAL_TEMPORAL;
  }
  try {
    return targetFrom(given, report);
  } catch (error) {
    if (error instanceof ConfigurationError) report(error.message);
    else
      report(
        `Temporal's configuration: ${whyNotLoaded(error)}; correct the TEMPORAL_ variables or the profile`,
      );
    return LOCAL_TEMPORAL;
  }
}

function targetFrom(env: Record<string, string>, report: (problem: string) => void): TemporalTarget {
  const profile = loadClientConfigProfile({ overrideEnvVars: env });
  const address = profile.address ?? LOCAL_TEMPORAL.address;
  const namespace = profile.namespace ?? LOCAL_TEMPORAL.namespace;
  if (!/^(\[[0-9a-f:.]+\]|[^\s:/[\]]+)(:\d{1,5})?$/i.test(address)) {
    report(
      `Temporal address "${address}" is not HOST:PORT; correct TEMPORAL_ADDRESS or the profile's address`,
    );
  }
  const { tls } = profile;
  if (tls !== undefined && (tls.clientCert === undefined) !== (tls.clientKey === undefined)) {
    // The library would leave out the half that is there, and the server refuse without a word why.
    report(
      'Temporal TLS needs both a client certificate and its key; set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH',
    );
  }
  const { connectionOptions } = toClientOptions({ ...profile, address, namespace });
  const proxy = proxyTo(address, env, report);
  const connect = { connectionOptions: { ...connectionOptions, ...(proxy && { proxy }) }, namespace };
  return { connect, address, namespace };
}

type Proxy = NonNullable<ClientConnectConfig['connectionOptions']['proxy']>;

/** As in Go, HTTPS_PROXY counts for gRPC with and without TLS. */
function proxyTo(
  address: string,
  env: Record<string, string>,
  report: (problem: string) => void,
): Proxy | undefined {
  const server = URL.parse(`https://${withPort(address)}`);
  const proxy = server && proxyFor(server, env);
  if (!proxy) return undefined;
  if (proxy.protocol !== 'http:') {
    report(
      `Temporal cannot be reached by the ${proxy.protocol} proxy of HTTPS_PROXY, only by an http: proxy; write one, or add ${server.hostname} to NO_PROXY`,
    );
  }
  const [username, password] = [proxy.username, proxy.password].map(decodeURIComponent) as [string, string];
  return {
    type: 'http-connect',
    targetHost: `${proxy.hostname}:${proxy.port || '80'}`,
    ...(username !== '' && { basicAuth: { username, password } }),
  };
}

function withPort(address: string): string {
  return /:\d+$/.test(address) ? address : `${address}:7233`;
}

/**
 * The same for a Client that shares no connection with a worker. Its gRPC library would find a proxy by rules of its own, which know
 * only variables in lower case and do not spare loopback.
 */
export function clientConnection({
  proxy,
  ...options
}: ClientConnectConfig['connectionOptions']): ConnectionOptions {
  const direct = { ...options, channelArgs: { 'grpc.enable_http_proxy': 0 } };
  const { address = LOCAL_TEMPORAL.address } = options;
  if (proxy === undefined) return direct;
  const { username, password } = proxy.basicAuth ?? {};
  return {
    ...direct,
    address: proxy.targetHost,
    channelArgs: {
      ...direct.channelArgs,
      'grpc.http_connect_target': `dns:${withPort(address)}`,
      'grpc.default_authority': address,
      ...(username !== undefined && { 'grpc.http_connect_creds': `${username}:${password ?? ''}` }),
    },
  };
}

const CREDENTIALS_DIR = 'TEMPORAL_CREDENTIALS_DIR';
/** The files of that folder, by the library's variables. Any of them may be missing. */
const CREDENTIALS = {
  TEMPORAL_API_KEY: 'api-key',
  TEMPORAL_TLS_CLIENT_CERT_DATA: 'tls.crt',
  TEMPORAL_TLS_CLIENT_KEY_DATA: 'tls.key',
  TEMPORAL_TLS_SERVER_CA_CERT_DATA: 'ca.crt',
};

/** With what a mounted Secret has. The environment of a process never changes, while such files follow their Secret. */
function withCredentials(
  env: Record<string, string>,
  report: (problem: string) => void,
): Record<string, string> {
  const dir = env[CREDENTIALS_DIR];
  if (dir === undefined) return env;
  try {
    const names = readdirSync(dir);
    const found = Object.entries(CREDENTIALS).flatMap(([variable, name]) => {
      const content = names.includes(name) ? readFileSync(join(dir, name), 'utf8').trim() : '';
      return content === '' ? [] : [[variable, content] as const];
    });
    return { ...Object.fromEntries(found), ...env };
  } catch (error) {
    report(`${CREDENTIALS_DIR} "${dir}" cannot be read: ${whyUnreadable(error)}; mount the Secret there`);
    return env;
  }
}

/** What the library silently misreads: TEMPORAL_TLS=yes is "no" to it, a missing file an empty one. */
const CHECKED = {
  TEMPORAL_TLS: boolean,
  TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: boolean,
  TEMPORAL_CONFIG_FILE: readableFile,
  TEMPORAL_TLS_CLIENT_CERT_PATH: readableFile,
  TEMPORAL_TLS_CLIENT_KEY_PATH: readableFile,
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: readableFile,
};

function problemsBeforeLoading(env: Record<string, string>): string[] {
  return Object.entries(CHECKED).flatMap(([name, schema]) => {
    const value = env[name];
    const [issue] = (value === undefined ? undefined : schema.safeParse(value).error?.issues) ?? [];
    return issue === undefined ? [] : [`${name} ${JSON.stringify(value)} ${issue.message}`];
  });
}

/** An empty variable counts as unset, save where Temporal gives it a meaning: it removes a header. */
function nonEmpty(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || (value === '' && !name.startsWith('TEMPORAL_GRPC_META_')) ? [] : [[name, value]],
    ),
  );
}

/** Only the first line: the next ones quote the file, which may hold an API key. */
function whyNotLoaded(error: unknown): string {
  const line: unknown = error instanceof Error && 'line' in error ? error.line : undefined;
  const sentence = firstLineOf(error instanceof Error ? error.message : String(error));
  return typeof line === 'number' ? `line ${line}: ${sentence}` : sentence;
}
