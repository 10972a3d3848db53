import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { KubernetesObject } from '../api/object.ts';
import { errorFromFailure, errorFromWatchEvent, type FailedAnswer } from './errors.ts';

export interface ApiAnswer extends FailedAnswer {
  /** Of the body. More than was asked for: the rest was not read, and `body` is empty. */
  readonly bytes: number;
}

export async function readAnswer(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  maxBytes = Infinity,
): Promise<ApiAnswer> {
  const retryAfter = [headers['retry-after']].flat()[0];
  const chunks: Buffer[] = [];
  let bytes = 0;
  // undici gives bytes, since nobody has set an encoding.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // To leave the loop closes the connection.
    if (bytes > maxBytes) return { status: statusCode, retryAfter, bytes, body: '' };
    chunks.push(chunk);
  }
  return { status: statusCode, retryAfter, bytes, body: Buffer.concat(chunks).toString('utf8') };
}

/** `object` of a BOOKMARK has `metadata.resourceVersion` alone. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: KubernetesObject;
}

/** `object` of an ERROR event is a Status. */
type WireEvent = WatchEvent | { readonly type: 'ERROR'; readonly object: unknown };

/** The events of an open watch. @throws ApiError where the server sends an ERROR event, or what is no JSON */
export async function* eventsIn(asked: string, stream: Readable): AsyncGenerator<WatchEvent> {
  for await (const lines of linesOf(stream)) {
    for (const line of lines) yield eventIn(asked, line);
  }
}

function eventIn(asked: string, line: string): WatchEvent {
  const event = parseJson<WireEvent>(asked, line);
  if (event.type === 'ERROR') throw errorFromWatchEvent(asked, event.object);
  return event;
}

/**
 * The whole lines of each chunk. Not Node's readline, which ends a line at U+2028 too, and JSON may have that in a
 * string.
 */
async function* linesOf(stream: Readable): AsyncGenerator<string[]> {
  // Joined once, when the line ends: a line may be megabytes long, and come in hundreds of chunks.
  let begun: string[] = [];
  const chunks: AsyncIterable<string> = stream.setEncoding('utf8');
  for await (const chunk of chunks) {
    const [end = '', ...lines] = chunk.split('\n');
    begun.push(end);
    const last = lines.pop();
    if (last === undefined) continue;
    yield [begun.join(''), ...lines].filter((line) => line !== '');
    begun = [last];
  }
  if (begun.some((part) => part !== '')) throw new Error('the watch ended in the middle of an event');
}

/** @param asked for people: `GET /api/v1/pods` @throws ApiError */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the API server answers in the shape that it documents
export function parseJson<T>(asked: string, text: string): T {
  try {
    // eslint-disable-next-line @typescript-eslint/no-unsafe-return -- see above
    return JSON.parse(text);
  } catch {
    // Without its cause, whose message quotes the answer.
    throw errorFromFailure(asked, new Error('the response is not JSON'));
  }
}
