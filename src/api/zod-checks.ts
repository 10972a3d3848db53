import { z } from 'zod';

/*
 * What the API server would accept, though zod refuses it. Either it is in the schema, or the author says it in CEL.
 */

/**
 * The checks of zod that a schema has the words for, by their names. Source: zod/v4/core/checks.ts. `overwrite` refuses nothing. All
 * others are refused, also those of later versions.
 */
export const SAID_CHECKS: readonly string[] = [
  ...['less_than', 'greater_than', 'multiple_of', 'number_format', 'string_format'],
  ...['max_length', 'min_length', 'length_equals', 'overwrite'],
];

/** In words. */
const UNSAID: Readonly<Record<string, string>> = {
  custom: 'a refinement',
  property: 'a check of a property',
  properties: 'a check of properties',
};

/** A schema has the text of a pattern, but no flags. These change what it matches. */
const FLAGS = ['i', 'm', 's'];

/** Formats without a pattern that the API server knows. Source: kube-openapi, pkg/validation/strfmt/default.go. */
const KNOWN_FORMATS: readonly string[] = ['url'];

/** @returns in words, where it is and what to do; undefined: the schema says everything */
export function unsaidIn(schema: z.ZodType, where: string): string | undefined {
  return firstIn(schema, { where, isInCel: false, seen: new Set() });
}

interface Place {
  readonly where: string;
  /** A rule of the author says what zod checks here. */
  readonly isInCel: boolean;
  /** A schema may refer to itself. */
  readonly seen: Set<z.core.$ZodType>;
}

function firstIn(schema: z.core.$ZodType, place: Place): string | undefined {
  const { where, seen } = place;
  if (seen.has(schema)) return undefined;
  seen.add(schema);
  const meta = z.globalRegistry.get(schema);
  const isInCel = place.isInCel || meta?.['x-kubernetes-validations'] !== undefined || isDistinct(meta);
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const words = isInCel
    ? undefined
    : unsaidOf([def as Checking, ...(def.checks ?? []).map((check) => check._zod.def)]);
  if (words !== undefined)
    return `${where} has ${words}, which the API server does not know; say it in CEL, too: .meta({ "x-kubernetes-validations": [{ rule, message }] })`;
  if (def.type === 'default' && isRefusing(def.innerType, def.defaultValue))
    return `${where} has a default that its own schema refuses, as the API server would; change one of them`;
  if (def.type === 'record' && !isPlainText(def.keyType))
    return `${where} has rules for its keys, which a CRD cannot have; say them in CEL`;
  for (const [name, part] of partsOf(def)) {
    const found = firstIn(part, { seen, where: `${where}${name}`, isInCel: isInCel && name === '' });
    if (found !== undefined) return found;
  }
  return undefined;
}

type Def = z.core.$ZodTypes['_zod']['def'];

/** Some schemas are a check themselves, such as `z.email()`. */
interface Checking {
  readonly check?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: RegExp | undefined;
  readonly hostname?: RegExp | undefined;
  readonly protocol?: RegExp | undefined;
}

function unsaidOf(defs: readonly Checking[]): string | undefined {
  const words = defs.map(unsaid).find((each) => each !== undefined);
  if (words !== undefined) return words;
  const changed = defs.findIndex(({ check }) => check === 'overwrite');
  if (changed >= 0 && defs.slice(changed).some(({ check }) => check !== 'overwrite'))
    return 'a check of a text that trim() or the like has changed before it';
  const formats = defs.filter(({ check }) => check === 'string_format');
  if (formats.length > 1 && formats.some(({ pattern }) => pattern === undefined))
    return 'a URL with a pattern';
  return undefined;
}

function unsaid(def: object): string | undefined {
  const { check, type, format = '', pattern, hostname, protocol } = def as Checking;
  if (type === 'pipe' && (def as z.core.$ZodPipeDef).out._zod.def.type !== 'transform')
    return 'two schemas in a pipe';
  if (check === undefined) return undefined;
  if (!SAID_CHECKS.includes(check)) return UNSAID[check] ?? `the check ${check}`;
  if (check !== 'string_format') return undefined;
  if (hostname !== undefined || protocol !== undefined) return 'a URL of some hosts or protocols';
  const flag = FLAGS.find((each) => pattern?.flags.includes(each));
  if (flag !== undefined) return `a pattern with the flag ${flag}`;
  return pattern === undefined && !KNOWN_FORMATS.includes(format) ? `the format ${format}` : undefined;
}

/** Such a list says itself that no item is there twice. */
function isDistinct(meta: z.core.GlobalMeta | undefined): boolean {
  return ['set', 'map'].includes(String(meta?.['x-kubernetes-list-type']));
}

/** The default of a transform is its result, which is not in a CRD. */
function isRefusing(schema: z.core.$ZodType, value: unknown): boolean {
  return schema._zod.def.type !== 'pipe' && !z.safeParse(schema, value).success;
}

function isPlainText(schema: z.core.$ZodType): boolean {
  const { type, checks = [] } = schema._zod.def;
  return type === 'string' && checks.length === 0 && !('check' in schema._zod.def);
}

type Parts = readonly (readonly [name: string, schema: z.core.$ZodType])[];

/** The members of a definition that are schemas, and where each is. */
const PARTS: Readonly<Record<string, string>> = {
  ...{ element: '[]', valueType: '.*' },
  ...{ innerType: '', in: '', out: '', left: '', right: '' },
};

function partsOf(def: Def): Parts {
  if (def.type === 'object') return Object.entries(def.shape).map(([name, each]) => [`.${name}`, each]);
  if (def.type === 'union') return def.options.map((each) => ['', each]);
  if (def.type === 'lazy') return [['', def.getter()]];
  return Object.entries(def).flatMap(([key, part]) => {
    const name = PARTS[key];
    return name !== undefined && part instanceof z.core.$ZodType ? [[name, part] as const] : [];
  });
}
