import { hash } from 'node:crypto';
import { canonicalText, fieldsOf, type Fields } from '../../fields.ts';
import { canonicalQuantity } from './quantity.ts';

/** The server's answer to an apply that it did not take literally, and what was applied: `<digest wanted> <digest answered>`. */
export const ANSWERED_ANNOTATION = 'durable-operator.dev/applied-as';

const DIGEST_LENGTH = 16;

/**
 * The same text for the same fields of an object, however their quantities are written. The name, the status and
 * {@link ANSWERED_ANNOTATION} do not count.
 */
export function manifestDigest(object: unknown): string {
  const { metadata, ...fields } = without(fieldsOf(object), ['apiVersion', 'kind', 'status']);
  const { labels, annotations, ownerReferences, finalizers } = fieldsOf(metadata);
  const own = without(fieldsOf(annotations), [ANSWERED_ANNOTATION]);
  const kept = Object.keys(own).length === 0 ? {} : { annotations: own };
  const marks = { labels, ownerReferences, finalizers, ...kept };
  return hash('sha256', canonicalText(normalized({ ...fields, metadata: marks }))).slice(0, DIGEST_LENGTH);
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** Fields that hold quantities, at any depth. Those of other names are written as the API server writes them. */
const QUANTITIES = new Set(['requests', 'limits', 'hard', 'capacity', 'overhead', 'sizeLimit', 'divisor']);

/** The server drops empty lists of its own types. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function normalized(value: unknown, isQuantity = false): unknown {
  if (Array.isArray(value)) return value.map((each) => normalized(each));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value as Fields)
        .filter(([, each]) => !isAbsent(each))
        .map(([name, each]) => [name, normalized(each, isQuantity || QUANTITIES.has(name))]),
    );
  return isQuantity && (typeof value === 'string' || typeof value === 'number')
    ? canonicalQuantity(String(value))
    : value;
}
