import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { OptionRow } from '../src/config/option.ts';
import { ROWS } from '../src/config/options.ts';
import { CONTROL_REASONS, RECONCILING_REASONS, type ReasonRow } from '../src/controllers/condition.ts';
import { BUILD_REASONS } from '../src/controllers/git-build/reasons.ts';
import { POD_SET_REASONS } from '../src/controllers/pod-set/reasons.ts';

/*
 * Writes the tables of options into docs/configuration.md, and those of reasons into docs/conditions.md:
 * `npm run generate`. With `--check` it writes nothing and fails where they are stale, for CI. A table stands between
 * `<!-- options: TITLE -->`, or `<!-- reasons: OF WHAT -->`, and `<!-- end -->`.
 */

const REASONS: Readonly<Record<string, readonly ReasonRow[]>> = {
  PodSet: POD_SET_REASONS,
  Xxx: BUILD_REASONS,
  both: [...RECONCILING_REASONS, ...CONTROL_REASONS],
};

/**
 * The page with the tables of options as they are to be.
 *
 * @throws Error where a title of the table of options has no place on the page, or a place no such title
 */
export function withOptionTables(page: string): string {
  const titles = new Set(ROWS.map(({ title }) => title));
  return withTables(page, {
    what: 'options',
    tables: new Map([...titles].map((title) => [title, optionTable(title)])),
  });
}

/** The page with the tables of reasons as they are to be. @throws Error as `withOptionTables` does */
export function withReasonTables(page: string): string {
  const tables = Object.entries(REASONS).map(([of, rows]) => [of, reasonTable(rows)] as const);
  return withTables(page, { what: 'reasons', tables: new Map(tables) });
}

interface Tables {
  readonly what: 'options' | 'reasons';
  /** By their titles. */
  readonly tables: ReadonlyMap<string, string>;
}

function withTables(page: string, { what, tables }: Tables): string {
  const unplaced = new Set(tables.keys());
  const place = RegExp(`(<!-- ${what}: (.*) -->\\n)[^]*?(<!-- end -->)`, 'g');
  const filled = page.replaceAll(place, (_, begin, title, end) => {
    if (!unplaced.delete(String(title))) throw new Error(`there are no ${what} titled "${title}", or twice`);
    return `${begin}\n${tables.get(String(title))}\n\n${end}`;
  });
  if (unplaced.size > 0) throw new Error(`no <!-- ${what}: ${[...unplaced].join(', ')} --> on the page`);
  return filled;
}

function optionTable(of: string): string {
  const rows = ROWS.filter(({ title }) => title === of);
  const cells = rows.map((row) => [flagOf(row), variablesOf(row), defaultOf(row), meaningOf(row)]);
  return tableOf(['flag', 'variable', 'default', 'meaning'], cells);
}

function reasonTable(rows: readonly ReasonRow[]): string {
  const cells = rows.map(({ type, status, reason, meaning }) => [code(type), status, code(reason), meaning]);
  return tableOf(['condition', 'status', 'reason', 'meaning'], cells);
}

function tableOf(titles: readonly string[], cells: readonly (readonly string[])[]): string {
  const lines = [titles, titles.map(() => '-'), ...cells];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function flagOf({ name, argument }: OptionRow): string {
  return code(argument === undefined ? `--${name}` : `--${name} <${argument}>`);
}

function variablesOf({ variable, alsoFrom }: OptionRow): string {
  return alsoFrom === undefined ? code(variable) : `${code(variable)}, else ${code(alsoFrom)}`;
}

function defaultOf({ default: text, localDefault, unset }: OptionRow): string {
  const usual = text ? text.split(',').map(code).join(', ') : (unset ?? 'none');
  return localDefault === undefined ? usual : `${usual} (${code('local')}: ${code(localDefault)})`;
}

function meaningOf({ help, docs }: OptionRow): string {
  const sentence = `${help.charAt(0).toUpperCase()}${help.slice(1)}.`;
  return docs === undefined ? sentence : `${sentence} ${docs}`;
}

function code(text: string): string {
  return `\`${text}\``;
}

const PAGES = {
  'configuration.md': withOptionTables,
  'conditions.md': withReasonTables,
} as const;

async function main(): Promise<void> {
  for (const [name, fill] of Object.entries(PAGES)) {
    const file = join(import.meta.dirname, name);
    const page = await readFile(file, 'utf8');
    const style = await resolveConfig(file, { editorconfig: true });
    const wanted = await format(fill(page), { ...style, filepath: file });
    if (!process.argv.includes('--check')) await writeFile(file, wanted);
    else if (wanted !== page) reportStale(name);
  }
}

function reportStale(name: string): void {
  console.error(`docs/${name} is stale: run npm run generate, and commit what it wrote`);
  process.exitCode = 1;
}

if (import.meta.main) await main();
