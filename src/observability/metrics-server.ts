import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Logger } from '../api/logger.ts';
import { unreachable } from '../api/unreachable.ts';
import {
  listen,
  rejectionOf,
  sendText,
  type ListenAddress,
  type ListeningServer,
  type TextResponse,
} from './http-server.ts';
import { metricsAccess, type AccessReviewer, type MetricsAccess } from './metrics-access.ts';
import { useCertificate } from './serving-certificate.ts';

/** The current metrics, and the content type of their format. */
export interface Scrape {
  readonly contentType: string;
  readonly body: string;
}

export interface MetricsServerOptions {
  readonly address: ListenAddress;
  /** Over TLS, to clients that the API server allows to get `/metrics`; else unencrypted, to everybody. */
  readonly secure: boolean;
  /** The directory of `tls.crt` and `tls.key`. Default: a self-signed certificate. */
  readonly certDir?: string | undefined;
  readonly client: AccessReviewer;
  readonly scrape: () => Promise<Scrape>;
  readonly log: Logger;
}

/**
 * Serves `/metrics`. If secure, it requires a bearer token: 401 if that is not valid, 403 if its owner is not
 * allowed to read metrics, 503 as long as the API server cannot decide.
 *
 * @throws ConfigurationError if it cannot listen on the address, or cannot use the certificate
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<ListeningServer> {
  const { address, secure, client, log } = options;
  const access = secure ? metricsAccess({ client, log }) : undefined;
  const server = secure ? await tlsServer(options) : createServer();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    responseTo(request, access, options)
      .then((text) => sendText(request, response, text))
      .catch((err: unknown) => {
        log.error({ err }, 'cannot serve metrics');
        response.destroy();
      });
  });
  return listen(server, { address, serves: 'metrics', flag: '--metrics-addr', log });
}

async function tlsServer({ certDir, log }: MetricsServerOptions): Promise<Server> {
  const server = createTlsServer({ minVersion: 'TLSv1.2' });
  await useCertificate(server, { certDir, log });
  return server;
}

async function responseTo(
  request: IncomingMessage,
  access: MetricsAccess | undefined,
  { scrape, log }: MetricsServerOptions,
): Promise<TextResponse> {
  const rejection = rejectionOf(request, ['/metrics']) ?? (await accessRejection(request, access));
  if (rejection !== undefined) return rejection;
  try {
    return { status: 200, ...(await scrape()) };
  } catch (err) {
    log.error({ err }, 'cannot collect metrics');
    return { status: 500, body: 'cannot collect metrics; see the log\n' };
  }
}

/** Says no more than the API server itself says to strangers. */
async function accessRejection(
  request: IncomingMessage,
  access: MetricsAccess | undefined,
): Promise<TextResponse | undefined> {
  const decision = (await access?.(bearerTokenOf(request))) ?? 'allowed';
  switch (decision) {
    case 'allowed':
      return undefined;
    case 'unauthenticated':
      return { status: 401, body: 'unauthorized\n', headers: { 'www-authenticate': 'Bearer' } };
    case 'forbidden':
      return { status: 403, body: 'forbidden\n' };
    case 'undecided':
      return { status: 503, body: 'cannot check access with the API server\n' };
    default:
      return unreachable(decision);
  }
}

function bearerTokenOf({ headers }: IncomingMessage): string | undefined {
  // Source: RFC 6750, section 2.1; the scheme is case-insensitive by RFC 9110, section 11.1.
  return /^Bearer +([\w.~+/-]+=*) *$/i.exec(headers.authorization ?? '')?.[1];
}
