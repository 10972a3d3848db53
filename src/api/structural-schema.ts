import { z } from 'zod';
import { unsaidIn } from './zod-checks.ts';

/**
 * An OpenAPI v3 schema as a CustomResourceDefinition takes it. Source: Kubernetes docs, "Extend the Kubernetes API with
 * CustomResourceDefinitions", "Specifying a structural schema".
 */
export type StructuralSchema = Partial<Readonly<Record<(typeof KEYS)[number], unknown>>> & {
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly items?: StructuralSchema;
};

/** A schema says something that the API server cannot check. The message says where, and what to write instead. */
export class NotStructural extends Error {
  override readonly name = 'NotStructural';
}

/** In the order in which they are written. */
const KEYS = [
  ...['description', 'type', 'format', 'nullable', 'default', 'enum'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'pattern', 'allOf', 'minItems', 'maxItems', 'uniqueItems', 'maxProperties'],
  ...['x-kubernetes-list-type', 'x-kubernetes-list-map-keys', 'x-kubernetes-map-type'],
  ...['x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields', 'x-kubernetes-validations'],
  ...['required', 'properties', 'items', 'additionalProperties'],
] as const;

const ANY_TYPE = ['x-kubernetes-int-or-string', 'x-kubernetes-preserve-unknown-fields'] as const;

/** What to write instead of what a structural schema does not have. */
const INSTEAD: Readonly<Record<string, string>> = {
  anyOf: 'use one type, or z.union([z.int(), z.string()]) with .meta({ "x-kubernetes-int-or-string": true })',
  oneOf: 'use one object with optional fields, and a CEL rule that says which go together',
  not: 'use a CEL rule: .meta({ "x-kubernetes-validations": [...] })',
  $ref: 'a schema cannot refer to itself: use .meta({ "x-kubernetes-preserve-unknown-fields": true })',
};

/**
 * The schema of stored objects: of what a client sends, before defaults.
 *
 * @param where for messages: `Website spec`
 * @throws NotStructural
 */
export function structuralSchema(schema: z.ZodType, where: string): StructuralSchema {
  const unsaid = unsaidIn(schema, where);
  if (unsaid !== undefined) throw new NotStructural(unsaid);
  try {
    const json = z.toJSONSchema(schema, { io: 'input', target: 'openapi-3.0', metadata: WITHOUT_IDS });
    return structural(json, where);
  } catch (error) {
    if (error instanceof NotStructural) throw error;
    throw new NotStructural(`${where}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** An id would move a schema away, and leave a $ref. */
const WITHOUT_IDS = Object.assign(z.registry<z.core.GlobalMeta>(), {
  get(schema: z.core.$ZodType) {
    const meta = Object.entries(z.globalRegistry.get(schema) ?? {});
    return Object.fromEntries(meta.filter(([name]) => name !== 'id'));
  },
});

type Json = Readonly<Record<string, unknown>>;

function structural(given: Json, where: string): StructuralSchema {
  const json = withoutUnions(given);
  for (const [key, instead] of Object.entries(INSTEAD))
    if (key in json) throw new NotStructural(`${where} has ${key}, which a CRD cannot have; ${instead}`);
  if (json['additionalProperties'] === false)
    throw new NotStructural(
      `${where} is strict, which a CRD cannot be; use z.object: the server drops unknown fields`,
    );
  if ('properties' in json && 'additionalProperties' in json)
    throw new NotStructural(
      `${where} has named and other fields; a CRD has one or the other: put a z.record into a field`,
    );
  if (json['type'] === 'null' || (json['nullable'] === true && 'enum' in json))
    throw new NotStructural(
      `${where} has null among its values, which the API server always refuses; use .optional()`,
    );
  if (json['type'] === undefined && !ANY_TYPE.some((key) => key in json))
    throw new NotStructural(`${where} has no type; say what it may be: .meta({ "${ANY_TYPE[1]}": true })`);
  const checked = bounded(json);
  const entries = KEYS.flatMap((key) =>
    checked[key] === undefined ? [] : [[key, inner(key, checked[key], where)]],
  );
  return Object.fromEntries(entries) as StructuralSchema;
}

/** What a CRD says of two types, or of other fields, in one word. */
function withoutUnions(json: Json): Json {
  const { anyOf, additionalProperties, ...others } = json;
  if (json['x-kubernetes-preserve-unknown-fields'] === true && isEmpty(additionalProperties)) return others;
  if (json['x-kubernetes-int-or-string'] !== true || !Array.isArray(anyOf)) return json;
  const [one, other, more] = (anyOf as readonly Json[]).toSorted(byType);
  if (one?.['type'] !== 'integer' || other?.['type'] !== 'string' || more !== undefined) return json;
  // An enum would be about both types; each other word is about one of them alone.
  if ('enum' in one || 'enum' in other) return json;
  return { ...one, ...bounded(other), ...others, type: undefined, format: undefined };
}

const byType = (a: Json, b: Json) => String(a['type']).localeCompare(String(b['type']));

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function inner(key: string, value: unknown, where: string): unknown {
  const schemaAt = (each: unknown, name: string) => structural(each as Json, `${where}${name}`);
  switch (key) {
    case 'properties':
      return Object.fromEntries(
        Object.entries(value as Json).map(([name, each]) => [name, schemaAt(each, `.${name}`)]),
      );
    case 'items':
      return schemaAt(value, '[]');
    case 'additionalProperties':
      return schemaAt(value, '.*');
    case 'pattern':
      return patternForGo(String(value), where);
    case 'allOf':
      return (value as readonly Json[]).map((each) => patternIn(each, where));
    default:
      return value;
  }
}

/** zod joins the patterns of a text so. Source: apiextensions, `ValidateStructural`: a type may not stand there. */
function patternIn({ type, pattern, ...others }: Json, where: string): Json {
  if (type !== 'string' || typeof pattern !== 'string' || Object.keys(others).length > 0)
    throw new NotStructural(`${where} has allOf, which a CRD cannot have; use one type with all its fields`);
  return { pattern: patternForGo(pattern, where) };
}

const NOT_IN_GO = /\(\?<?[=!]|\\[1-9]|\\k<|\\u|\{(?:\d+,)?(?:1\d{3}|[2-9]\d{3}|\d{5,})\b/;

/** JavaScript escapes the slash; Go need not. */
function patternForGo(pattern: string, where: string): string {
  const found = NOT_IN_GO.exec(pattern)?.[0];
  if (found === undefined) return pattern.replaceAll('\\/', '/');
  throw new NotStructural(
    `${where} has a pattern with ${found}, which the API server's RE2 does not have; say it in CEL`,
  );
}

const INT32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
const INT64 = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** The bounds of an integer's type become its format, as in Kubernetes' own schemas. */
function bounded(json: Json): Json {
  // The format alone allows a path, too.
  if (json['format'] === 'uri') return { ...json, pattern: '^[A-Za-z][A-Za-z0-9+.-]*:' };
  if (json['type'] !== 'integer') return json;
  const { minimum, maximum } = json;
  const isInt32 = maximum === INT32.maximum || minimum === INT32.minimum;
  const bounds =
    isInt32 && Number(minimum) >= INT32.minimum && Number(maximum) <= INT32.maximum ? INT32 : INT64;
  return {
    ...json,
    format: bounds === INT32 ? 'int32' : 'int64',
    minimum: minimum === bounds.minimum ? undefined : minimum,
    maximum: maximum === bounds.maximum ? undefined : maximum,
  };
}
