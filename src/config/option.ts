import { z } from 'zod';

/** What an option has besides its schema. */
export interface Described {
  /** A line without a full stop, with code in backticks: for `--help`, and the first sentence of the docs. */
  readonly help: string;
  /** What only the docs say, in sentences. */
  readonly docs?: string;
  /** Written as a person writes it, and parsed like any other value. */
  readonly default?: string;
  /** The default of the command `dev`, which serves only this machine. */
  readonly localDefault?: string;
  /** What applies where the option is not set, in words. */
  readonly unset?: string;
  /** The running operator publishes it, for those who ask about it. Never anything secret. */
  readonly published?: true;
  /** A variable that is read besides our own, because people have it set already. */
  readonly alsoFrom?: string;
}

interface Section {
  readonly title: string;
  /** The only command that has these options; every command has the others. */
  readonly onlyFor?: 'codec-server' | 'generate' | 'dev' | undefined;
}

/** A row of the table: one option, under one name in all sources. */
export interface OptionRow extends Described, Section {
  readonly name: string;
  /** What follows the flag, for the help; a flag without it is true or false. */
  readonly argument: string | undefined;
  /** `DURABLE_OPERATOR_HEALTH_ADDR` */
  readonly variable: string;
  /** Where its value is among the typed options. */
  readonly path: readonly [group: string, property: string];
}

const DESCRIBED = z.registry<Described & { readonly flag: string }>();
const SECTIONS = z.registry<Section>();

/** @param flag as commander writes it: `resync <duration>`, or only a name for a boolean */
export function option<Value>(
  flag: string,
  schema: z.ZodType<Value>,
  described: Described & { readonly default: string },
): z.ZodPrefault<z.ZodType<Value>>;
export function option<Value>(
  flag: string,
  schema: z.ZodType<Value>,
  described: Described,
): z.ZodOptional<z.ZodType<Value>>;
export function option(flag: string, schema: z.ZodType, described: Described) {
  const filled = described.default === undefined ? schema.optional() : schema.prefault(described.default);
  DESCRIBED.add(filled, { ...described, flag });
  return filled;
}

/** Options with one title in the help and the docs, which several sections may share. */
export function section<Shape extends z.ZodRawShape>(
  title: string,
  shape: Shape,
  onlyFor?: Section['onlyFor'],
): z.ZodObject<Shape> {
  const schema = z.object(shape);
  SECTIONS.add(schema, { title, onlyFor });
  return schema;
}

/** @throws Error where something in the table was not made by `section` and `option`: a bug */
export function optionRows(options: z.ZodObject<Readonly<Record<string, z.ZodObject>>>): OptionRow[] {
  return Object.entries(options.shape).flatMap(([group, schema]) =>
    Object.entries(schema.shape).map(([property, each]) => {
      const [about, described] = [SECTIONS.get(schema), DESCRIBED.get(each)];
      if (!about || !described) throw new Error(`${group}.${property} is not an option of a section`);
      const { flag, ...texts } = described;
      const [name = '', argument] = flag.split(/ <|>/);
      return { ...about, ...texts, name, argument, variable: variableFor(name), path: [group, property] };
    }),
  );
}

/** `health-addr` → `DURABLE_OPERATOR_HEALTH_ADDR` */
export function variableFor(name: string): string {
  return `DURABLE_OPERATOR_${name.replaceAll('-', '_').toUpperCase()}`;
}
