import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { aborted } from '../aborted.ts';
import type { Config, ListenAddress } from '../config.ts';
import { ConfigurationError } from '../contract/configuration-error.ts';
import type { Logger } from '../contract/logger.ts';
import { sendText, type TextAnswer } from './http-answer.ts';
import { listen, type Listening } from './listening.ts';
import { payloadEncryption } from '../temporal/payload-encryption.ts';
import { readPayloadKeys } from '../temporal/payload-keys.ts';

/** The command `codec-server`, until the signal. @throws ConfigurationError */
export async function runCodecServer(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  const { address, allowOrigins } = config.codecServer;
  if (config.payloadKeys === undefined) {
    throw new ConfigurationError(
      'the codec server needs --payload-keys: the file that the operator has, too',
    );
  }
  if (address === 'off')
    throw new ConfigurationError('the codec server needs an address; correct --codec-addr');
  const codec = payloadEncryption(await readPayloadKeys(config.payloadKeys));
  const server = await startCodecServer({ address, allowOrigins, codec, log });
  log.info({ url: server.url, allowOrigins }, 'codec server listens');
  if (!isLoopback(address.host)) {
    log.warn(
      {},
      'whoever reaches this address can read everything that the keys encrypt: put a proxy that authenticates people before it',
    );
  }
  await aborted(signal);
  await server.close();
}

export interface CodecServerOptions {
  readonly address: ListenAddress;
  /** The origins whose pages may ask, as browsers send them. */
  readonly allowOrigins: readonly string[];
  readonly codec: PayloadCodec;
  readonly log: Logger;
}

/**
 * Answers POST of `/encode` and `/decode`, with any path before, as Temporal's UI and CLI ask. It knows nobody: who
 * reaches it reads. Pages of other origins are refused, so that no other web site can use a person's browser.
 *
 * @throws ConfigurationError where the address cannot be listened on
 * Source: https://docs.temporal.io/codec-server
 */
export async function startCodecServer(options: CodecServerOptions): Promise<Listening> {
  const { address, log } = options;
  const server = createServer((request, response) => {
    answerTo(request, options)
      .then((answer) => sendAcrossOrigins(request, response, answer))
      .catch((err: unknown) => {
        log.error({ err }, 'a request to the codec server failed');
        response.destroy();
      });
  });
  return listen(server, { address, serves: 'the codec', flag: '--codec-addr', log });
}

type Direction = 'encode' | 'decode';

async function answerTo(request: IncomingMessage, options: CodecServerOptions): Promise<TextAnswer> {
  const { origin } = request.headers;
  if (origin !== undefined && !options.allowOrigins.includes(origin)) {
    return { status: 403, body: 'pages of this origin may not ask; --codec-allow-origin says which may\n' };
  }
  const direction = directionOf(request);
  if (direction === undefined) return { status: 404, body: 'not found; there are /encode and /decode\n' };
  if (request.method === 'OPTIONS') return { status: 204, body: '', headers: preflight(request) };
  if (request.method !== 'POST') {
    return { status: 405, body: 'method not allowed; use POST\n', headers: { allow: 'POST, OPTIONS' } };
  }
  const body = await bodyOf(request);
  return body === undefined ? TOO_LARGE : converted(body, direction, options);
}

function directionOf({ url = '' }: IncomingMessage): Direction | undefined {
  const [path = ''] = url.split('?');
  if (path.endsWith('/encode')) return 'encode';
  return path.endsWith('/decode') ? 'decode' : undefined;
}

/** What the UI sends besides, and that a page of the Internet may ask on this machine, as Temporal Cloud's does. */
function preflight({ headers }: IncomingMessage): Record<string, string> {
  return {
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'content-type, authorization, x-namespace',
    'access-control-max-age': '600',
    ...(headers['access-control-request-private-network'] === 'true' && {
      'access-control-allow-private-network': 'true',
    }),
  };
}

function sendAcrossOrigins(request: IncomingMessage, response: ServerResponse, answer: TextAnswer): void {
  const { origin } = request.headers;
  const isAllowed = origin !== undefined && answer.status !== 403;
  const cors = { vary: 'Origin', ...(isAllowed && { 'access-control-allow-origin': origin }) };
  sendText(request, response, { ...answer, headers: { ...answer.headers, ...cors } });
}

/** A page of the longest history of the UI is a few MiB. */
const MOST_BYTES = 16 * 1024 * 1024;
const TOO_LARGE: TextAnswer = { status: 413, body: 'more than 16 MiB\n', headers: { connection: 'close' } };

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const buffer = z.instanceof(Buffer).parse(chunk);
    bytes += buffer.length;
    if (bytes > MOST_BYTES) return undefined;
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString();
}

/** Protobuf's JSON writes bytes in base64. */
const Bytes = z.base64().transform((text) => Buffer.from(text, 'base64'));

const Body = z.object({
  payloads: z.array(
    z.object({
      metadata: z.record(z.string(), Bytes).default({}),
      data: Bytes.default(Buffer.alloc(0)),
    }),
  ),
});

async function converted(
  body: string,
  direction: Direction,
  options: CodecServerOptions,
): Promise<TextAnswer> {
  const parsed = Body.safeParse(jsonOrNothing(body));
  if (!parsed.success) return { status: 400, body: 'not {"payloads": [...]} in the JSON of protobuf\n' };
  const payloads = await Promise.all(
    parsed.data.payloads.map((payload) => convert(payload, direction, options)),
  );
  return {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({ payloads: payloads.map(inJson) }),
  };
}

/** One that cannot be decrypted must not hide the others: it stays as it is. */
async function convert(
  payload: Payload,
  direction: Direction,
  { codec, log }: CodecServerOptions,
): Promise<Payload> {
  try {
    const [result = payload] = await codec[direction]([payload]);
    return result;
  } catch (err) {
    log.warn({ err }, 'a payload stays as it is');
    return payload;
  }
}

function inJson({ metadata, data }: Payload): object {
  const entries = Object.entries(metadata ?? {});
  return {
    metadata: Object.fromEntries(entries.map(([name, value]) => [name, base64(value)])),
    data: base64(data ?? Buffer.alloc(0)),
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return host === 'localhost';
  return LOOPBACK.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}
