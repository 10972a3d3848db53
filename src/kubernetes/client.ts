import type { KubeConfig } from '@kubernetes/client-node';
import { CredentialSource, tlsFingerprint, type Credentials } from './credentials.ts';
import { errorFromAnswer, errorFromCredentials, errorFromFailure } from './errors.ts';
import { exchange, openStream, type Answer, type Stream } from './exchange.ts';
import { LineSplitter } from './lines.ts';
import type { KubernetesObject } from '../contract/object.ts';
import { SILENT, type RequestAbout, type Telemetry } from '../contract/telemetry.ts';
import { closeTransport, openTransport, type Transport, type TransportTarget } from './transport.ts';

export interface KubernetesClient {
  /** Makes one request and resolves with the parsed JSON body. @throws ApiError */
  request<T = unknown>(options: RequestOptions): Promise<T>;
  /** Opens a watch; yields events until the server ends it; the signal ends it too. @throws ApiError where it breaks */
  watch(options: WatchOptions): AsyncIterable<WatchEvent>;
  /** Waits for requests under way and closes every connection; open watches break. */
  close(): Promise<void>;
  /** The server's URL, for messages. */
  readonly server: string;
}

export type ContentType =
  | 'application/json'
  | 'application/merge-patch+json'
  | 'application/json-patch+json'
  | 'application/apply-patch+yaml';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  /** Default: `application/json`; for PATCH, `application/merge-patch+json`. */
  readonly contentType?: ContentType;
  /** Asks for PartialObjectMetadata: `metadata` alone; `list` where the answer is a list. */
  readonly metadataOnly?: boolean | 'list';
  /** Default: 10,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface WatchOptions {
  readonly path: string;
  /** `watch=1` is added. */
  readonly query?: Query;
  readonly metadataOnly?: boolean;
  /** How long the server may take to answer at all. Default: 30,000. */
  readonly connectTimeoutMs?: number;
  /** Called once the server has accepted the watch, which may be long before the first event. */
  readonly onOpen?: () => void;
  readonly signal?: AbortSignal;
}

/** `object` of an ERROR event is a Status, of a BOOKMARK one with `metadata.resourceVersion` alone. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubernetesObject;
}

export interface ClientOptions {
  /** For the User-Agent. */
  readonly version?: string;
  /** Most connections for requests; watches have their own. Default: 64. */
  readonly connections?: number;
  /** Who is told of each request. Default: nobody. */
  readonly telemetry?: Pick<Telemetry, 'request'>;
}

/** @throws ApiError from its methods; itself it opens no connection. */
export function createKubernetesClient(
  kubeConfig: KubeConfig,
  options: ClientOptions = {},
): KubernetesClient {
  return new DirectClient(kubeConfig, options);
}

const REQUEST_TIMEOUT_MS = 10_000;
const WATCH_CONNECT_TIMEOUT_MS = 30_000;

class DirectClient implements KubernetesClient {
  readonly server: string;
  readonly #credentials: CredentialSource;
  readonly #connections: Connections;
  readonly #headers: HeaderCache;
  readonly #origin: string;
  /** What stands before every path: the server's URL may have one, behind a gateway. */
  readonly #prefix: string;
  readonly #host: string;
  readonly #telemetry: Pick<Telemetry, 'request'>;

  constructor(kubeConfig: KubeConfig, options: ClientOptions) {
    const cluster = kubeConfig.getCurrentCluster();
    if (!cluster) throw new Error(`no cluster in the kubeconfig's context "${kubeConfig.currentContext}"`);
    const url = new URL(cluster.server);
    this.server = cluster.server;
    this.#origin = url.origin;
    this.#host = url.host;
    this.#telemetry = options.telemetry ?? SILENT;
    this.#prefix = url.pathname.replace(/\/+$/, '');
    this.#credentials = new CredentialSource(kubeConfig);
    this.#headers = new HeaderCache(`durable-operator/${options.version ?? 'unreleased'}`);
    const { connections = 64 } = options;
    this.#connections = new Connections({ origin: url.origin, proxyUrl: cluster.proxyUrl, connections });
  }

  async request<T = unknown>(options: RequestOptions): Promise<T> {
    const asked = `${options.method} ${options.path}`;
    const answer = await this.#authenticated(asked, (credentials) => this.#exchange(options, credentials));
    if (answer.status < 200 || answer.status > 299) throw errorFromAnswer(asked, answer);
    return parseJson(asked, answer.body);
  }

  async *watch(options: WatchOptions): AsyncIterable<WatchEvent> {
    const asked = `WATCH ${options.path}`;
    try {
      const answer = await this.#authenticated(asked, (credentials) => this.#openWatch(options, credentials));
      if (!isStream(answer)) throw errorFromAnswer(asked, answer);
      options.onOpen?.();
      yield* watchEvents(asked, answer);
    } catch (error) {
      if (!options.signal?.aborted) throw error;
    }
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  #exchange(options: RequestOptions, credentials: Credentials): Promise<Answer> {
    const contentType = options.body === undefined ? undefined : contentTypeOf(options);
    const sent = exchange(this.#connections.for(credentials).requests, {
      origin: this.#origin,
      method: options.method,
      path: this.#prefix + options.path + queryString(options.query),
      headers: this.#headers.of(credentials, options.metadataOnly ?? false, contentType),
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
      timeoutMs: options.timeoutMs ?? REQUEST_TIMEOUT_MS,
      signal: options.signal,
    });
    return this.#observed({ ...options, isWatch: false }, sent);
  }

  #openWatch(options: WatchOptions, credentials: Credentials): Promise<Stream | Answer> {
    const opened = openStream(this.#connections.for(credentials).watches, {
      origin: this.#origin,
      method: 'GET',
      path: this.#prefix + options.path + queryString({ ...options.query, watch: 1 }),
      headers: this.#headers.of(credentials, options.metadataOnly ?? false, undefined),
      timeoutMs: options.connectTimeoutMs ?? WATCH_CONNECT_TIMEOUT_MS,
      signal: options.signal,
    });
    return this.#observed({ method: 'GET', path: options.path, isWatch: true }, opened);
  }

  async #observed<A extends { readonly status: number }>(
    { method, path, isWatch }: Omit<RequestAbout, 'host'>,
    answering: Promise<A>,
  ): Promise<A> {
    const observer = this.#telemetry.request({ method, path, isWatch, host: this.#host });
    try {
      const answer = await answering;
      observer.answered(answer.status);
      return answer;
    } catch (error) {
      observer.failed();
      throw error;
    }
  }

  /** Asks with the credentials in hand and, where they are rejected and others can be had, once more with those. */
  async #authenticated<A extends { readonly status: number }>(
    asked: string,
    ask: (credentials: Credentials) => Promise<A>,
  ): Promise<A> {
    const credentials = this.#credentials.kept ?? (await this.#obtain(asked, () => this.#credentials.read()));
    const answer = await failing(asked, ask(credentials));
    if (answer.status !== 401) return answer;
    const others = await this.#obtain(asked, () => this.#credentials.otherThan(credentials));
    return others ? failing(asked, ask(others)) : answer;
  }

  async #obtain<C>(asked: string, obtain: () => Promise<C>): Promise<C> {
    try {
      return await obtain();
    } catch (error) {
      throw errorFromCredentials(asked, error);
    }
  }
}

/** The transport of the current credentials: another one only where the TLS settings have changed. */
class Connections {
  readonly #target: TransportTarget;
  #transport: Transport | undefined;
  #openedWith: Credentials | undefined;
  #closed: Promise<void> | undefined;

  constructor(target: TransportTarget) {
    this.#target = target;
  }

  for(credentials: Credentials): Transport {
    if (this.#transport && this.#openedWith === credentials) return this.#transport;
    if (this.#transport && this.#openedWith && sameTls(this.#openedWith, credentials)) {
      this.#openedWith = credentials;
      return this.#transport;
    }
    if (this.#transport) closeTransport(this.#transport).catch(() => undefined);
    this.#openedWith = credentials;
    this.#transport = openTransport(this.#target, credentials.tls);
    return this.#transport;
  }

  close(): Promise<void> {
    this.#closed ??= this.#transport ? closeTransport(this.#transport) : Promise.resolve();
    return this.#closed;
  }
}

function sameTls(one: Credentials, other: Credentials): boolean {
  return tlsFingerprint(one.tls) === tlsFingerprint(other.tls);
}

/** Headers vary only by credentials, Accept and Content-Type: each combination is built once. */
class HeaderCache {
  readonly #userAgent: string;
  readonly #built = new WeakMap<Credentials, Map<string, Record<string, string>>>();

  constructor(userAgent: string) {
    this.#userAgent = userAgent;
  }

  of(
    credentials: Credentials,
    metadataOnly: boolean | 'list',
    contentType: ContentType | undefined,
  ): Record<string, string> {
    let ofCredentials = this.#built.get(credentials);
    if (!ofCredentials)
      this.#built.set(credentials, (ofCredentials = new Map<string, Record<string, string>>()));
    const variant = `${metadataOnly} ${contentType ?? ''}`;
    let headers = ofCredentials.get(variant);
    if (!headers) ofCredentials.set(variant, (headers = this.#build(credentials, metadataOnly, contentType)));
    return headers;
  }

  #build(credentials: Credentials, metadataOnly: boolean | 'list', contentType: ContentType | undefined) {
    return {
      accept: acceptHeader(metadataOnly),
      'user-agent': this.#userAgent,
      ...(contentType && { 'content-type': contentType }),
      ...credentials.headers,
    };
  }
}

/** Source: the Kubernetes API concepts page, "Metadata-only fetches". */
function acceptHeader(metadataOnly: boolean | 'list'): string {
  if (metadataOnly === false) return 'application/json';
  const kind = metadataOnly === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  return `application/json;as=${kind};v=v1;g=meta.k8s.io`;
}

function contentTypeOf(options: RequestOptions): ContentType {
  return (
    options.contentType ?? (options.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json')
  );
}

function queryString(query: Query | undefined): string {
  if (!query) return '';
  const parts: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parts.push(`${name}=${encodeURIComponent(value)}`);
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

async function failing<A>(asked: string, answer: Promise<A>): Promise<A> {
  try {
    return await answer;
  } catch (error) {
    throw errorFromFailure(asked, error);
  }
}

async function* watchEvents(asked: string, stream: Stream): AsyncGenerator<WatchEvent> {
  try {
    const splitter = new LineSplitter();
    for (let chunks = await read(asked, stream); chunks; chunks = await read(asked, stream)) {
      for (const chunk of chunks) {
        for (const line of splitter.push(chunk)) yield parseJson<WatchEvent>(asked, line);
      }
    }
    if (splitter.inMidLine)
      throw errorFromFailure(asked, new Error('the watch ended in the middle of an event'));
  } finally {
    stream.destroy();
  }
}

function read(asked: string, stream: Stream): Promise<readonly Buffer[] | undefined> {
  return failing(asked, stream.read());
}

function isStream(answer: Stream | Answer): answer is Stream {
  return 'read' in answer;
}

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the API server answers in the shape that it documents
function parseJson<T>(asked: string, text: string): T {
  try {
    // eslint-disable-next-line @typescript-eslint/no-unsafe-return -- see above
    return JSON.parse(text);
  } catch (error) {
    throw errorFromFailure(asked, new Error('the answer is not JSON', { cause: error }));
  }
}
