import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { ENCODING, isEncrypted, textOf } from './encrypted-payload.ts';
import type { PayloadKey, PayloadKeys } from './payload-keys.ts';

// CommonJS, whose names Node does not find.
const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

const KEY_ID = 'encryption-key-id';

const CIPHER = 'aes-256-gcm';
/** NIST SP 800-38D, section 8.2.2: random, so one key is good for 2³² payloads. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts whole payloads, with their metadata, by AES-256-GCM: nonce, ciphertext and tag are the new payload's data.
 * What is not encrypted is read as it is, since runs of before may be open still.
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

/** What is thrown rejects. */
function settled<T>(compute: () => T): Promise<T> {
  return new Promise((resolve) => resolve(compute()));
}

function encrypted(payload: Payload, { id, key }: PayloadKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce);
  const plain = PayloadMessage.encode(payload).finish();
  const data = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { encoding: Buffer.from(ENCODING), [KEY_ID]: Buffer.from(id) }, data };
}

/** @throws Error where the key is not there, or the payload was not encrypted by it */
function decrypted(payload: Payload, keys: ReadonlyMap<string, KeyObject>): Payload {
  if (!isEncrypted(payload)) return payload;
  const id = textOf(payload, KEY_ID);
  const key = keys.get(id);
  if (key === undefined)
    throw new Error(`a payload is encrypted with key "${id}"; add it to the payload keys`);
  try {
    return PayloadMessage.decode(opened(Buffer.from(payload.data ?? []), key));
  } catch (cause) {
    throw new Error(
      `a payload cannot be decrypted with key "${id}": a different key has this ID, or the payload was modified`,
      {
        cause,
      },
    );
  }
}

function opened(data: Buffer, key: KeyObject): Buffer {
  // A shorter tag would be taken for a good one.
  const decipher = createDecipheriv(CIPHER, key, data.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(data.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(data.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
