import { createSecretKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ConfigurationError } from '../config/configuration-error.ts';

export interface PayloadKey {
  /** Written in the clear beside each encrypted payload. */
  readonly id: string;
  /** 256 bits. A KeyObject does not show its bytes in logs. */
  readonly key: KeyObject;
}

export interface PayloadKeys {
  /** Undefined: payloads are written in the clear. */
  readonly encryptWith: PayloadKey | undefined;
  /** By ID, for older payloads. */
  readonly decryptWith: ReadonlyMap<string, KeyObject>;
}

/** @throws ConfigurationError if the file cannot be used; its message has no part of a key */
export async function readPayloadKeys(file: string): Promise<PayloadKeys> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const words = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(`payload keys ${file}: ${words}; specify a readable file`);
  });
  try {
    return parsePayloadKeys(text);
  } catch (error) {
    if (!(error instanceof KeysProblem)) throw error;
    throw new ConfigurationError(`payload keys ${file}: ${error.message}`);
  }
}

class KeysProblem extends Error {}

/** In place of the first key: nothing is encrypted. */
const PLAIN = 'plain';
const KEY_BYTES = 32;

/**
 * Each line has a key: its ID, a space, and its 32 bytes in base64. The first key encrypts, all keys decrypt. With the word
 * `plain` on a line before the keys, nothing is encrypted. Empty lines and lines that begin with `#` are ignored.
 *
 * @throws KeysProblem
 */
export function parsePayloadKeys(text: string): PayloadKeys {
  const lines = text
    .split('\n')
    .map((line, index) => ({ words: line.trim(), number: index + 1 }))
    .filter(({ words }) => words !== '' && !words.startsWith('#'));
  const isPlain = lines[0]?.words === PLAIN;
  const keys = lines.slice(isPlain ? 1 : 0).map(keyFrom);
  const decryptWith = new Map(keys.map(({ id, key }) => [id, key]));
  if (decryptWith.size < keys.length) throw new KeysProblem('two keys have the same ID; use different IDs');
  if (keys.length === 0) throw new KeysProblem(`it contains no keys; ${ADVICE}`);
  return { encryptWith: isPlain ? undefined : keys[0], decryptWith };
}

const ADVICE = 'write a line with an ID, a space, and the output of `openssl rand -base64 32`';

function keyFrom({ words, number }: { words: string; number: number }): PayloadKey {
  const [id = '', encoded = '', ...more] = words.split(/\s+/);
  const bytes = Buffer.from(encoded, 'base64');
  // Node ignores characters that are not base64, so a key with a typo would be a different key.
  const isKey = bytes.length === KEY_BYTES && bytes.toString('base64') === encoded && more.length === 0;
  if (!isKey || !/^[\w.-]{1,63}$/.test(id)) throw new KeysProblem(`line ${number} is not a key; ${ADVICE}`);
  return { id, key: createSecretKey(bytes) };
}
