import type { AgentOptions, RequestOptions as HttpsOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import type { ConnectOptions, DispatcherOptions } from '@kubernetes/client-node';
import { Pool, ProxyAgent, type Dispatcher } from 'undici';
import type { KubeUser } from './config.ts';
import { credentialsProblem } from './errors.ts';
import { ExecPlugin, type PluginCredential } from './exec-plugin.ts';
import { KubeConfig } from './kube-config.ts';
import { withinLimit } from './limit.ts';

/** What a request is made with; the same object for as long as neither part changes. */
export interface ConnectionSession {
  readonly headers: Headers;
  readonly connections: Connections;
}

/** Authorization and impersonation. */
type Headers = Readonly<Record<string, string | string[]>>;

export interface CredentialsOptions {
  /** How long a plugin or an OIDC server may take. Default: 30,000. */
  readonly credentialsTimeoutMs?: number | undefined;
  /** Gets each line that an exec plugin prints to stderr. It may hold anything. */
  readonly onPluginOutput?: (line: string) => void;
  /** Called each time after credentials were read: why there are none, or undefined. */
  readonly onCredentials?: (problem: string | undefined) => void;
}

export interface SessionsOptions extends ConnectionsOptions, CredentialsOptions {
  readonly kubeConfig: KubeConfig;
}

interface Credentials {
  readonly headers: Headers;
  /** With the certificates and the proxy. */
  readonly dispatcher: DispatcherOptions;
}

/** Service account tokens, client certificates and CA files are rotated in place. */
const FRESH_FOR_MS = 10_000;

/** Keeps connections open, and their credentials current: files that rotate, exec plugins, OIDC. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #plugin: ExecPlugin | undefined;
  readonly #ending = new AbortController();
  #kubeConfig: KubeConfig;
  #credentials: Credentials | undefined;
  #session: ConnectionSession | undefined;
  #freshUntil = 0;
  #reading: Promise<ConnectionSession> | undefined;
  #renewing: Promise<ConnectionSession> | undefined;
  #closing: Promise<void> | undefined;

  /** @throws ConfigurationError */
  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#plugin = pluginOf(options);
    this.#kubeConfig = copyOf(options.kubeConfig);
  }

  /** Callers at the same moment share one reading of the credentials. */
  current(): ConnectionSession | Promise<ConnectionSession> {
    if (this.#session && performance.now() < this.#freshUntil) return this.#session;
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** A session with other credentials than the rejected one, or undefined where there are none. */
  async otherThan(rejected: ConnectionSession): Promise<ConnectionSession | undefined> {
    if (this.#session === rejected) {
      this.#renewing ??= this.#readAnew().finally(() => (this.#renewing = undefined));
      await this.#renewing;
    }
    return this.#session === rejected ? undefined : this.#session;
  }

  /** Ends open watches, and open requests after graceMs. */
  close(graceMs?: number): Promise<void> {
    this.#ending.abort();
    this.#closing ??= this.#session ? this.#session.connections.close(graceMs) : Promise.resolve();
    return this.#closing;
  }

  /** Ends open watches; open requests go on. What is asked from now on opens new connections. */
  reconnect(): void {
    if (this.#session === undefined || this.#closing !== undefined) return;
    const { headers, connections } = this.#session;
    this.#session = { headers, connections: connections.anew() };
    connections.close().catch(() => undefined);
  }

  /** client-node keeps what tokens and plugins gave it, even if it was rejected; a copy of the KubeConfig does not. */
  #readAnew(): Promise<ConnectionSession> {
    this.#plugin?.forget();
    this.#kubeConfig = copyOf(this.#kubeConfig);
    return this.#read();
  }

  async #read(): Promise<ConnectionSession> {
    const credentials = await this.#credentialsInTime();
    if (!this.#session || !isDeepStrictEqual(credentials, this.#credentials))
      this.#session = this.#open(credentials);
    this.#credentials = credentials;
    this.#freshUntil = performance.now() + FRESH_FOR_MS;
    // Who waited for them meanwhile shall open no connection that nobody closes.
    if (this.#closing) await this.#session.connections.close();
    return this.#session;
  }

  async #credentialsInTime(): Promise<Credentials> {
    const { credentialsTimeoutMs: timeoutMs = 30_000, onCredentials } = this.#options;
    const source = this.#plugin
      ? `the exec plugin ${this.#plugin.command}`
      : 'the authentication of the kubeconfig';
    const late = `${source} took longer than ${timeoutMs / 1000} s (--credentials-timeout)`;
    try {
      const credentials = await withinLimit(
        { timeoutMs, signal: this.#ending.signal, late },
        async (signal) => credentialsOf(this.#kubeConfig, await this.#plugin?.credential(signal)),
      );
      onCredentials?.(undefined);
      return credentials;
    } catch (error) {
      if (!this.#ending.signal.aborted) onCredentials?.(credentialsProblem(error));
      throw error;
    }
  }

  /** A new token needs no new connection; a new certificate does. */
  #open({ headers, dispatcher }: Credentials): ConnectionSession {
    const old = this.#session?.connections;
    if (old && isDeepStrictEqual(dispatcher, this.#credentials?.dispatcher))
      return { headers, connections: old };
    old?.close().catch(() => undefined);
    return { headers, connections: new Connections(this.#options, dispatcher) };
  }
}

/** As in client-go, a plugin is for a user who has no other credentials. */
function pluginOf({ kubeConfig, onPluginOutput = () => undefined }: SessionsOptions): ExecPlugin | undefined {
  const [user, cluster] = [kubeConfig.getCurrentUser(), kubeConfig.getCurrentCluster()];
  if (!user?.exec || !cluster || user.token || user.username || user.certFile || user.certData)
    return undefined;
  return new ExecPlugin(user.exec, cluster, onPluginOutput);
}

/** Without the plugins: client-node would run them, without a limit. */
function copyOf({ clusters, users, contexts, currentContext }: KubeConfig): KubeConfig {
  const copy = new KubeConfig();
  const others = users.map((user) => ({ ...user, exec: undefined }));
  copy.loadFromOptions({ clusters, users: others, contexts, currentContext });
  return copy;
}

async function credentialsOf(kubeConfig: KubeConfig, plugged: PluginCredential = {}): Promise<Credentials> {
  const options: HttpsOptions & AgentOptions = {};
  await kubeConfig.applyToHTTPSOptions(options);
  const { token, clientCertificateData: cert = options.cert, clientKeyData: key = options.key } = plugged;
  const user: KubeUser | null = kubeConfig.getCurrentUser();
  return {
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...authenticationHeaders(options),
      ...user?.impersonation,
    },
    dispatcher: kubeConfig.createDispatcherOptions(kubeConfig.getCurrentCluster(), { ...options, cert, key }),
  };
}

function authenticationHeaders({ auth, headers = {} }: HttpsOptions): Record<string, string> {
  const basic = auth && { authorization: `Basic ${Buffer.from(auth).toString('base64')}` };
  // Token files often end in a newline, which no header may hold.
  const others = Object.entries(headers).map(([name, value]): [string, string] => [
    name.toLowerCase(),
    String(value).trim(),
  ]);
  return { ...basic, ...Object.fromEntries(others) };
}

export interface ConnectionsOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Most connections of one pool. */
  readonly connections: number;
}

/** The connections that are made with the same certificates, through the same proxy. */
export class Connections {
  /** Apart, so that a hundred watches never keep a request waiting. */
  readonly watches: Dispatcher;
  readonly #pools = new Map<string, Dispatcher>();
  readonly #options: ConnectionsOptions;
  readonly #dispatcher: DispatcherOptions;
  #isClosed = false;

  constructor(options: ConnectionsOptions, dispatcher: DispatcherOptions) {
    this.#options = options;
    this.#dispatcher = dispatcher;
    this.watches = openDispatcher(options.origin, dispatcher, null);
  }

  /** The same, none of which is open yet. */
  anew(): Connections {
    return new Connections(this.#options, this.#dispatcher);
  }

  /** A connection of its own, which its user closes. */
  open(): Dispatcher {
    return openDispatcher(this.#options.origin, this.#dispatcher, 1);
  }

  /** For requests: they wait for those of their own pool alone. @throws Error where they are closed */
  pool(name: string): Dispatcher {
    const open = this.#pools.get(name);
    if (open !== undefined) return open;
    if (this.#isClosed) throw new Error('the connections are closed');
    const { origin, connections } = this.#options;
    const pool = openDispatcher(origin, this.#dispatcher, connections);
    this.#pools.set(name, pool);
    return pool;
  }

  /** Ends open watches, and open requests after graceMs; without it, they take as long as they take. */
  async close(graceMs?: number): Promise<void> {
    this.#isClosed = true;
    const pools = [...this.#pools.values()];
    let grace: NodeJS.Timeout | undefined;
    // If requests of a pool wait for a connection, its close does not resolve after a destroy.
    const cutOff = new Promise<unknown>((resolve) => {
      const destroy = () => resolve(Promise.all(pools.map((pool) => pool.destroy())));
      if (graceMs !== undefined) grace = setTimeout(destroy, graceMs);
    });
    const closed = Promise.all(pools.map((pool) => pool.close()));
    await Promise.all([this.watches.destroy(), Promise.race([closed, cutOff])]);
    clearTimeout(grace);
  }
}

/**
 * Below the 60 s after which common load balancers drop an idle connection, and the API server's own 90 s;
 * a request on a connection that is just being dropped would fail.
 */
const KEEP_ALIVE_MS = 45_000;

function openDispatcher(origin: string, options: DispatcherOptions, connections: number | null): Dispatcher {
  const pool = { connections, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS };
  switch (options.type) {
    case 'none':
      return new Pool(origin, pool);
    case 'agent':
      return new Pool(origin, { ...pool, connect: forUndici(options.connect) });
    case 'proxy':
    case 'socks': {
      // undici knows `socks5:` alone, and always lets the proxy resolve names, as `socks5h:` asks.
      const uri = options.uri.replace(/^socks5h:/, 'socks5:');
      return new ProxyAgent({ ...pool, uri, requestTls: forUndici(options.requestTls) });
    }
  }
}

/** client-node sets neither, and its type lets them be undefined where undici's does not. */
function forUndici(connect: ConnectOptions): Omit<ConnectOptions, 'port' | 'timeout'> {
  return connect;
}
