import { z } from 'zod';
import { ConfigurationError } from './configuration-error.ts';
import { option, section } from './option.ts';
import { DURATION } from './values.ts';

/*
 * The options that an author's controller has: each field of a zod object becomes a row of the table.
 */

/** What the name of an option may not say: it would be published, and be in the list of processes. */
const SECRET = /token|password|secret|credential|apikey/i;

/** Where the options of a controller are among all options. */
function groupOf(controller: string): string {
  return `controller ${controller}`;
}

/** @throws ConfigurationError where a field cannot be an option */
export function controllerSections(
  controllers: readonly { readonly name: string; readonly options?: z.ZodObject | undefined }[],
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
export function optionsOfController(options: object, controller: string): unknown {
  return Reflect.get(options, groupOf(controller)) ?? {};
}

function optionFor(property: string, field: z.ZodType, refuse: (problem: string) => void) {
  if (SECRET.test(property))
    refuse('looks secret, and options are published; let `clients` read it from a file or a variable');
  const isFilled = field instanceof z.ZodDefault || field instanceof z.ZodPrefault;
  const value = isFilled || field instanceof z.ZodOptional ? field.unwrap() : field;
  const filled = isFilled ? textOf(value as z.ZodType, field.def.defaultValue) : undefined;
  if (filled === undefined && !(field instanceof z.ZodOptional))
    refuse('needs a default, or has to be optional');
  const argument = argumentFor(value as z.ZodType);
  if (argument === undefined)
    refuse('has to be a string, a number, a boolean, one of some words or a durationMs');
  const help = field.description ?? (value as z.ZodType).description ?? '';
  const flag = argument === '' ? flagFor(property) : `${flagFor(property)} <${argument ?? ''}>`;
  const described = { help, published: true } as const;
  const schema = read(value as z.ZodType);
  return filled === undefined
    ? option(flag, schema, described)
    : option(flag, schema, { ...described, default: filled });
}

function flagFor(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** What follows the flag; empty for one that is true or false; undefined where there is no such option. */
function argumentFor(value: z.ZodType): string | undefined {
  if (value instanceof z.ZodBoolean) return '';
  if (value instanceof z.ZodNumber) return 'number';
  if (value.meta()?.['argument'] === DURATION) return DURATION;
  if (value instanceof z.ZodEnum) return value.options.join('|');
  return value instanceof z.ZodString || value instanceof z.ZodStringFormat ? 'text' : undefined;
}

/** Takes the text of a flag or a variable, or what a file holds. */
function read(value: z.ZodType) {
  return z.codec(z.unknown(), z.unknown(), {
    decode: (raw, payload) => {
      const { data, error } = value.safeParse(typedAs(value, raw));
      if (error === undefined) return data;
      const words = error.issues[0]?.message ?? 'it does not fit';
      const message = words.startsWith('is ') ? words : `is not valid: ${words}`;
      payload.issues.push({ code: 'custom', message, input: raw });
      return z.NEVER;
    },
    encode: (typed) => textOf(value, typed),
  });
}

function typedAs(value: z.ZodType, raw: unknown): unknown {
  if (value instanceof z.ZodNumber) return typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
  if (value instanceof z.ZodBoolean)
    return raw === 'true' || raw === '1' || (raw !== 'false' && raw !== '0' && raw);
  return typeof raw === 'number' ? String(raw) : raw;
}

/** A prefault is a text already. */
function textOf(schema: z.ZodType, value: unknown): string {
  return String(schema instanceof z.ZodCodec && typeof value !== 'string' ? z.encode(schema, value) : value);
}
