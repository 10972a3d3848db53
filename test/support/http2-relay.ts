import {
  constants,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';

/**
 * Passes a call on to the server behind, and its answer with its trailers back.
 *
 * @param isWanted whether the answer is passed on; asked when it comes
 */
export function relay(
  from: ServerHttp2Stream,
  call: ClientHttp2Stream,
  isWanted: () => boolean = () => true,
): void {
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
