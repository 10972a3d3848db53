import type { AgentOptions, RequestOptions as HttpsOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import type { DispatcherOptions } from '@kubernetes/client-node';
import { Connections, type ConnectionsOptions } from './connections.ts';
import { KubeConfig } from './kube-config.ts';

/** What a request is made with; the same object for as long as neither part changes. */
export interface Session {
  /** Authorization and impersonation. */
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: Connections;
}

export interface SessionsOptions extends ConnectionsOptions {
  readonly kubeConfig: KubeConfig;
}

interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  /** With the certificates and the proxy. */
  readonly dispatcher: DispatcherOptions;
}

/** Service account tokens, client certificates and CA files are rotated in place. */
const FRESH_FOR_MS = 10_000;

/** Keeps connections open, and their credentials current: files that rotate, exec plugins, OIDC. */
export class Sessions {
  readonly #options: SessionsOptions;
  #kubeConfig: KubeConfig;
  #credentials: Credentials | undefined;
  #session: Session | undefined;
  #freshUntil = 0;
  #reading: Promise<Session> | undefined;
  #renewing: Promise<Session> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#kubeConfig = options.kubeConfig;
  }

  /** Callers at the same moment share one reading of the credentials. */
  current(): Session | Promise<Session> {
    if (this.#session && performance.now() < this.#freshUntil) return this.#session;
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** A session with other credentials than the rejected one, or undefined where there are none. */
  async otherThan(rejected: Session): Promise<Session | undefined> {
    if (this.#session === rejected) {
      this.#renewing ??= this.#readAnew().finally(() => (this.#renewing = undefined));
      await this.#renewing;
    }
    return this.#session === rejected ? undefined : this.#session;
  }

  /** Ends open watches, and open requests after graceMs. */
  close(graceMs?: number): Promise<void> {
    this.#closing ??= this.#session ? this.#session.connections.close(graceMs) : Promise.resolve();
    return this.#closing;
  }

  /** client-node keeps what tokens and plugins gave it, even if it was rejected; a copy of the KubeConfig does not. */
  #readAnew(): Promise<Session> {
    const { clusters, users, contexts, currentContext } = this.#kubeConfig;
    this.#kubeConfig = new KubeConfig();
    this.#kubeConfig.loadFromOptions({ clusters, users, contexts, currentContext });
    return this.#read();
  }

  async #read(): Promise<Session> {
    const credentials = await credentialsOf(this.#kubeConfig);
    if (!this.#session || !isDeepStrictEqual(credentials, this.#credentials))
      this.#session = this.#open(credentials);
    this.#credentials = credentials;
    this.#freshUntil = performance.now() + FRESH_FOR_MS;
    return this.#session;
  }

  /** A new token needs no new connection; a new certificate does. */
  #open({ headers, dispatcher }: Credentials): Session {
    const old = this.#session?.connections;
    if (old && isDeepStrictEqual(dispatcher, this.#credentials?.dispatcher))
      return { headers, connections: old };
    old?.close().catch(() => undefined);
    return { headers, connections: new Connections(this.#options, dispatcher) };
  }
}

async function credentialsOf(kubeConfig: KubeConfig): Promise<Credentials> {
  const options: HttpsOptions & AgentOptions = {};
  await kubeConfig.applyToHTTPSOptions(options);
  return {
    headers: authenticationHeaders(options),
    dispatcher: kubeConfig.createDispatcherOptions(kubeConfig.getCurrentCluster(), options),
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
