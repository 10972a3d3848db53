import type { ResourceType } from '../../api/resource-type.ts';
import { digestOf } from '../../api/digest.ts';
import { fieldsOf, type Fields } from '../../api/fields.ts';
import { canonicalQuantity, quantitiesIn, type QuantityPaths } from './quantity.ts';

/** The server's answer to an apply that it did not take literally, and what was applied: `<digest wanted> <digest answered>`. */
export const ANSWERED_ANNOTATION = 'durable-operator.dev/applied-as';

/**
 * The same text for the same fields of an object, however their quantities are written. The name, the status and
 * {@link ANSWERED_ANNOTATION} do not count.
 */
export function manifestDigest(object: unknown, type: Pick<ResourceType, 'group' | 'kind'>): string {
  const { metadata, ...fields } = without(fieldsOf(object), ['apiVersion', 'kind', 'status']);
  const { labels, annotations, ownerReferences, finalizers } = fieldsOf(metadata);
  const own = without(fieldsOf(annotations), [ANSWERED_ANNOTATION]);
  const kept = Object.keys(own).length === 0 ? {} : { annotations: own };
  const marks = { labels, ownerReferences, finalizers, ...kept };
  const all = normalized({ ...fields, metadata: marks }, quantitiesIn(type));
  return digestOf(all);
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** The server drops empty lists of its own types. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function normalized(value: unknown, quantities: QuantityPaths | undefined): unknown {
  if (quantities === 'quantity')
    return typeof value === 'string' || typeof value === 'number' ? canonicalQuantity(String(value)) : value;
  if (Array.isArray(value)) return value.map((each) => normalized(each, quantities));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as Fields)
      .filter(([, each]) => !isAbsent(each))
      .map(([name, each]) => [name, normalized(each, quantities?.[name] ?? quantities?.['*'])]),
  );
}
