import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { apiServerIn, writeKubeconfigThrough, type ProxiedApiServer } from './proxied-api-server.ts';

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly accept: string;
}

/** Answers in the server's place, or says what becomes of its answer; undefined: nothing is wrong. */
export type Fault =
  | {
      readonly answer: number;
      readonly retryAfterSeconds?: number;
      /** The server's words, where they matter. */
      readonly message?: string;
    }
  | 'answer is lost'
  /** The request never arrives, and its sender waits. */
  | 'no answer';

/**
 * Stands between an operator and the API server, and goes wrong as told. A write that has arrived is carried out, even
 * where its sender is gone by then: a test that counts writes needs an audit log that has them all. An API server that
 * is cut off in the middle logs a time-out, be the write made or not.
 */
export class FaultProxy {
  readonly requests: ProxiedRequest[] = [];
  /** The file of the kubeconfig that goes through it. */
  readonly kubeconfig: string;
  /** Asked for every request. */
  fault: (request: ProxiedRequest) => Fault | undefined = () => undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: ProxiedApiServer;

  private constructor(kubeconfig: string, target: ProxiedApiServer) {
    this.kubeconfig = kubeconfig;
    this.#target = target;
    this.#server = createServer((incoming, outgoing) => void this.#receive(incoming, outgoing));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  /**
   * @param kubeconfig of whom it is to stand for
   * @param file where to write the kubeconfig that goes through it
   */
  static async start(kubeconfig: string, file: string): Promise<FaultProxy> {
    const text = await readFile(kubeconfig, 'utf8');
    const proxy = new FaultProxy(file, apiServerIn(text));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.#server.address() as AddressInfo;
    await writeKubeconfigThrough(port, text, file);
    return proxy;
  }

  async stop(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await stopped;
  }

  async #receive(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    const body = await buffer(incoming).catch(() => undefined);
    // Its sender was gone before.
    if (body === undefined) return;
    const seen = { method, path, accept: headers.accept ?? '' };
    this.requests.push(seen);
    const fault = this.fault(seen);
    if (fault === 'no answer') return;
    if (fault === undefined || fault === 'answer is lost') {
      this.#forward({ incoming, body, outgoing }, fault !== undefined);
      return;
    }
    const { answer, retryAfterSeconds, message = 'the fault proxy says so' } = fault;
    const wait = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
    outgoing.writeHead(answer, { 'content-type': 'application/json', ...wait });
    outgoing.end(JSON.stringify({ kind: 'Status', message, code: answer }));
  }

  #forward({ incoming, body, outgoing }: Exchange, isLost: boolean): void {
    const { url, ca } = this.#target;
    const { method, url: path, headers } = incoming;
    const onward = request({ host: url.hostname, port: url.port, path, method, headers, ca }, (answer) => {
      if (isLost || outgoing.destroyed) {
        answer.resume();
        answer.on('end', () => incoming.socket.resetAndDestroy());
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    onward.on('error', () => outgoing.destroy());
    // A watch would go on for ever.
    if (method === 'GET') outgoing.on('close', () => onward.destroy());
    onward.end(body);
  }
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly body: Buffer;
  readonly outgoing: ServerResponse;
}
