import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { isEncrypted } from '../../temporal/encrypted-payload.ts';

/** What a payload holds; or that it takes a key that is not there. */
export type Read = { readonly value: unknown } | 'encrypted';

/** @returns undefined where there is no payload */
export function readPayload(payload: Payload | null | undefined): Read | undefined {
  if (!payload) return undefined;
  return isEncrypted(payload) ? 'encrypted' : { value: valueOf(payload) };
}

/** What another program has written may be of any encoding. */
function valueOf(payload: Payload): unknown {
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined;
  }
}

/**
 * A copy of a protobuf message in which every payload is as it was before it was encrypted. One for which there is no
 * key stays as it is.
 */
export async function decoded<T>(message: T, codecs: readonly PayloadCodec[]): Promise<T> {
  if (codecs.length === 0) return message;
  // The shape is kept: only payloads are replaced, by payloads.
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

/** Bytes and 64-bit numbers are values of their own. */
function isMessage(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false;
  return !('low' in value && 'high' in value);
}
