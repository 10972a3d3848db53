import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { OptionRow } from '../src/config/option.ts';
import { ROWS } from '../src/config/options.ts';

/*
 * Writes the tables of options into docs/configuration.md: `npm run generate`. With `--check` it writes nothing
 * and fails where they are stale, for CI. A table stands between `<!-- options: TITLE -->` and `<!-- end -->`.
 */

export const CONFIGURATION_PAGE = join(import.meta.dirname, 'configuration.md');

/**
 * The page with the tables as they are to be.
 *
 * @throws Error where a title of the table of options has no place on the page, or a place no such title
 */
export function withOptionTables(page: string): string {
  const unplaced = new Set(ROWS.map(({ title }) => title));
  const filled = page.replaceAll(/(<!-- options: (.*) -->\n)[^]*?(<!-- end -->)/g, (_, begin, title, end) => {
    if (!unplaced.delete(String(title))) throw new Error(`there are no options titled "${title}", or twice`);
    const rows = ROWS.filter((row) => row.title === title);
    return `${begin}\n${tableOf(rows)}\n\n${end}`;
  });
  if (unplaced.size > 0) throw new Error(`no <!-- options: ${[...unplaced].join(', ')} --> on the page`);
  return filled;
}

function tableOf(rows: readonly OptionRow[]): string {
  const cells = rows.map((row) => [flagOf(row), variablesOf(row), defaultOf(row), meaningOf(row)]);
  const lines = [['flag', 'variable', 'default', 'meaning'], ['-', '-', '-', '-'], ...cells];
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

async function main(): Promise<void> {
  const page = await readFile(CONFIGURATION_PAGE, 'utf8');
  const style = await resolveConfig(CONFIGURATION_PAGE, { editorconfig: true });
  const wanted = await format(withOptionTables(page), { ...style, filepath: CONFIGURATION_PAGE });
  if (!process.argv.includes('--check')) return writeFile(CONFIGURATION_PAGE, wanted);
  if (wanted === page) return;
  console.error('docs/configuration.md is stale: run npm run generate, and commit what it wrote');
  process.exitCode = 1;
}

if (import.meta.main) await main();
