import { KubeConfig, type Cluster, type User } from '@kubernetes/client-node';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { TLSSocket, type PeerCertificate, type TlsOptions } from 'node:tls';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  /** Each header as often as it came. */
  readonly headersDistinct: NodeJS.Dict<string[]>;
  readonly body: string;
  /** Common name of the client's certificate, over TLS. */
  readonly clientName: string | undefined;
}

export type Handler = (request: ReceivedRequest, response: ServerResponse) => void;

/** An HTTP server on loopback that stands where the API server stands: all fakes are at the network. */
export class FakeApiServer {
  readonly requests: ReceivedRequest[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server;
  readonly #scheme: string;
  #connectionsEver = 0;
  #handler: Handler;

  constructor(handler: Handler, tls?: TlsOptions) {
    this.#handler = handler;
    const receive = (request: IncomingMessage, response: ServerResponse): void => {
      this.#receive(request, response).catch(() => response.destroy());
    };
    this.#server = tls ? createTlsServer(tls, receive) : createServer(receive);
    this.#scheme = tls ? 'https' : 'http';
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on('connection', (socket: Socket) => this.#track(socket));
  }

  /** @param tls Serves HTTPS; plain HTTP without it. */
  static async start(handler: Handler = answerJson(200, {}), tls?: TlsOptions): Promise<FakeApiServer> {
    const server = new FakeApiServer(handler, tls);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  handle(handler: Handler): void {
    this.#handler = handler;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return this.#address.port;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  get connectionsEver(): number {
    return this.#connectionsEver;
  }

  get lastRequest(): ReceivedRequest {
    const last = this.requests.at(-1);
    if (!last) throw new Error('no request has come');
    return last;
  }

  /** client-node allows plain HTTP only where TLS is not verified either. */
  kubeConfig(user: Partial<User> = { token: 'secret-token' }, cluster: Partial<Cluster> = {}): KubeConfig {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: 'fake', server: this.url, skipTLSVerify: this.#scheme === 'http', ...cluster }],
      users: [{ name: 'tester', ...user }],
      contexts: [{ name: 'fake', cluster: 'fake', user: 'tester' }],
      currentContext: 'fake',
    });
    return config;
  }

  /** Resets every open connection. */
  resetConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await stopped;
  }

  get #address(): AddressInfo {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return address;
  }

  #track(socket: Socket): void {
    this.#connectionsEver += 1;
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { method = '', headers, headersDistinct } = request;
    const url = new URL(request.url ?? '/', this.url);
    const received = {
      method,
      url,
      headers,
      headersDistinct,
      body,
      clientName: clientNameOf(request.socket),
    };
    this.requests.push(received);
    this.#handler(received, response);
  }
}

function clientNameOf(socket: Socket): string | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  // Without a certificate it is empty, which its type does not tell.
  const certificate: Partial<PeerCertificate> = socket.getPeerCertificate();
  return certificate.subject?.CN?.toString();
}

export function answerJson(status: number, body: unknown, headers: Record<string, string> = {}): Handler {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

export function answerText(status: number, body: string): Handler {
  return (_, response) => response.writeHead(status).end(body);
}

/** Takes the request and never answers. */
export const neverAnswer: Handler = () => undefined;

export const reset: Handler = (_, response) => {
  response.socket?.resetAndDestroy();
};

/** Source of the shape: apimachinery, pkg/api/errors. */
export function aStatus(
  code: number,
  fields: { message: string; reason?: string; details?: object },
): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, ...fields };
}
