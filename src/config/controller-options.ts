import { z } from 'zod';
import { ConfigurationError } from './configuration-error.ts';
import { option, section } from './option.ts';
import { entriesIn, NO_LIST } from './values.ts';

/*
 * The options that a controller has: each field of a zod object becomes a row of the table.
 */

/** A controller, as far as its options are of interest. */
export interface WithOptions {
  readonly name: string;
  readonly options?: z.ZodObject | undefined;
}

/** What the name of an option may not say: it would be published, and be in the list of processes. */
const SECRET = /token|password|secret|credential|apikey/i;

/** Where the options of a controller are among all options. */
function groupOf(controller: string): string {
  return `controller ${controller}`;
}

/** @throws ConfigurationError where a field cannot be an option */
export function controllerSections(
  controllers: readonly WithOptions[],
): Readonly<Record<string, z.ZodObject>> {
  return Object.fromEntries(
    controllers.flatMap(({ name, options }) => {
      if (options === undefined) return [];
      const rows = Object.entries(options.shape).map(([property, field]) => {
        const refuse = (problem: string) => {
          throw new ConfigurationError(`the option ${property} of controller ${name} ${problem}`);
        };
        return [property, optionFor(property, field as z.ZodType, refuse)] as const;
      });
      return [[groupOf(name), section(`Controller ${name}`, Object.fromEntries(rows))] as const];
    }),
  );
}

/** The values that the operator has of them. */
export function optionsOfController(options: object, controller: string): object {
  return (Reflect.get(options, groupOf(controller)) as object | undefined) ?? {};
}

/** @param values of some options of controllers, by the names of these */
export function withOptionsOf<Options extends object>(
  options: Options,
  values: Readonly<Record<string, object>>,
): Options {
  const changed = Object.entries(values).map(([controller, its]) => [
    groupOf(controller),
    { ...optionsOfController(options, controller), ...its },
  ]);
  return { ...options, ...(Object.fromEntries(changed) as object) };
}

/** What `meta` of a field may say for help and docs, besides its description. */
interface Told {
  readonly description?: string | undefined;
  readonly argument?: string;
  readonly docs?: string;
  readonly unset?: string;
}

function optionFor(property: string, field: z.ZodType, refuse: (problem: string) => void) {
  if (SECRET.test(property))
    refuse('looks secret, and options are published; let `clients` read it from a file or a variable');
  const isFilled = field instanceof z.ZodDefault || field instanceof z.ZodPrefault;
  const value = (isFilled || field instanceof z.ZodOptional ? field.unwrap() : field) as z.ZodType;
  const filled = isFilled ? textOf(value, field.def.defaultValue) : undefined;
  if (filled === undefined && !(field instanceof z.ZodOptional))
    refuse('needs a default, or has to be optional');
  const told: Told = { ...value.meta(), ...field.meta() };
  const argument = argumentFor(value);
  if (argument === undefined)
    refuse(
      'has to be a string, a number, a boolean, one of some words, a list of strings, a durationMs or a codec',
    );
  const flag =
    argument === '' ? flagFor(property) : `${flagFor(property)} <${told.argument ?? argument ?? ''}>`;
  const { description: help = '', docs, unset } = told;
  const described = { help, published: true, ...(docs && { docs }), ...(unset && { unset }) } as const;
  const schema = read(value);
  return filled === undefined
    ? option(flag, schema, described)
    : option(flag, schema, { ...described, default: filled });
}

function flagFor(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** What follows the flag, unless `meta` says it; empty for one that is true or false; undefined where there is no such option. */
function argumentFor(value: z.ZodType): string | undefined {
  if (value instanceof z.ZodBoolean) return '';
  if (value instanceof z.ZodNumber) return 'number';
  if (value instanceof z.ZodEnum) return value.options.join('|');
  if (value instanceof z.ZodArray) return isString(value.element) ? 'list' : undefined;
  return isString(value) || value instanceof z.ZodCodec ? 'text' : undefined;
}

function isString(value: unknown): boolean {
  return value instanceof z.ZodString || value instanceof z.ZodStringFormat || value instanceof z.ZodEnum;
}

/** Takes the text of a flag or a variable, or what a file holds. */
function read(value: z.ZodType) {
  return z.codec(z.unknown(), z.unknown(), {
    decode: (raw, { issues }) => {
      const { data, error } = value.safeParse(typedAs(value, raw), { error: inOurWords, reportInput: true });
      if (error === undefined) return data;
      const [{ message, input, path } = { message: 'it does not fit', input: raw, path: [] }] = error.issues;
      // In lower case, it goes on from the value.
      const said = /^[a-z]/.test(message) ? message : `is not valid: ${message}`;
      issues.push({ code: 'custom', message: said, input, path: [...path] });
      return z.NEVER;
    },
    encode: (typed) => textOf(value, typed),
  });
}

/** Unless the author has words of their own. */
const inOurWords: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_value') return `is unknown; write one of ${issue.values.join(', ')}`;
  return issue.code === 'invalid_type' ? NO_SUCH[issue.expected] : undefined;
};

const NO_SUCH: Readonly<Record<string, string>> = {
  string: 'is not a string; put it in quotes',
  boolean: 'is not a boolean; write true or false',
  array: NO_LIST,
};

function typedAs(value: z.ZodType, raw: unknown): unknown {
  if (value instanceof z.ZodArray) return entriesIn(raw) ?? raw;
  if (value instanceof z.ZodNumber) return typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
  if (value instanceof z.ZodBoolean)
    return raw === 'true' || raw === '1' || (raw !== 'false' && raw !== '0' && raw);
  return value instanceof z.ZodEnum && typeof raw === 'number' ? String(raw) : raw;
}

/** A prefault is a text already. */
function textOf(schema: z.ZodType, value: unknown): string {
  // As `a,b` where it is a list.
  return String(schema instanceof z.ZodCodec && typeof value !== 'string' ? z.encode(schema, value) : value);
}
