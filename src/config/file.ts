import { readFile } from 'node:fs/promises';
import { isMap, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { isOptionName, OPTION_NAMES, type OptionName } from './options.ts';
import { suggestion } from './values.ts';

/** What a file says about one option, and where. */
export interface FileEntry {
  readonly raw: unknown;
  readonly line: number;
}

export interface FileContents {
  readonly entries: ReadonlyMap<OptionName, FileEntry>;
  /** One line each: file, line, what is wrong, what to do. */
  readonly problems: readonly string[];
}

/**
 * Reads options from a YAML file whose keys are the options' names.
 *
 * @param namedBy what named the file, for messages: `--config`
 */
export async function readConfigFile(path: string, namedBy: string): Promise<FileContents> {
  try {
    return parseConfigFile(path, await readFile(path, 'utf8'));
  } catch (error) {
    return wrong(`${namedBy} "${path}": ${whyUnreadable(error)}; name a YAML file that can be read`);
  }
}

function parseConfigFile(path: string, text: string): FileContents {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [syntaxError] = document.errors;
  if (syntaxError !== undefined) {
    const { line } = lines.linePos(syntaxError.pos[0]);
    return wrong(`${path}:${line}: ${firstLineOf(syntaxError.message)}; correct the YAML`);
  }
  const values: unknown = document.toJS();
  if (values === null) return { entries: new Map(), problems: [] };
  if (!isMap(document.contents)) return wrong(`${path}:1: not a mapping; write lines such as resync: 3m`);
  const raws = new Map(Object.entries(z.record(z.string(), z.unknown()).parse(values)));
  const entries = new Map<OptionName, FileEntry>();
  const problems: string[] = [];
  for (const { key } of document.contents.items) {
    const name = String(key);
    const { line } = lines.linePos(key.range[0]);
    if (isOptionName(name)) entries.set(name, { raw: raws.get(name), line });
    else problems.push(`${path}:${line}: ${unknownKey(name)}`);
  }
  return { entries, problems };
}

function unknownKey(name: string): string {
  const nearest = suggestion(name, OPTION_NAMES);
  return nearest === ''
    ? `unknown key "${name}"; the keys are ${OPTION_NAMES.join(', ')}`
    : `unknown key "${name}"${nearest}; correct or remove it`;
}

function wrong(problem: string): FileContents {
  return { entries: new Map(), problems: [problem] };
}

/** What the file system says, in words. */
export function whyUnreadable(error: unknown): string {
  switch (codeOf(error)) {
    case 'ENOENT':
      return 'no such file';
    case 'EACCES':
      return 'this user may not read it';
    case 'EISDIR':
      return 'it is a directory';
    default:
      return firstLineOf(error instanceof Error ? error.message : String(error));
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

export function firstLineOf(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
