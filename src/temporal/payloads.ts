import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { z } from 'zod';

/** Temporal's own samples write it, so its tools know it. */
export const ENCRYPTED_ENCODING = 'binary/encrypted';

export function isEncrypted(payload: Payload): boolean {
  return metadataOf(payload, 'encoding') === ENCRYPTED_ENCODING;
}

export function metadataOf({ metadata }: Payload, name: string): string {
  return Buffer.from(metadata?.[name] ?? []).toString();
}

export type MaybePayload = Payload | null | undefined;

/** The payload is encrypted, and its key is not at hand. */
export const ENCRYPTED = Symbol('encrypted');
/** Stands for a text that takes a key to read. */
export const ENCRYPTED_WORDS = '(encrypted)';

/** @returns undefined where there is no payload, or one of another shape */
export function valueIn<T>(payload: MaybePayload, schema: z.ZodType<T>): T | typeof ENCRYPTED | undefined {
  if (!payload) return undefined;
  if (isEncrypted(payload)) return ENCRYPTED;
  try {
    return schema.safeParse(defaultPayloadConverter.fromPayload(payload)).data;
  } catch {
    // Another program may have written any encoding.
    return undefined;
  }
}

/** A text in a payload, or in a value of this schema; empty where there is none. */
export function wordsIn<T>(
  payload: MaybePayload,
  schema: z.ZodType<T>,
  wordsOf: (value: T) => string | undefined,
): string {
  const value = valueIn(payload, schema);
  if (value === ENCRYPTED) return ENCRYPTED_WORDS;
  return value === undefined ? '' : (wordsOf(value) ?? '');
}

/** A payload that is a text; empty where it is none. */
export function textIn(payload: MaybePayload): string {
  return wordsIn(payload, z.string(), (text) => text);
}

/** Copies a protobuf message and decrypts its payloads. A payload without its key stays as it is. */
export async function decoded<T>(message: T, codecs: readonly PayloadCodec[]): Promise<T> {
  if (codecs.length === 0) return message;
  // The shape stays: only payloads are replaced, by payloads.
  return (await copyOf(message, codecs)) as T;
}

async function copyOf(value: unknown, codecs: readonly PayloadCodec[]): Promise<unknown> {
  if (isPayload(value)) return decodedPayload(value, codecs);
  if (Array.isArray(value)) return Promise.all(value.map((item) => copyOf(item, codecs)));
  if (!isMessage(value)) return value;
  const fields = Object.entries(value).map(
    async ([name, field]) => [name, await copyOf(field, codecs)] as const,
  );
  return Object.fromEntries(await Promise.all(fields));
}

async function decodedPayload(payload: Payload, codecs: readonly PayloadCodec[]): Promise<Payload> {
  let now = payload;
  for (const codec of codecs.toReversed()) {
    try {
      now = (await codec.decode([now]))[0] ?? now;
    } catch {
      return payload;
    }
  }
  return now;
}

function isPayload(value: unknown): value is Payload {
  return isMessage(value) && 'metadata' in value && 'data' in value && value['data'] instanceof Uint8Array;
}

/** Bytes and 64-bit numbers are plain values. */
function isMessage(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false;
  return !('low' in value && 'high' in value);
}
