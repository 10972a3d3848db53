import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { payloadEncryption } from './payload-encryption.ts';
import { readPayloadKeys } from './payload-keys.ts';

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
