import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { ListenAddress } from '../config/config.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { Logger } from '../api/logger.ts';

export type { ListenAddress };

/** A server that accepts connections. */
export interface ListeningServer {
  /** With the real port: `http://127.0.0.1:9098`. */
  readonly url: string;
  /** Stops listening and drops open connections. Safe to repeat. */
  close(): Promise<void>;
}

export interface ListenOptions {
  /** Port 0 is any free port. */
  readonly address: ListenAddress;
  /** What it serves, for messages: `health`, `metrics`. */
  readonly serves: string;
  /** The option that sets the address, for messages. */
  readonly flag: string;
  readonly log: Logger;
}

/** @throws ConfigurationError if it cannot listen on the address; the message says which, why and what to do */
export async function listen(server: Server, options: ListenOptions): Promise<ListeningServer> {
  const { serves, log } = options;
  await bind(server, options);
  server.on('error', (err) => log.error({ err }, `the ${serves} server failed`));
  const url = urlOf(server, options.address.host);
  log.debug({ url }, `serving ${serves}`);
  return { url, close: () => close(server) };
}

export interface TextResponse {
  readonly status: number;
  readonly body: string;
  /** Default: plain text. */
  readonly contentType?: string;
  readonly headers?: OutgoingHttpHeaders;
}

/** Responds with a text, to HEAD with its length alone. All we serve is the current state, so it is never cached. */
export function sendText(request: IncomingMessage, response: ServerResponse, text: TextResponse): void {
  const { status, body, contentType = 'text/plain; charset=utf-8', headers = {} } = text;
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** Without the query. */
export function requestPath({ url = '' }: IncomingMessage): string {
  return url.split('?')[0] ?? '';
}

/** What to respond to anything but a GET or HEAD of these paths; undefined if it is one. */
export function rejectionOf(request: IncomingMessage, paths: readonly string[]): TextResponse | undefined {
  if (!paths.includes(requestPath(request)))
    return { status: 404, body: `not found; try ${paths.join(' or ')}\n` };
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  return { status: 405, body: 'method not allowed; use GET or HEAD\n', headers: { allow: 'GET, HEAD' } };
}

function bind(server: Server, options: ListenOptions): Promise<void> {
  const { host, port } = options.address;
  return new Promise((resolve, reject) => {
    const fail = (err: Error) => reject(cannotListen(options, err));
    server.once('error', fail);
    // Without a host, Node listens on every interface, IPv6 and IPv4 where both exist.
    server.listen({ port, ...(host === '' ? {} : { host }) }, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

function cannotListen({ serves, flag }: ListenOptions, err: Error): ConfigurationError {
  const message = `cannot serve ${serves}: ${err.message}; set ${flag} to another address`;
  return new ConfigurationError(message, { cause: err });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // The only error is that the server was not running.
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function urlOf(server: Server, host: string): string {
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const reachable = host === '' ? 'localhost' : host;
  const scheme = server instanceof TlsServer ? 'https' : 'http';
  return `${scheme}://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${port}`;
}
