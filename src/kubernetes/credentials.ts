import { KubeConfig } from '@kubernetes/client-node';
import type { RequestOptions as HttpsOptions } from 'node:https';

/** What a connection is opened with; fields are absent where the KubeConfig says nothing. */
export interface TlsSettings {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly rejectUnauthorized?: boolean;
  readonly servername?: string;
}

export interface Credentials {
  /** Authorization and impersonation. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsSettings;
  /** Equal for equal credentials; holds secrets, never to be shown. */
  readonly fingerprint: string;
}

/** Service-account tokens, client certificates and CA files are rotated in place. */
const KEPT_FOR_MS = 10_000;

/** Keeps the credentials of a KubeConfig current: files that rotate, exec plugins, OIDC. */
export class CredentialSource {
  #kubeConfig: KubeConfig;
  #kept: Credentials | undefined;
  #keptUntil = 0;
  #reading: Promise<Credentials> | undefined;

  constructor(kubeConfig: KubeConfig) {
    this.#kubeConfig = kubeConfig;
  }

  /** The credentials in hand, where they are fresh enough to be used without waiting. */
  get kept(): Credentials | undefined {
    return performance.now() < this.#keptUntil ? this.#kept : undefined;
  }

  /** Reads the credentials; callers at the same moment share one reading. */
  async read(): Promise<Credentials> {
    this.#reading ??= this.#readOnce().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** Credentials other than the rejected ones, or undefined where there are none. */
  async otherThan(rejected: Credentials): Promise<Credentials | undefined> {
    if (this.#kept?.fingerprint === rejected.fingerprint) this.#forget();
    const current = this.kept ?? (await this.read());
    return current.fingerprint === rejected.fingerprint ? undefined : current;
  }

  async #readOnce(): Promise<Credentials> {
    // client-node keeps a token file for a minute, longer than the API server may accept a rotated token.
    if (readsTokenFile(this.#kubeConfig)) this.#forget();
    const credentials = await resolveCredentials(this.#kubeConfig);
    // The same object for the same credentials: what is derived from it can be kept.
    if (this.#kept?.fingerprint !== credentials.fingerprint) this.#kept = credentials;
    this.#keptUntil = performance.now() + KEPT_FOR_MS;
    return this.#kept;
  }

  /** A copy of the KubeConfig has fresh authenticators: token files are read, exec plugins run again. */
  #forget(): void {
    const { clusters, users, contexts, currentContext } = this.#kubeConfig;
    this.#kubeConfig = new KubeConfig();
    this.#kubeConfig.loadFromOptions({ clusters, users, contexts, currentContext });
    this.#keptUntil = 0;
  }
}

function readsTokenFile(kubeConfig: KubeConfig): boolean {
  // client-node's type of authProvider is `any`.
  const provider: unknown = kubeConfig.getCurrentUser()?.authProvider;
  return (
    typeof provider === 'object' && provider !== null && 'name' in provider && provider.name === 'tokenFile'
  );
}

async function resolveCredentials(kubeConfig: KubeConfig): Promise<Credentials> {
  const options: HttpsOptions = {};
  await kubeConfig.applyToHTTPSOptions(options);
  const headers = authenticationHeaders(options);
  const tls = tlsSettings(options);
  return { headers, tls, fingerprint: JSON.stringify([headers, tlsFingerprint(tls)]) };
}

function authenticationHeaders(options: HttpsOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  if (options.auth) headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // Token files often end in a newline, which no header may hold.
    headers[name.toLowerCase()] = String(value).trim();
  }
  return headers;
}

function tlsSettings(options: HttpsOptions): TlsSettings {
  const { ca, cert, key, rejectUnauthorized, servername } = options;
  return {
    ...(isPem(ca) && { ca }),
    ...(isPem(cert) && { cert }),
    ...(isPem(key) && { key }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    ...(servername !== undefined && { servername }),
  };
}

function isPem(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value);
}

/** Equal for settings that open the same connections. */
export function tlsFingerprint(tls: TlsSettings): string {
  const { ca = '', cert = '', key = '', rejectUnauthorized, servername } = tls;
  return JSON.stringify([ca.toString(), cert.toString(), key.toString(), rejectUnauthorized, servername]);
}
