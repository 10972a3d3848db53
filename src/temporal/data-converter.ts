import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { readPayloadKeys, type PayloadKey, type PayloadKeys } from './payload-keys.ts';
import { ENCRYPTED_ENCODING, isEncrypted, metadataOf } from './payloads.ts';

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/** The `failureConverterPath` of worker, client and workflow bundle. */
export const ENCODED_FAILURES = fileURLToPath(new URL(`./encoded-failures.${extension}`, import.meta.url));

/**
 * Encrypts payloads and failures with the keys of a file; without a file, does what Temporal does by default.
 *
 * @throws ConfigurationError if the file cannot be used
 */
export async function dataConverterFor(keysFile: string | undefined): Promise<DataConverter> {
  if (keysFile === undefined) return {};
  const keys = await readPayloadKeys(keysFile);
  const payloadCodecs = [payloadEncryption(keys)];
  // Without encryption, failures stay readable.
  return keys.encryptWith === undefined
    ? { payloadCodecs }
    : { payloadCodecs, failureConverterPath: ENCODED_FAILURES };
}

// Node does not find the names of this CommonJS package.
const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

const KEY_ID = 'encryption-key-id';

const CIPHER = 'aes-256-gcm';
/** Random, so one key is good for 2³² payloads. Source: NIST SP 800-38D, section 8.2.2. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts whole payloads, with their metadata, by AES-256-GCM: nonce, ciphertext and tag are the new payload's data.
 * Reads plain payloads as they are: older runs may still be open.
 */
export function payloadEncryption({ encryptWith, decryptWith }: PayloadKeys): PayloadCodec {
  return {
    encode: (payloads) =>
      settled(() =>
        encryptWith === undefined ? payloads : payloads.map((payload) => encrypted(payload, encryptWith)),
      ),
    decode: (payloads) => settled(() => payloads.map((payload) => decrypted(payload, decryptWith))),
  };
}

/** An exception becomes a rejection. */
function settled<T>(compute: () => T): Promise<T> {
  return new Promise((resolve) => resolve(compute()));
}

function encrypted(payload: Payload, { id, key }: PayloadKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce);
  const plain = PayloadMessage.encode(payload).finish();
  const data = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: Buffer.from(ENCRYPTED_ENCODING), [KEY_ID]: Buffer.from(id) }, data };
}

/** @throws Error if the key is missing, or is not the key of the payload */
function decrypted(payload: Payload, keys: ReadonlyMap<string, KeyObject>): Payload {
  if (!isEncrypted(payload)) return payload;
  const id = metadataOf(payload, KEY_ID);
  const key = keys.get(id);
  if (key === undefined)
    throw new Error(`a payload is encrypted with key "${id}"; add it to the payload keys`);
  try {
    return PayloadMessage.decode(opened(Buffer.from(payload.data ?? []), key));
  } catch (cause) {
    const why = 'a different key has this ID, or the payload was modified';
    throw new Error(`a payload cannot be decrypted with key "${id}": ${why}`, { cause });
  }
}

function opened(data: Buffer, key: KeyObject): Buffer {
  // Without it, a shorter tag would be accepted.
  const decipher = createDecipheriv(CIPHER, key, data.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(data.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(data.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
