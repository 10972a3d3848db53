import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { WatchPipe } from './watch-pipe.ts';

/** One request of the operator, and what became of it. */
export interface Journalled {
  readonly atMs: number;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly about: RequestTarget;
  readonly isWatch: boolean;
  readonly body: unknown;
  /** Whether it came from the real server, whatever the operator was told. Undefined: it was never sent there. */
  status?: number;
  /** The server's answer, of writes and errors alone. */
  answer?: unknown;
}

/** What a request is about, as its path says. */
export interface RequestTarget {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

/** What becomes of a request; each part is optional, and none of them: nothing goes wrong. */
export interface Verdict {
  /** The server never gets it. */
  readonly instead?: 'reset' | 'no answer' | ForgedAnswer;
  readonly delayMs?: number;
  /** What arrives in place of what was sent. */
  readonly rewritten?: object;
  /** The server has answered, and the operator does not get to know it. */
  readonly isAnswerLost?: boolean;
  readonly afterCommit?: () => void;
  readonly afterAnswer?: () => void;
}

export interface ForgedAnswer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter?: string;
}

const PASS: Verdict = {};

/**
 * Stands between one operator and the API server; keeps a journal of all that the operator asks, and goes wrong as told.
 * A write that has arrived is carried out, even where its sender is gone by then.
 */
export class ApiProxy {
  readonly journal: Journalled[] = [];
  /** The file of the kubeconfig that goes through it. */
  readonly kubeconfig: string;
  /** Asked for every request. */
  judge: (request: Journalled) => Verdict = () => PASS;
  /** Whether connections are cut off, and new ones too. */
  isAway = false;
  readonly watches = new Set<WatchPipe>();
  /** Asked for every watch: how its events get on from now on. */
  onWatch: (watch: WatchPipe) => void = () => undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: ProxiedApiServer;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(kubeconfig: string, target: ProxiedApiServer) {
    this.kubeconfig = kubeconfig;
    this.#target = target;
    this.#server = createServer((incoming, outgoing) => void this.#receive(incoming, outgoing));
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on('connection', (socket) => this.#accept(socket));
  }

  /**
   * @param kubeconfig of whom it is to stand for, as JSON
   * @param file where to write the kubeconfig that goes through it
   */
  static async start(kubeconfig: string, file: string): Promise<ApiProxy> {
    const text = await readFile(kubeconfig, 'utf8');
    const proxy = new ApiProxy(file, apiServerIn(text));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.#server.address() as AddressInfo;
    await writeKubeconfigThrough(port, text, file);
    return proxy;
  }

  /** Every open connection is reset, and with it every watch. */
  cutOff(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await stopped;
    this.#agent.destroy();
  }

  #accept(socket: Socket): void {
    if (this.isAway) {
      socket.resetAndDestroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  async #receive(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const bytes = await buffer(incoming).catch(() => undefined);
    // Its sender was gone before.
    if (bytes === undefined) return;
    const seen = journalled(incoming, bytes);
    this.journal.push(seen);
    const { instead, delayMs, rewritten, ...verdict } = this.judge(seen);
    if (instead === 'no answer') return;
    if (instead === 'reset') incoming.socket.resetAndDestroy();
    else if (instead !== undefined) forge(outgoing, instead);
    else {
      if (delayMs !== undefined) await pause(delayMs);
      const sent = rewritten === undefined ? bytes : Buffer.from(JSON.stringify(rewritten));
      this.#forward({ incoming, outgoing, bytes: sent, seen, verdict });
    }
  }

  #forward(exchange: Exchange): void {
    const { incoming, outgoing, bytes, seen } = exchange;
    const { url, ca } = this.#target;
    const { method, url: path } = incoming;
    const headers = {
      ...incoming.headers,
      ...(bytes.length > 0 && { 'content-length': String(bytes.length) }),
    };
    const { hostname: host, port } = url;
    const onward = request({ host, port, path, method, headers, ca, agent: this.#agent }, (answer) => {
      if (seen.isWatch && answer.statusCode === 200) this.#pipe(answer, exchange);
      else void this.#pass(answer, exchange);
    });
    onward.on('error', () => outgoing.destroy());
    if (seen.isWatch) outgoing.on('close', () => onward.destroy());
    onward.end(bytes);
  }

  async #pass(answer: IncomingMessage, { incoming, outgoing, seen, verdict }: Exchange): Promise<void> {
    const bytes = await buffer(answer).catch(() => undefined);
    if (bytes === undefined) {
      outgoing.destroy();
      return;
    }
    seen.status = answer.statusCode ?? 502;
    if (seen.method !== 'GET' || seen.status >= 400) seen.answer = parsed(bytes);
    verdict.afterCommit?.();
    if (verdict.isAnswerLost === true || outgoing.destroyed) {
      incoming.socket.resetAndDestroy();
      return;
    }
    outgoing.writeHead(seen.status, withoutFraming(answer));
    outgoing.end(bytes, verdict.afterAnswer);
  }

  #pipe(answer: IncomingMessage, { outgoing, seen }: Exchange): void {
    seen.status = 200;
    outgoing.writeHead(200, withoutFraming(answer));
    outgoing.flushHeaders();
    const { resource } = seen.about;
    const watch = new WatchPipe({ resource, answer, outgoing });
    this.watches.add(watch);
    outgoing.on('close', () => this.watches.delete(watch));
    this.onWatch(watch);
  }
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly bytes: Buffer;
  readonly seen: Journalled;
  readonly verdict: Verdict;
}

function journalled({ method = '', url: path = '' }: IncomingMessage, bytes: Buffer): Journalled {
  const { pathname, searchParams } = new URL(path, 'http://api');
  return {
    atMs: Date.now(),
    method,
    path,
    about: aboutOf(pathname),
    isWatch: searchParams.has('watch'),
    body: bytes.length === 0 ? undefined : parsed(bytes),
  };
}

/** Source: the Kubernetes API concepts page, "Resource URIs". */
const PATH = /^\/(?:api|apis\/[^/]+)\/[^/]+(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/;
const NAMESPACE = /^\/api\/v1\/namespaces\/([^/]+)$/;

function aboutOf(pathname: string): RequestTarget {
  const itself = NAMESPACE.exec(pathname)?.[1];
  if (itself !== undefined)
    return { resource: 'namespaces', namespace: itself, name: itself, subresource: '' };
  const [, namespace = '', resource = '', name = '', subresource = ''] = PATH.exec(pathname) ?? [];
  return { resource, namespace, name, subresource };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return bytes.toString('utf8');
  }
}

/** The whole answer is sent on in one piece, or line by line: how it came says nothing about that. */
function withoutFraming({ headers }: IncomingMessage): NodeJS.Dict<string | string[]> {
  const kept = Object.entries(headers).filter(([name]) => !FRAMING.includes(name));
  return Object.fromEntries(kept);
}

const FRAMING: readonly string[] = ['content-length', 'transfer-encoding', 'connection'];

function forge(outgoing: ServerResponse, { status, body, retryAfter }: ForgedAnswer): void {
  const wait = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  outgoing.writeHead(status, { 'content-type': 'application/json', ...wait });
  outgoing.end(body);
}

/** The API server that a proxy stands before. */
interface ProxiedApiServer {
  readonly url: URL;
  readonly ca: Buffer;
}

/** @param kubeconfig its text, with the certificate in it. @throws Error where it has none */
function apiServerIn(kubeconfig: string): ProxiedApiServer {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const cluster = config.getCurrentCluster();
  if (cluster?.caData === undefined) throw new Error('the kubeconfig has no cluster with its certificate');
  return { url: new URL(cluster.server), ca: Buffer.from(cluster.caData, 'base64') };
}

/** Writes the same kubeconfig, but through the proxy at this port of 127.0.0.1, which speaks HTTP. */
async function writeKubeconfigThrough(port: number, kubeconfig: string, file: string): Promise<void> {
  const { url } = apiServerIn(kubeconfig);
  const through = kubeconfig
    .replace(url.origin, `http://127.0.0.1:${port}`)
    .replace(/"certificate-authority-data": "[^"]*"/, '"insecure-skip-tls-verify": true');
  await writeFile(file, through, { mode: 0o600 });
}
