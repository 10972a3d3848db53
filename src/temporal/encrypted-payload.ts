import type { Payload } from '@temporalio/common';

/** What Temporal's own samples write, so that their tools know it when they see it. */
export const ENCODING = 'binary/encrypted';

/** Whether it takes a key to read it. */
export function isEncrypted(payload: Payload): boolean {
  return textOf(payload, 'encoding') === ENCODING;
}

/** One field of its metadata. */
export function textOf({ metadata }: Payload, name: string): string {
  return Buffer.from(metadata?.[name] ?? []).toString();
}
