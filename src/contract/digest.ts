import { hash } from 'node:crypto';

const DIGEST_LENGTH = 16;

/** The digest of nothing. */
export const NONE = 'None';

/** Of texts in any order. It can be a condition's reason, which is made of letters, digits and `_`. */
export function digestOf(texts: readonly string[]): string {
  if (texts.length === 0) return NONE;
  return `Sha256_${hash('sha256', [...texts].sort().join('\n')).slice(0, DIGEST_LENGTH)}`;
}
