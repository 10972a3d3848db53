import {
  connect,
  createSecureServer,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { relay } from './http2-relay.ts';

export interface GateOptions {
  /** The server behind it, as `127.0.0.1:7233`, in the clear. */
  readonly temporalAddress: string;
  readonly tls: TlsOptions;
  /** The API key that every call must bear; none: whoever gets through TLS may call. */
  readonly apiKey?: string;
  /** Nobody may register search attributes, as in Temporal Cloud. */
  readonly deniesRegistration?: boolean;
}

/** What stands before a Temporal server that is not for everybody: TLS, and an API key as Temporal Cloud wants it. */
export interface TemporalGate {
  /** `localhost:<port>` */
  readonly address: string;
  close(): Promise<void>;
}

export async function startTemporalGate({
  temporalAddress,
  tls,
  apiKey,
  deniesRegistration = false,
}: GateOptions): Promise<TemporalGate> {
  const temporal = connect(`http://${temporalAddress}`);
  const server = createSecureServer({ ...tls, ALPNProtocols: ['h2'] });
  const sessions = new Set<{ destroy(): void }>([temporal]);
  server.on('session', (session) => sessions.add(session));
  // A client that is refused hangs up as it likes.
  server.on('sessionError', () => undefined);
  server.on('tlsClientError', () => undefined);
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`) refuse(stream, UNAUTHENTICATED);
    else if (deniesRegistration && headers[':path']?.includes('OperatorService') === true)
      refuse(stream, DENIED);
    else forward(stream, headers, temporal);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `localhost:${portOf(server.address())}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

/** In gRPC's words, as Temporal Cloud answers. */
const UNAUTHENTICATED = { 'grpc-status': '16', 'grpc-message': 'invalid API key' };
const DENIED = { 'grpc-status': '7', 'grpc-message': 'Request unauthorized.' };

function refuse(stream: ServerHttp2Stream, why: typeof DENIED): void {
  const answer = { ':status': 200, 'content-type': 'application/grpc' };
  stream.respond({ ...answer, ...why }, { endStream: true });
}

function forward(from: ServerHttp2Stream, headers: IncomingHttpHeaders, to: ClientHttp2Session): void {
  const call = to.request({ ...headers, ':scheme': 'http' });
  call.on('error', () => from.destroy());
  from.on('close', () => call.destroy());
  relay(from, call);
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('not listening');
  return address.port;
}
