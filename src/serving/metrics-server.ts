import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { ListenAddress } from '../config.ts';
import type { Logger } from '../contract/logger.ts';
import { unreachable } from '../contract/unreachable.ts';
import { sendText, type TextAnswer } from './http-answer.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { listen, type Listening } from './listening.ts';
import { metricsAccess, type MetricsAccess, type Refusal } from './metrics-access.ts';
import { presentCertificate } from './serving-certificate.ts';

export interface MetricsServerOptions {
  readonly address: ListenAddress;
  /** By TLS, and only to whom the API server lets get `/metrics`; else in the clear, to whoever asks. */
  readonly secure: boolean;
  /** Where `tls.crt` and `tls.key` are; none: a certificate is made. */
  readonly certDir?: string | undefined;
  /** Asks the API server who may read. */
  readonly client: Pick<KubernetesClient, 'request'>;
  /** The metrics of this moment, with the content type of their format. */
  readonly scrape: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly log: Logger;
}

/**
 * Answers GET and HEAD of `/metrics`. Secure, it wants a bearer token: 401 without a good one, 403 where its owner
 * may not, 503 while the API server cannot say: it never stands open.
 *
 * @throws ConfigurationError where the address cannot be listened on, or the certificate cannot be used
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<Listening> {
  const { address, secure, client, log } = options;
  const access = secure ? metricsAccess({ client, log }) : undefined;
  const server = secure ? await tlsServer(options) : createServer();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    answerTo(request, access, options)
      .then((answer) => sendText(request, response, answer))
      .catch((err: unknown) => {
        log.error({ err }, 'metrics could not be served');
        response.destroy();
      });
  });
  return listen(server, { address, serves: 'metrics', flag: '--metrics-addr', log });
}

async function tlsServer({ certDir, log }: MetricsServerOptions): Promise<Server> {
  const server = createTlsServer({ minVersion: 'TLSv1.2' });
  await presentCertificate(server, { certDir, log });
  return server;
}

async function answerTo(
  request: IncomingMessage,
  access: MetricsAccess | undefined,
  options: MetricsServerOptions,
): Promise<TextAnswer> {
  const [path = ''] = (request.url ?? '').split('?');
  if (path !== '/metrics') return { status: 404, body: 'not found; there is /metrics\n' };
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { status: 405, body: 'method not allowed; use GET or HEAD\n', headers: { allow: 'GET, HEAD' } };
  }
  if (access === undefined) return metricsOf(options);
  const admission = await access(bearerTokenOf(request));
  return admission.may === 'read' ? metricsOf(options) : refusal(admission.because);
}

async function metricsOf({ scrape, log }: MetricsServerOptions): Promise<TextAnswer> {
  try {
    return { status: 200, ...(await scrape()) };
  } catch (err) {
    log.error({ err }, 'metrics could not be collected');
    return { status: 500, body: 'metrics could not be collected; the log says why\n' };
  }
}

/** Tells no more than the API server itself tells to whom it does not know. */
function refusal(because: Refusal['because']): TextAnswer {
  switch (because) {
    case 'unknown':
      return { status: 401, body: 'unauthorized\n', headers: { 'www-authenticate': 'Bearer' } };
    case 'not-allowed':
      return { status: 403, body: 'forbidden\n' };
    case 'nobody-can-say':
      return { status: 503, body: 'the API server cannot be asked who may read\n' };
    default:
      return unreachable(because);
  }
}

function bearerTokenOf({ headers }: IncomingMessage): string | undefined {
  // Source: RFC 6750, section 2.1; the scheme's case is free by RFC 9110, section 11.1.
  return /^Bearer +([\w.~+/-]+=*) *$/i.exec(headers.authorization ?? '')?.[1];
}
