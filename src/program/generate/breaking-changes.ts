import { z } from 'zod';
import { canonicalText } from '../../api/fields.ts';
import type { Definition, FieldSchema } from './field-schema.ts';

/**
 * What a new definition would no longer accept, one line each. No version is converted into another one, so all stored
 * resources, and all manifests that people have, must stay valid.
 */
export function breakingChanges(before: Definition, after: Definition): string[] {
  const kind = before.spec.names.kind;
  const scope =
    before.spec.scope === after.spec.scope
      ? []
      : [`${kind} was ${before.spec.scope}, and is ${after.spec.scope}`];
  const versions = before.spec.versions.flatMap(({ name, schema }) => {
    const same = after.spec.versions.find((version) => version.name === name);
    if (same === undefined) return [`version ${name} of ${kind} is removed`];
    return narrowed(schema.openAPIV3Schema, same.schema.openAPIV3Schema, kind);
  });
  return [...scope, ...versions];
}

function narrowed(before: FieldSchema, after: FieldSchema, path: string): string[] {
  return [
    ...keywordsNarrowed(before, after, path),
    ...fieldsNarrowed(before, after, path),
    ...contentsNarrowed(before, after, path),
  ];
}

const LOWER_BOUNDS = ['minimum', 'minLength', 'minItems', 'minProperties'];
const UPPER_BOUNDS = ['maximum', 'maxLength', 'maxItems', 'maxProperties'];
/** These may go, but neither come nor change. */
const RESTRICTIONS = [
  ...['pattern', 'format', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum', 'uniqueItems'],
  ...['allOf', 'anyOf', 'oneOf', 'not'],
];
/** These may neither come, nor go, nor change. */
const SHAPES = ['type', 'x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-map-type'];
/** These may come, but not go. */
const PERMISSIONS = ['nullable', 'x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields'];

function keywordsNarrowed(before: FieldSchema, after: FieldSchema, path: string): string[] {
  const differs = (keyword: string) => textOf(before[keyword]) !== textOf(after[keyword]);
  const bound = (schema: FieldSchema, keyword: string, none: number) => Number(schema[keyword] ?? none);
  const narrower = [
    ...SHAPES.filter(differs),
    ...RESTRICTIONS.filter((keyword) => after[keyword] !== undefined && differs(keyword)),
    ...PERMISSIONS.filter((keyword) => before[keyword] === true && after[keyword] !== true),
    ...LOWER_BOUNDS.filter((each) => bound(after, each, -Infinity) > bound(before, each, -Infinity)),
    ...UPPER_BOUNDS.filter((each) => bound(after, each, Infinity) < bound(before, each, Infinity)),
    ...(isSubset(before.enum, after.enum) ? [] : ['enum']),
  ];
  const changes = narrower.map(
    (keyword) => `${path}: ${keyword} was ${textOf(before[keyword])}, and is ${textOf(after[keyword])}`,
  );
  const known = rulesOf(before);
  const rules = rulesOf(after).filter((rule) => !known.includes(rule));
  return [...changes, ...rules.map((rule) => `${path}: the rule ${rule} is new`)];
}

const Rules = z.array(z.object({ rule: z.string() })).default([]);

function rulesOf({ 'x-kubernetes-validations': rules }: FieldSchema): string[] {
  return Rules.parse(rules).map(({ rule }) => rule);
}

function isSubset(values: FieldSchema['enum'], of: FieldSchema['enum']): boolean {
  if (of === undefined) return true;
  return values?.every((value) => of.includes(value)) ?? false;
}

function textOf(value: unknown): string {
  return value === undefined ? 'not set' : canonicalText(value);
}

function fieldsNarrowed(before: FieldSchema, after: FieldSchema, path: string): string[] {
  const { properties: fields = {}, required: wasRequired = [] } = before;
  const { properties: newFields = {}, required = [] } = after;
  const changed = Object.entries(fields).flatMap(([name, schema]) => {
    const same = newFields[name];
    return same === undefined ? [`${path}.${name} is removed`] : narrowed(schema, same, `${path}.${name}`);
  });
  const demanded = required.filter(
    (name) => !wasRequired.includes(name) && newFields[name]?.['default'] === undefined,
  );
  return [...changed, ...demanded.map((name) => `${path}.${name} is required, and was not`)];
}

/** The entries of lists and maps. */
function contentsNarrowed(before: FieldSchema, after: FieldSchema, path: string): string[] {
  const items = before.items && after.items ? narrowed(before.items, after.items, `${path}[]`) : [];
  const [had, has] = [before.additionalProperties, after.additionalProperties];
  if (typeof had === 'object' && typeof has === 'object')
    return [...items, ...narrowed(had, has, `${path}.*`)];
  const isClosed = had !== undefined && had !== false && (has === undefined || has === false);
  return isClosed ? [...items, `${path}: other fields are no longer allowed`] : items;
}
