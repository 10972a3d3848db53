import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { aborted } from './aborted.ts';
import type { Config, ListenAddress } from '../config/config.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import type { Logger } from '../api/logger.ts';
import {
  listen,
  requestPath,
  sendText,
  type ListeningServer,
  type TextResponse,
} from '../observability/http-server.ts';
import { payloadEncryption } from './data-converter.ts';
import { readPayloadKeys } from './payload-keys.ts';

/** Runs the command `codec-server` until the signal. @throws ConfigurationError */
export async function runCodecServer(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  const { address, allowOrigins } = config.codecServer;
  if (config.encryption.keysFile === undefined) {
    throw new ConfigurationError('the codec server needs --payload-keys: the key file of the operator');
  }
  if (address === 'off') throw new ConfigurationError('the codec server needs an address; set --codec-addr');
  const codec = payloadEncryption(await readPayloadKeys(config.encryption.keysFile));
  const server = await startCodecServer({ address, allowOrigins, codec, log });
  log.info({ url: server.url, allowOrigins }, 'serving the codec');
  if (!isLoopback(address.host)) {
    log.warn(
      {},
      'anyone who can reach this address can decrypt what these keys encrypted; put a proxy that authenticates users in front of it',
    );
  }
  await aborted(signal);
  await server.close();
}

export interface CodecServerOptions {
  readonly address: ListenAddress;
  /** Pages of these origins may send requests. */
  readonly allowOrigins: readonly string[];
  readonly codec: PayloadCodec;
  readonly log: Logger;
}

/**
 * Answers POST requests for `/encode` and `/decode`, under any prefix, as Temporal's UI and CLI send them. It does not
 * authenticate: anyone who can reach it can decrypt. Pages of other origins are refused, so that no other web site
 * can use a person's browser.
 *
 * @throws ConfigurationError if it cannot listen on the address
 * Source: https://docs.temporal.io/codec-server
 */
export async function startCodecServer(options: CodecServerOptions): Promise<ListeningServer> {
  const { address, log } = options;
  const server = createServer((request, response) => {
    responseTo(request, options)
      .then((text) => sendAcrossOrigins(request, response, text))
      .catch((err: unknown) => {
        log.error({ err }, 'a request to the codec server failed');
        response.destroy();
      });
  });
  return listen(server, { address, serves: 'the codec', flag: '--codec-addr', log });
}

type Direction = 'encode' | 'decode';

async function responseTo(request: IncomingMessage, options: CodecServerOptions): Promise<TextResponse> {
  const { origin } = request.headers;
  if (origin !== undefined && !options.allowOrigins.includes(origin)) {
    return { status: 403, body: 'origin not allowed; --codec-allow-origin lists the allowed ones\n' };
  }
  const direction = directionOf(request);
  if (direction === undefined) return { status: 404, body: 'not found; try /encode or /decode\n' };
  if (request.method === 'OPTIONS') return { status: 204, body: '', headers: preflight(request) };
  if (request.method !== 'POST') {
    return { status: 405, body: 'method not allowed; use POST\n', headers: { allow: 'POST, OPTIONS' } };
  }
  const body = await bodyOf(request);
  return body === undefined ? TOO_LARGE : converted(body, direction, options);
}

function directionOf(request: IncomingMessage): Direction | undefined {
  const path = requestPath(request);
  if (path.endsWith('/encode')) return 'encode';
  return path.endsWith('/decode') ? 'decode' : undefined;
}

/** Allows the headers that the UI sends, and a public page, such as Temporal Cloud's, to reach this machine. */
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

function sendAcrossOrigins(request: IncomingMessage, response: ServerResponse, text: TextResponse): void {
  const { origin } = request.headers;
  const isAllowed = origin !== undefined && text.status !== 403;
  const cors = { vary: 'Origin', ...(isAllowed && { 'access-control-allow-origin': origin }) };
  sendText(request, response, { ...text, headers: { ...text.headers, ...cors } });
}

/** One page of a history in the UI has a few MiB at most. */
const BYTES_MAX = 16 * 1024 * 1024;
const TOO_LARGE: TextResponse = { status: 413, body: 'more than 16 MiB\n', headers: { connection: 'close' } };

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const buffer = z.instanceof(Buffer).parse(chunk);
    bytes += buffer.length;
    if (bytes > BYTES_MAX) return undefined;
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString();
}

/** Protobuf's JSON encodes bytes in base64. */
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
): Promise<TextResponse> {
  const parsed = Body.safeParse(jsonOrUndefined(body));
  if (!parsed.success)
    return { status: 400, body: 'the body must be {"payloads": [...]} in the JSON encoding of protobuf\n' };
  const payloads = await Promise.all(
    parsed.data.payloads.map((payload) => convert(payload, direction, options)),
  );
  return {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({ payloads: payloads.map(toJson) }),
  };
}

/** A payload that cannot be decrypted is returned unchanged, so that the others can be read. */
async function convert(
  payload: Payload,
  direction: Direction,
  { codec, log }: CodecServerOptions,
): Promise<Payload> {
  try {
    const [result = payload] = await codec[direction]([payload]);
    return result;
  } catch (err) {
    log.warn({ err }, 'cannot convert a payload: returning it unchanged');
    return payload;
  }
}

function toJson({ metadata, data }: Payload): object {
  const entries = Object.entries(metadata ?? {});
  return {
    metadata: Object.fromEntries(entries.map(([name, value]) => [name, base64(value)])),
    data: base64(data ?? Buffer.alloc(0)),
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
