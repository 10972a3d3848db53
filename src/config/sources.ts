import { readFile } from 'node:fs/promises';
import { isMap, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import type { OptionRow } from './option.ts';
import type { OptionTable } from './option-table.ts';
import { firstLineOf, whyUnreadable } from './readable.ts';

/** What a source says about one option. */
export interface SourcedValue {
  readonly raw: unknown;
  /** What to call the source in a message: the flag, the variable, or the file with its line and key. */
  readonly from: string;
}

/** What is given, by the names of the options. */
export type GivenOptions = ReadonlyMap<string, SourcedValue>;

export interface FileContents {
  readonly given: GivenOptions;
  /** One line each: file, line, what is wrong, what to do. */
  readonly problems: readonly string[];
}

interface Sources {
  readonly flags: GivenOptions;
  readonly env: NodeJS.ProcessEnv;
  readonly file: GivenOptions;
}

/** Flags win over the environment, and that over the file. */
export function strongest(table: OptionTable, { flags, env, file }: Sources): GivenOptions {
  return new Map([...file, ...fromEnvironment(table, env), ...flags]);
}

function fromEnvironment({ rows }: OptionTable, env: NodeJS.ProcessEnv): GivenOptions {
  return new Map(
    rows.flatMap((row) => {
      const variable = variableSet(row, env);
      return variable === undefined ? [] : [[row.name, { raw: env[variable], from: variable }] as const];
    }),
  );
}

/** An empty variable counts as unset, since templates leave them behind. */
function variableSet({ variable, alsoFrom }: OptionRow, env: NodeJS.ProcessEnv): string | undefined {
  return [variable, ...(alsoFrom === undefined ? [] : [alsoFrom])].find((name) => Boolean(env[name]));
}

/**
 * Reads options from a YAML file whose keys are the options' names.
 *
 * @param namedBy what named the file, for messages: `--config`
 */
export async function readConfigFile(
  table: OptionTable,
  path: string,
  namedBy: string,
): Promise<FileContents> {
  try {
    return parseConfigFile(table, path, await readFile(path, 'utf8'));
  } catch (error) {
    return wrong(
      `${namedBy} "${path}" cannot be read: ${whyUnreadable(error)}; specify a readable YAML file`,
    );
  }
}

function parseConfigFile({ rows }: OptionTable, path: string, text: string): FileContents {
  const names = rows.map(({ name }) => name);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [syntaxError] = document.errors;
  if (syntaxError !== undefined) {
    const { line } = lines.linePos(syntaxError.pos[0]);
    return wrong(`${path}:${line}: ${firstLineOf(syntaxError.message)}; correct the YAML`);
  }
  const values: unknown = document.toJS();
  if (values === null) return { given: new Map(), problems: [] };
  if (!isMap(document.contents)) return wrong(`${path}:1: not a mapping; write lines such as resync: 3m`);
  const raws = z.record(z.string(), z.unknown()).parse(values);
  const given = new Map<string, SourcedValue>();
  const problems: string[] = [];
  for (const { key } of document.contents.items) {
    const name = String(key);
    const where = `${path}:${lines.linePos(key.range[0]).line}`;
    if (names.includes(name)) given.set(name, { raw: raws[name], from: `${where}: ${name}` });
    else problems.push(`${where}: unknown key "${name}"; the keys are ${names.join(', ')}`);
  }
  return { given, problems };
}

function wrong(problem: string): FileContents {
  return { given: new Map(), problems: [problem] };
}
