/*
 * The API server. In: a method, a path, a body. Out: the parsed answer, the events of a watch, or an ApiError that says what went wrong in
 * one of the classes of errors.ts. Nothing here retries, caches or knows a controller; steps write through kube.ts, whose deletes and
 * patches carry what they were decided from.
 */

import { addAbortSignal, type Readable } from 'node:stream';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import { SILENT, type RequestAbout, type Telemetry } from '../runs/telemetry.ts';
import { eventsIn, parseJson, readAnswer, type ApiAnswer, type WatchEvent } from './answers.ts';
import {
  AnswerTooLong,
  ApiError,
  errorFromAnswer,
  errorFromCredentials,
  errorFromFailure,
} from './errors.ts';
import { withinLimit } from './limit.ts';
import { Sessions, type CredentialsOptions, type ConnectionSession } from './sessions.ts';

export type { WatchEvent } from './answers.ts';

export interface KubernetesClient {
  /** Makes one request and resolves with the parsed JSON body. @throws ApiError, AnswerTooLong */
  request<T = unknown>(options: RequestOptions): Promise<T>;
  /**
   * Opens a watch; yields events until the server ends it; the signal ends it too.
   * @throws ApiError where it breaks, or the server sends an event of the type ERROR
   */
  watch(options: WatchOptions): AsyncIterable<WatchEvent>;
  /**
   * Ends open watches, waits for open requests, and closes every connection.
   * @param graceMs How long it waits; then it ends open requests, too. Default: as long as they take
   */
  close(graceMs?: number): Promise<void>;
  /** Ends open watches; what is asked from now on goes over new connections, maybe to another server. Absent: it has none. */
  reconnect?(): void;
  /** The server's URL, for messages. */
  readonly server: string;
  /** What the API server calls the manager of the fields that it writes. */
  readonly fieldManager: string;
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
  /** To the whole answer, from when there are credentials. Default: 10,000. */
  readonly timeoutMs?: number;
  /** It waits for a connection together with the other requests of its pool alone. Default: those that name none. */
  readonly pool?: string;
  /** It is sent over a connection of its own. */
  readonly onNewConnection?: boolean;
  readonly signal?: AbortSignal;
  /** No more of the body is read. Default: no limit. */
  readonly maxBytes?: number;
  /** Called with the length of the body. */
  readonly onBytes?: (count: number) => void;
}

export interface WatchOptions {
  readonly path: string;
  /** `watch=1` is added. */
  readonly query?: Query;
  readonly metadataOnly?: boolean;
  /** Called once the server has accepted the watch, which may be long before the first event. */
  readonly onOpen?: () => void;
  readonly signal?: AbortSignal;
}

type RequestTelemetry = Pick<Telemetry, 'request' | 'requestFailed'>;

export interface ClientOptions extends CredentialsOptions {
  /** The operator: the API server calls the manager of the fields that it writes so. Default: `durable-operator`. */
  readonly program?: string;
  /** For the User-Agent. */
  readonly version?: string;
  /** Most connections of each pool; watches have their own. Default: 16, which also bounds the answers that are read at a time. */
  readonly connections?: number;
  /** Observes each request. Default: nothing does. */
  readonly telemetry?: RequestTelemetry;
}

/** @throws ApiError from its methods; itself it opens no connection. */
export function createKubernetesClient(
  kubeConfig: KubeConfig,
  options: ClientOptions = {},
): KubernetesClient {
  return new HttpClient(kubeConfig, options);
}

/** The same client; its requests have connections of their own, whoever else makes many or slow ones. */
export function withPool(client: KubernetesClient, pool: string): KubernetesClient {
  return {
    request: (options) => client.request({ pool, ...options }),
    watch: (options) => client.watch(options),
    close: (graceMs) => client.close(graceMs),
    reconnect: () => client.reconnect?.(),
    server: client.server,
    fieldManager: client.fieldManager,
  };
}

const REQUEST_TIMEOUT_MS = 10_000;
/** How long the server may take to answer at all. */
const WATCH_CONNECT_TIMEOUT_MS = 30_000;

/** A watch that the server has accepted. */
interface OpenStream {
  readonly status: number;
  readonly stream: Readable;
}

class HttpClient implements KubernetesClient {
  readonly server: string;
  readonly fieldManager: string;
  readonly #sessions: Sessions;
  readonly #origin: string;
  /** The path of the server's URL, if any: a gateway may serve several clusters. */
  readonly #prefix: string;
  readonly #host: string;
  readonly #userAgent: string;
  readonly #telemetry: RequestTelemetry;

  constructor(kubeConfig: KubeConfig, options: ClientOptions) {
    const cluster = kubeConfig.getCurrentCluster();
    if (!cluster) throw new Error(`the kubeconfig's context "${kubeConfig.currentContext}" has no cluster`);
    const { origin, host, pathname } = new URL(cluster.server);
    this.server = cluster.server;
    this.#origin = origin;
    this.#host = host;
    this.#prefix = pathname.replace(/\/+$/, '');
    this.fieldManager = options.program ?? 'durable-operator';
    // A write that names no field manager is of what comes before the slash.
    this.#userAgent = `${this.fieldManager}/${options.version ?? 'unreleased'}`;
    this.#telemetry = options.telemetry ?? SILENT;
    this.#sessions = new Sessions({ ...options, kubeConfig, origin, connections: options.connections ?? 16 });
  }

  async request<T = unknown>(options: RequestOptions): Promise<T> {
    const { method, path, maxBytes = Infinity } = options;
    const asked = `${method} ${path}`;
    try {
      const answer = await this.#authenticated(asked, options, (session) => this.#exchange(options, session));
      if (answer.bytes > maxBytes) throw new AnswerTooLong(`${asked}: more than ${maxBytes} bytes`);
      if (answer.status < 200 || answer.status > 299) throw errorFromAnswer(asked, answer);
      options.onBytes?.(answer.bytes);
      return parseJson<T>(asked, answer.body);
    } catch (error) {
      if (error instanceof AnswerTooLong) throw error;
      throw this.#reported(asked, error, options.signal);
    }
  }

  async *watch(options: WatchOptions): AsyncIterable<WatchEvent> {
    const asked = `WATCH ${options.path}`;
    try {
      const answer = await this.#authenticated(asked, options, (session) =>
        this.#openWatch(options, session),
      );
      if (!('stream' in answer)) throw errorFromAnswer(asked, answer);
      options.onOpen?.();
      yield* eventsIn(asked, answer.stream);
    } catch (error) {
      if (!options.signal?.aborted) throw this.#reported(asked, error);
    }
  }

  /** What the caller broke off by its signal says nothing of the server. */
  #reported(asked: string, error: unknown, signal?: AbortSignal): ApiError {
    const reported = asApiError(asked, error);
    if (!signal?.aborted) this.#telemetry.requestFailed(reported.classification);
    return reported;
  }

  close(graceMs?: number): Promise<void> {
    return this.#sessions.close(graceMs);
  }

  reconnect(): void {
    this.#sessions.reconnect();
  }

  #exchange(options: RequestOptions, session: ConnectionSession): Promise<ApiAnswer> {
    const { timeoutMs = REQUEST_TIMEOUT_MS, signal, pool = 'shared', onNewConnection = false } = options;
    const own = onNewConnection ? session.connections.open() : undefined;
    const connections = own ?? session.connections.pool(pool);
    const answer = withinLimit({ timeoutMs, signal }, async (limit) =>
      readAnswer(await connections.request(this.#onTheWire(options, session, limit)), options.maxBytes),
    );
    void answer.catch(() => undefined).finally(() => own?.destroy());
    return this.#observed({ ...options, isWatch: false }, answer);
  }

  #openWatch(options: WatchOptions, session: ConnectionSession): Promise<OpenStream | ApiAnswer> {
    const { signal } = options;
    const request = { ...options, method: 'GET', query: { ...options.query, watch: 1 } } as const;
    const answer = withinLimit({ timeoutMs: WATCH_CONNECT_TIMEOUT_MS, signal }, async (limit) => {
      const response = await session.connections.watches.request(this.#onTheWire(request, session, limit));
      if (response.statusCode !== 200) return readAnswer(response);
      if (signal) addAbortSignal(signal, response.body);
      return { status: 200, stream: response.body };
    });
    return this.#observed({ ...request, isWatch: true }, answer);
  }

  #onTheWire(
    options: RequestOptions,
    session: ConnectionSession,
    signal: AbortSignal,
  ): Dispatcher.RequestOptions {
    const { method, path, query, body, metadataOnly = false } = options;
    return {
      origin: this.#origin,
      method,
      path: this.#prefix + path + queryString(query),
      headers: {
        accept: acceptHeader(metadataOnly),
        'user-agent': this.#userAgent,
        ...(body !== undefined && { 'content-type': contentTypeOf(options) }),
        ...session.headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
      // The time limit is ours: it counts from the call, and it is exact.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
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

  /** Asks, and where its credentials are rejected and there are others, asks once more. */
  async #authenticated<A extends { readonly status: number }>(
    asked: string,
    { signal }: Pick<RequestOptions, 'signal'>,
    ask: (session: ConnectionSession) => Promise<A>,
  ): Promise<A> {
    // Others may go on waiting for what they wait for together.
    const withCredentials = <S>(read: () => S | Promise<S>) =>
      withinLimit({ signal }, () => readCredentials(asked, read));
    const session = await withCredentials(() => this.#sessions.current());
    const answer = await ask(session);
    if (answer.status !== 401) return answer;
    const other = await withCredentials(() => this.#sessions.otherThan(session));
    return other ? ask(other) : answer;
  }
}

async function readCredentials<S>(asked: string, read: () => S | Promise<S>): Promise<S> {
  try {
    return await read();
  } catch (error) {
    throw errorFromCredentials(asked, error);
  }
}

/** Source: the Kubernetes API concepts page, "Metadata-only fetches". */
function acceptHeader(metadataOnly: boolean | 'list'): string {
  if (metadataOnly === false) return 'application/json';
  const kind = metadataOnly === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  return `application/json;as=${kind};v=v1;g=meta.k8s.io`;
}

function contentTypeOf({ contentType, method }: RequestOptions): ContentType {
  return contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
}

function queryString(query: Query = {}): string {
  const parts = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${encodeURIComponent(value)}`,
  );
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function asApiError(asked: string, error: unknown): ApiError {
  return error instanceof ApiError ? error : errorFromFailure(asked, error);
}
