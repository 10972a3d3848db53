import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { apiPage } from './api.ts';
import { CONTROL_REASONS, RECONCILING_REASONS, type ReasonRow } from '../src/engine/condition.ts';
import { BUILD_REASONS } from '../src/controllers/git-build/reasons.ts';
import { durableOperator } from '../src/controllers/index.ts';
import { code, optionsByTitle } from '../src/program/generate/option-tables.ts';

/*
 * Writes the tables of options into docs/configuration.md, lists of reasons into docs/conditions.md, and docs/api.md:
 * `npm run generate`. With `--check` it writes nothing, and fails if a page is stale. Each stands between
 * `<!-- options: TITLE -->`, or `<!-- reasons: KIND -->`, and `<!-- end -->`.
 */

const REASONS: Readonly<Record<string, readonly ReasonRow[]>> = {
  Xxx: BUILD_REASONS,
  both: [...RECONCILING_REASONS, ...CONTROL_REASONS],
};

/**
 * Fills in the tables of options.
 *
 * @throws Error if the page lacks a place for a title of the options, or has a place with an unknown title
 */
function withOptionTables(page: string): string {
  return withParts(page, { what: 'options', parts: optionsByTitle(durableOperator) });
}

/** Fills in the lists of reasons. @throws Error as `withOptionTables` does */
function withReasons(page: string): string {
  const lists = Object.entries(REASONS).map(([of, rows]) => [of, reasonLists(rows)] as const);
  return withParts(page, { what: 'reasons', parts: new Map(lists) });
}

interface Parts {
  readonly what: 'options' | 'reasons';
  /** By title. */
  readonly parts: ReadonlyMap<string, string>;
}

function withParts(page: string, { what, parts }: Parts): string {
  const unplaced = new Set(parts.keys());
  const place = RegExp(`(<!-- ${what}: (.*) -->\\n)[^]*?(<!-- end -->)`, 'g');
  const filled = page.replaceAll(place, (whole: string, begin, title, end) => {
    // It is written by hand. Where the title is misspelt, a part has no place.
    if (!parts.has(String(title))) return whole;
    if (!unplaced.delete(String(title))) throw new Error(`there are ${what} titled "${title}" twice`);
    return `${begin}\n${parts.get(String(title))}\n\n${end}`;
  });
  if (unplaced.size > 0) throw new Error(`no <!-- ${what}: ${[...unplaced].join(', ')} --> on the page`);
  return filled;
}

/** A list for each condition and status. */
function reasonLists(rows: readonly ReasonRow[]): string {
  const titles = new Set(rows.map(titleOf));
  const listOf = (title: string) => reasonLines(rows.filter((row) => titleOf(row) === title));
  return [...titles].map((title) => `${title}\n\n${listOf(title).join('\n')}`).join('\n\n');
}

/** What several of them say before a colon is there once. */
function reasonLines(rows: readonly ReasonRow[]): string[] {
  const beginningOf = ({ reason, meaning }: ReasonRow) => /^.*: /.exec(meaning)?.[0] ?? reason;
  return [...new Set(rows.map(beginningOf))].flatMap((beginning) => {
    const alike = rows.filter((row) => beginningOf(row) === beginning);
    if (alike.length === 1) return alike.map(reasonLine);
    const ends = alike.map((row) => ({ ...row, meaning: row.meaning.slice(beginning.length) }));
    return [`- ${beginning.trimEnd()}`, ...ends.map((row) => `  ${reasonLine(row)}`)];
  });
}

function titleOf({ type, status }: ReasonRow): string {
  return `${code(type)} is ${code(status)}:`;
}

function reasonLine({ reason, meaning }: ReasonRow): string {
  return `- ${code(reason)}: ${meaning}`;
}

const PAGES = {
  'configuration.md': withOptionTables,
  'conditions.md': withReasons,
  'api.md': () => apiPage('API', 'src/index.ts'),
  'api-testing.md': () => apiPage('API of the testing kit', 'testing/index.ts'),
} as const;

async function main(): Promise<void> {
  for (const [name, fill] of Object.entries(PAGES)) {
    const file = join(import.meta.dirname, name);
    const page = await readFile(file, 'utf8');
    const style = await resolveConfig(file, { editorconfig: true });
    const wanted = await format(await fill(page), { ...style, filepath: file });
    if (!process.argv.includes('--check')) await writeFile(file, wanted);
    else if (wanted !== page) reportStale(name);
  }
}

function reportStale(name: string): void {
  console.error(`docs/${name} is stale: run npm run generate, and commit what it wrote`);
  process.exitCode = 1;
}

if (import.meta.main) await main();
