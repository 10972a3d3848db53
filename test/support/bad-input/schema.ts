import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

/*
 * The schemas of our CRDs as they are installed, and what an API server makes of a value by them. A keyword, a format or
 * a rule that is not known here is an error: who adds one to a CRD teaches the generators, too.
 */

export interface Schema {
  readonly type: 'object' | 'array' | 'string' | 'integer';
  readonly description?: string | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: Schema | undefined;
  readonly default?: Readonly<Record<string, unknown>> | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly pattern?: string | undefined;
  readonly enum?: readonly string[] | undefined;
  readonly format?: 'int32' | 'int64' | 'date-time' | undefined;
  readonly minimum?: number | undefined;
  readonly 'x-kubernetes-validations'?: readonly Rule[] | undefined;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'map' | undefined;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[] | undefined;
}

export interface Rule {
  readonly rule: string;
  readonly message: string;
}

const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.strictObject({
    type: z.enum(['object', 'array', 'string', 'integer']),
    description: z.string().optional(),
    properties: z.record(z.string(), Schema).optional(),
    required: z.array(z.string()).optional(),
    items: Schema.optional(),
    default: z.record(z.string(), z.unknown()).optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    pattern: z.string().optional(),
    enum: z.array(z.string()).optional(),
    format: z.enum(['int32', 'int64', 'date-time']).optional(),
    minimum: z.number().optional(),
    'x-kubernetes-validations': z.array(z.strictObject({ rule: z.string(), message: z.string() })).optional(),
    'x-kubernetes-list-type': z.enum(['atomic', 'map']).optional(),
    'x-kubernetes-list-map-keys': z.array(z.string()).optional(),
  }),
);

const Definition = z.object({
  spec: z.object({
    versions: z.tuple([z.object({ schema: z.object({ openAPIV3Schema: Schema }) })]),
  }),
});

/** @param file of deploy/crd, as `podsets.yaml` @throws ZodError where the schema has what is not known here */
export function schemaIn(file: string): Schema {
  const path = new URL(`../../../deploy/crd/${file}`, import.meta.url);
  return Definition.parse(parse(readFileSync(path, 'utf8'))).spec.versions[0].schema.openAPIV3Schema;
}

/** The schema of one field, as `propertyOf(schema, 'spec', 'gitUrl')`. */
export function propertyOf(schema: Schema, ...path: readonly string[]): Schema {
  return path.reduce((within, name) => {
    const property = within.properties?.[name];
    if (property === undefined) throw new Error(`the schema has no ${path.join('.')}`);
    return property;
  }, schema);
}

/** Whatever holds no others, by its path: `spec.gitUrl`, `status.conditions[].type`. */
export function leavesOf(schema: Schema, path = ''): ReadonlyMap<string, Schema> {
  if (schema.items !== undefined) return leavesOf(schema.items, `${path}[]`);
  if (schema.properties === undefined) return new Map([[path, schema]]);
  const below = Object.entries(schema.properties).map(([name, each]) =>
    leavesOf(each, path === '' ? name : `${path}.${name}`),
  );
  return new Map(below.flatMap((leaves) => [...leaves]));
}

/** What an API server refuses of a value, one sentence each. What the schema does not name is dropped, not refused. */
export function faultsOf(schema: Schema, value: unknown, path = 'it'): readonly string[] {
  const faults = faultsByType(schema, value, path);
  if (faults.length > 0) return faults;
  return (schema['x-kubernetes-validations'] ?? [])
    .filter(({ rule }) => !conditionOf(rule)(value))
    .map(({ rule }) => `${path} breaks ${rule}`);
}

function faultsByType(schema: Schema, value: unknown, path: string): readonly string[] {
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' ? faultsOfText(schema, value, path) : [`${path} is no text`];
    case 'integer':
      return isIntegerOf(schema, value) ? [] : [`${path} is no such integer`];
    case 'array':
      return Array.isArray(value) ? faultsOfList(schema, value, path) : [`${path} is no list`];
    case 'object':
      return isObject(value) ? faultsOfObject(schema, value, path) : [`${path} is no object`];
  }
}

function faultsOfText(schema: Schema, text: string, path: string): readonly string[] {
  const { minLength = 0, maxLength = Infinity, pattern, enum: choices, format } = schema;
  // Go counts code points.
  const length = Array.from(text).length;
  const faults = {
    [`${path} is too short`]: length < minLength,
    [`${path} is too long`]: length > maxLength,
    [`${path} does not match`]: pattern !== undefined && !matches(text, pattern),
    [`${path} is none of the choices`]: choices !== undefined && !choices.includes(text),
    [`${path} is no time`]: format === 'date-time' && !isTime(text),
  };
  return Object.keys(faults).filter((fault) => faults[fault]);
}

const LIMITS = { int32: 2 ** 31, int64: 2 ** 63 } as const;

function isIntegerOf({ format, minimum = -Infinity }: Schema, value: unknown): boolean {
  if (typeof value !== 'number' || !Number.isInteger(value)) return false;
  const limit = format === 'int32' || format === 'int64' ? LIMITS[format] : Infinity;
  return value >= -limit && value < limit && value >= minimum;
}

function isTime(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) &&
    !isNaN(Date.parse(text)) &&
    isOnACalendar(text)
  );
}

/** JavaScript takes 30 February, and 24:00. */
function isOnACalendar(text: string): boolean {
  const [, day, hour] = /^\d{4}-\d\d-(\d\d)T(\d\d)/.exec(text) ?? [];
  return Number(hour) < 24 && new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() === Number(day);
}

function faultsOfList(schema: Schema, list: readonly unknown[], path: string): readonly string[] {
  const { items, 'x-kubernetes-list-map-keys': keys = [] } = schema;
  const faults = list.flatMap((item, place) => (items ? faultsOf(items, item, `${path}[${place}]`) : []));
  const ids = list.map((item) => JSON.stringify(keys.map((key) => (isObject(item) ? item[key] : undefined))));
  const isTwice = keys.length > 0 && new Set(ids).size < ids.length;
  return isTwice ? [...faults, `${path} has one twice`] : faults;
}

function faultsOfObject(schema: Schema, object: Fields, path: string): readonly string[] {
  const { properties = {}, required = [] } = schema;
  const missing = required.filter((name) => object[name] === undefined);
  const present = Object.entries(properties).filter(([name]) => object[name] !== undefined);
  return [
    ...missing.map((name) => `${path}.${name} is missing`),
    ...present.flatMap(([name, each]) => faultsOf(each, object[name], `${path}.${name}`)),
  ];
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What JavaScript and RE2 understand alike. */
function matches(text: string, pattern: string): boolean {
  if (/\\[sSwWdDbB]|\(\?/.test(pattern)) {
    throw new Error(`JavaScript and RE2 differ in what they take for whitespace and words: ${pattern}`);
  }
  return new RegExp(pattern).test(text);
}

type Condition = (value: unknown) => boolean;

/** The forms of CEL rules that our CRDs have. */
const FORMS: readonly (readonly [RegExp, (...words: readonly string[]) => Condition])[] = [
  [/^self\.matches\(r'([^']*)'\)$/, (pattern = '') => ofText((text) => matches(text, pattern))],
  [
    /^self != '([^']*)' && !self\.startsWith\('([^']*)'\)$/,
    (whole = '', start = '') => ofText((text) => text !== whole && !text.startsWith(start)),
  ],
  [/^!self\.endsWith\('([^']*)'\)$/, (end = '') => ofText((text) => !text.endsWith(end))],
  [
    /^size\(self\.metadata\.name\) <= (\d+)$/,
    (most = '') => ofName((name) => Array.from(name).length <= Number(most)),
  ],
];

/** @throws Error where the rule has another form */
export function conditionOf(rule: string): Condition {
  for (const [form, condition] of FORMS) {
    const match = form.exec(rule);
    if (match !== null) return condition(...match.slice(1));
  }
  throw new Error(`no generator knows such a rule; teach test/support/bad-input/schema.ts: ${rule}`);
}

function ofText(condition: (text: string) => boolean): Condition {
  return (value) => typeof value === 'string' && condition(value);
}

function ofName(condition: (name: string) => boolean): Condition {
  return (value) => {
    const metadata = isObject(value) ? value['metadata'] : undefined;
    const name = isObject(metadata) ? metadata['name'] : undefined;
    return typeof name === 'string' && condition(name);
  };
}
