import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { payloadEncryption } from './payload-encryption.ts';
import { readPayloadKeys } from './payload-keys.ts';

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/** What `failureConverterPath` names, in worker, client and bundle alike; found from a bundle in another folder, too. */
export const ENCODED_FAILURES = fileURLToPath(
  new URL(`../temporal/encoded-failures.${extension}`, import.meta.url),
);

/**
 * How what Temporal keeps is written and read; without a file of keys, as Temporal does by itself.
 *
 * @throws ConfigurationError where the file cannot be used
 */
export async function dataConverterFor(keysFile: string | undefined): Promise<DataConverter> {
  if (keysFile === undefined) return {};
  const keys = await readPayloadKeys(keysFile);
  const payloadCodecs = [payloadEncryption(keys)];
  // In the clear, people want to read failures.
  return keys.encryptWith === undefined
    ? { payloadCodecs }
    : { payloadCodecs, failureConverterPath: ENCODED_FAILURES };
}
