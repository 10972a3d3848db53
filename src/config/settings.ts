import type { z } from 'zod';
import type { FileEntry } from './file.ts';
import { describe, variableFor, type OptionName } from './options.ts';
import { messageOf } from './values.ts';

/** Where values come from, the strongest first. */
export interface Sources {
  readonly flags: ReadonlyMap<OptionName, string | boolean>;
  readonly env: NodeJS.ProcessEnv;
  readonly file: { readonly path: string; readonly entries: ReadonlyMap<OptionName, FileEntry> };
}

interface Given {
  readonly raw: unknown;
  /** What to call it in a message: the flag, the variable, or the file's line and key. */
  readonly from: string;
}

/** Reads options by name, each checked by its schema, and collects what is wrong with them. */
export class Settings {
  readonly problems: string[] = [];
  readonly #sources: Sources;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** The value from the strongest source, else the fallback, which is written like any other value. */
  read<Value>(name: OptionName, schema: z.ZodType<Value>, fallback = describe(name).fallback ?? ''): Value {
    return this.readIfGiven(name, schema) ?? schema.parse(fallback);
  }

  /** Undefined where no source has it, and where the value is wrong. */
  readIfGiven<Value>(name: OptionName, schema: z.ZodType<Value>): Value | undefined {
    const given = this.#given(name);
    if (given === undefined) return undefined;
    const result = schema.safeParse(given.raw);
    if (result.success) return result.data;
    this.problems.push(`${given.from} ${shown(given.raw)} ${messageOf(result.error)}`);
    return undefined;
  }

  /** What to call the source of an option in a message; undefined where nobody gave it. */
  sourceOf(name: OptionName): string | undefined {
    return this.#given(name)?.from;
  }

  #given(name: OptionName): Given | undefined {
    return this.#fromFlags(name) ?? this.#fromEnvironment(name) ?? this.#fromFile(name);
  }

  #fromFlags(name: OptionName): Given | undefined {
    const raw = this.#sources.flags.get(name);
    return raw === undefined ? undefined : { raw, from: `--${name}` };
  }

  /** An empty variable counts as unset, since templates leave them behind. */
  #fromEnvironment(name: OptionName): Given | undefined {
    const { knownAs } = describe(name);
    const variables = [variableFor(name), ...(knownAs === undefined ? [] : [knownAs])];
    const variable = variables.find((each) => Boolean(this.#sources.env[each]));
    return variable === undefined ? undefined : { raw: this.#sources.env[variable], from: variable };
  }

  #fromFile(name: OptionName): Given | undefined {
    const { path, entries } = this.#sources.file;
    const entry = entries.get(name);
    return entry === undefined ? undefined : { raw: entry.raw, from: `${path}:${entry.line}: ${name}` };
  }
}

const LONGEST_SHOWN = 80;

function shown(raw: unknown): string {
  const text = JSON.stringify(raw);
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}
