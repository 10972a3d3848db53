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
  const isInCel = place.isInCel || z.globalRegistry.get(schema)?.['x-kubernetes-validations'] !== undefined;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const own = isInCel ? [] : [def, ...(def.checks ?? []).map((check) => check._zod.def)].map(unsaid);
  const words = own.find((each) => each !== undefined);
  if (words !== undefined)
    return `${where} has ${words}, which the API server does not know; say it in CEL, too: .meta({ "x-kubernetes-validations": [{ rule, message }] })`;
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

function unsaid(def: object): string | undefined {
  const { check, type, format = '', pattern, hostname, protocol } = def as Checking;
  if (type === 'pipe' && !isTransforming(def as z.core.$ZodPipeDef)) return 'two schemas in a pipe';
  if (check === undefined) return undefined;
  if (!SAID_CHECKS.includes(check)) return UNSAID[check] ?? `the check ${check}`;
  if (check !== 'string_format') return undefined;
  if (hostname !== undefined || protocol !== undefined) return 'a URL of some hosts or protocols';
  const flag = FLAGS.find((each) => pattern?.flags.includes(each));
  if (flag !== undefined) return `a pattern with the flag ${flag}`;
  return pattern === undefined && !KNOWN_FORMATS.includes(format) ? `the format ${format}` : undefined;
}

function isTransforming({ in: before, out }: z.core.$ZodPipeDef): boolean {
  return [before, out].some((each) => each._zod.def.type === 'transform');
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
  if (def.type === 'lazy') return [['', def.getter()]];
  return Object.entries(def).flatMap(([key, part]) => {
    const name = PARTS[key];
    return name !== undefined && part instanceof z.core.$ZodType ? [[name, part] as const] : [];
  });
}
