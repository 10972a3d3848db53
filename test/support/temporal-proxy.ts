import {
  connect,
  constants,
  createSecureServer,
  createServer,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';

/** A refusal in gRPC's words. */
export interface Refusal {
  readonly 'grpc-status': string;
  readonly 'grpc-message': string;
}

export const UNAVAILABLE: Refusal = { 'grpc-status': '14', 'grpc-message': 'the campaign says so' };

/** What becomes of a call, by the name of its method. */
export type CallVerdict = 'pass' | 'answer is lost' | Refusal;

/** Stands between one operator and Temporal, and goes wrong as told. */
export class TemporalProxy {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  /** Asked for every call: `StartWorkflowExecution`. */
  judge: (call: string, headers: IncomingHttpHeaders) => CallVerdict = () => 'pass';
  isAway = false;
  readonly #server: Http2Server;
  readonly #sessions: Set<ServerHttp2Session>;

  private constructor(server: Http2Server, sessions: Set<ServerHttp2Session>) {
    this.#server = server;
    this.#sessions = sessions;
    const { port } = server.address() as AddressInfo;
    this.address = `127.0.0.1:${port}`;
  }

  /**
   * @param temporalAddress as `127.0.0.1:7233`, in the clear
   * @param tls default: the proxy is in the clear, too
   */
  static async start(temporalAddress: string, tls?: TlsOptions): Promise<TemporalProxy> {
    const server = tls ? createSecureServer({ ...tls, ALPNProtocols: ['h2'] }) : createServer();
    const sessions = new Set<ServerHttp2Session>();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    const proxy = new TemporalProxy(server, sessions);
    server.on('connection', (socket: Socket) => {
      socket.on('error', () => undefined);
      if (proxy.isAway) socket.resetAndDestroy();
    });
    // A client that is refused hangs up as it likes.
    server.on('sessionError', () => undefined);
    server.on('tlsClientError', () => undefined);
    server.on('session', (session) => proxy.#join(session, temporalAddress));
    return proxy;
  }

  /** Every open connection ends at once. */
  cutOff(): void {
    for (const session of this.#sessions) session.destroy();
  }

  async stop(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.cutOff();
    await stopped;
  }

  /** Each connection has one of its own behind it: when the server ends that, this one ends, too. */
  #join(session: ServerHttp2Session, temporalAddress: string): void {
    const behind = connect(`http://${temporalAddress}`);
    this.#sessions.add(session);
    session.on('error', () => undefined);
    behind.on('error', () => session.destroy());
    behind.on('close', () => session.destroy());
    session.on('close', () => {
      this.#sessions.delete(session);
      behind.destroy();
    });
    session.on('stream', (stream, headers) => this.#take(stream, headers, behind));
  }

  #take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, behind: ClientHttp2Session): void {
    stream.on('error', () => undefined);
    const call = headers[':path']?.split('/').at(-1) ?? '';
    const verdict = behind.destroyed ? UNAVAILABLE : this.judge(call, headers);
    if (typeof verdict === 'object') refuse(stream, verdict);
    else forward({ from: stream, headers, to: behind, isAnswerLost: verdict === 'answer is lost' });
  }
}

function refuse(stream: ServerHttp2Stream, refusal: Refusal): void {
  const answer = { ':status': 200, 'content-type': 'application/grpc' };
  stream.respond({ ...answer, ...refusal }, { endStream: true });
}

interface Forwarded {
  readonly from: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly to: ClientHttp2Session;
  readonly isAnswerLost: boolean;
}

function forward({ from, headers, to, isAnswerLost }: Forwarded): void {
  const call = to.request({ ...headers, ':scheme': 'http' });
  call.on('error', () => from.destroy());
  // Who gives up a call cancels it behind, too; but what the server is to have done is let end.
  if (!isAnswerLost) from.on('close', () => call.close(constants.NGHTTP2_CANCEL));
  relay(from, call, () => {
    if (!isAnswerLost) return !from.destroyed;
    call.resume();
    from.close(constants.NGHTTP2_INTERNAL_ERROR);
    return false;
  });
}

/**
 * Passes a call on to the server behind, and its answer with its trailers back.
 *
 * @param isWanted whether the answer is passed on; asked when it comes
 */
function relay(from: ServerHttp2Stream, call: ClientHttp2Stream, isWanted: () => boolean): void {
  let trailers: IncomingHttpHeaders = {};
  call.on('response', (answer, flags) => {
    if (!isWanted()) return;
    const isEnd = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    from.respond(answer, { waitForTrailers: !isEnd, endStream: isEnd });
    call.pipe(from);
  });
  call.on('trailers', (sent: IncomingHttpHeaders) => {
    trailers = sent;
  });
  from.on('wantTrailers', () => from.sendTrailers(trailers));
  from.pipe(call);
}
