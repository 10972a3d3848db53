import { hash } from 'node:crypto';

const DIGEST_LENGTH = 16;

/** The digest of nothing. */
export const NONE = 'None';

/**
 * 16 hexadecimal digits that stand for a value as JSON has it, whatever the order of its keys. A field that is undefined does not count.
 * Its form never changes, so it can be kept, such as in an annotation of a Pod template.
 *
 * @example
 * const annotations = { 'example.com/config': digestOf(resource.spec.config) };
 */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalText(value ?? null)).slice(0, DIGEST_LENGTH);
}

/** The same text for the same value, whatever the order of its fields. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Of texts in any order. It can be a condition's reason, which is made of letters, digits and `_`. */
export function digestOfTexts(texts: readonly string[]): string {
  if (texts.length === 0) return NONE;
  return `Sha256_${hash('sha256', [...texts].sort().join('\n')).slice(0, DIGEST_LENGTH)}`;
}
