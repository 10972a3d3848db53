import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import type { Logger } from './contract/logger.ts';

/** What is wrong, as one sentence for people: `watch of pods: no event for 95 s`. */
export type Problem = string;

export interface Health {
  /** Why the process should be restarted; empty while it is fine. */
  readonly live: readonly Problem[];
  /** Why the process does not do its work at the moment; empty while it does. */
  readonly ready: readonly Problem[];
}

export interface HealthServer {
  /** Where it answers, with the real port: `http://127.0.0.1:9098`. */
  readonly url: string;
  /** Stops listening and drops open connections. Safe to repeat. */
  close(): Promise<void>;
}

export interface HealthServerOptions {
  /** An empty host is every interface; port 0 is any free port. */
  readonly address: { readonly host: string; readonly port: number };
  /** Asked at every request, so it must be quick and must not wait. */
  readonly checks: () => Health;
  readonly log: Logger;
}

/** The health address cannot be listened on. The message says which and what to do. */
export class HealthAddressError extends Error {
  override readonly name = 'HealthAddressError';
}

/**
 * Answers GET and HEAD of `/healthz` and `/readyz`: 200 `ok`, or 503 with a line for every problem.
 *
 * @throws HealthAddressError where the address cannot be listened on
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { address, log } = options;
  const server = createServer((request, response) => answer(request, response, options));
  await listen(server, address);
  server.on('error', (err) => log.error({ err }, 'the health server failed'));
  const url = urlOf(address.host, server.address());
  log.debug({ url }, 'health server listens');
  return { url, close: () => close(server) };
}

type Probe = keyof Health;

const PROBE_AT: ReadonlyMap<string, Probe> = new Map([
  ['/healthz', 'live'],
  ['/readyz', 'ready'],
]);

function answer(request: IncomingMessage, response: ServerResponse, options: HealthServerOptions): void {
  const [path = ''] = (request.url ?? '').split('?');
  const probe = PROBE_AT.get(path);
  if (probe === undefined) {
    send(request, response, { status: 404, lines: ['not found; there are /healthz and /readyz'] });
  } else if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    send(request, response, { status: 405, lines: ['method not allowed; use GET or HEAD'] });
  } else {
    const problems = problemsOf(probe, options);
    send(
      request,
      response,
      problems.length === 0 ? { status: 200, lines: ['ok'] } : { status: 503, lines: problems },
    );
  }
}

/** A check that throws is a problem by itself, not a reason to hang up on the kubelet. */
function problemsOf(probe: Probe, { checks, log }: HealthServerOptions): readonly Problem[] {
  try {
    return checks()[probe];
  } catch (err) {
    log.error({ err }, 'a health check threw');
    return [`a health check threw: ${messageOf(err)}`];
  }
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: { readonly status: number; readonly lines: readonly string[] },
): void {
  const body = answer.lines.map((line) => `${line.replaceAll(/\s*[\r\n]+\s*/g, ' ')}\n`).join('');
  response.writeHead(answer.status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function listen(server: Server, { host, port }: HealthServerOptions['address']): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (err: NodeJS.ErrnoException) => reject(cannotListen(`${host}:${port}`, err));
    server.once('error', fail);
    // Without a host, Node listens on every interface, IPv6 and IPv4 where both exist.
    server.listen({ port, ...(host === '' ? {} : { host }) }, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

function cannotListen(address: string, err: NodeJS.ErrnoException): HealthAddressError {
  const advice = 'set --health-addr to another address, or to 0 to do without';
  return new HealthAddressError(`cannot serve health on ${address}: ${whyNot(err)}; ${advice}`, {
    cause: err,
  });
}

function whyNot(err: NodeJS.ErrnoException): string {
  switch (err.code) {
    case 'EADDRINUSE':
      return 'the port is in use';
    case 'EACCES':
      return 'this user may not listen on that port';
    case 'EADDRNOTAVAIL':
      return 'this machine has no such address';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name is unknown';
    case undefined:
    default:
      return err.message;
  }
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    // An error here means that it was not running any more, which is what is wanted.
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function urlOf(host: string, bound: AddressInfo | string | null): string {
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const reachable = host === '' ? 'localhost' : host;
  return `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${port}`;
}

function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
