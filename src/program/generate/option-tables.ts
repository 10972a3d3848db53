import { optionTable } from '../../config/option-table.ts';
import type { OptionRow } from '../../config/option.ts';
import type { ProgramNames } from '../../config/options.ts';

/** The tables of a program's options in Markdown, by their titles. */
export function optionsByTitle(program: ProgramNames): ReadonlyMap<string, string> {
  const { rows } = optionTable(program);
  const titles = [...new Set(rows.map(({ title }) => title))];
  return new Map(titles.map((title) => [title, tableOf(rows.filter((row) => row.title === title))]));
}

/** A page with all options. It has no links to other pages. */
export function optionsPage(program: ProgramNames): string {
  const sections = [...optionsByTitle(program)].map(([title, table]) => `## ${title}\n\n${table}\n`);
  const page = [`# Options of ${program.name}\n`, ...sections].join('\n');
  return page
    .replaceAll(/ See \[[^\]]*\]\([^)]*\)\./g, '')
    .replaceAll(/\[([^\]]*)\]\((?!http)[^)]*\)/g, '$1');
}

function tableOf(rows: readonly OptionRow[]): string {
  const cells = rows.map((row) => [flagOf(row), defaultOf(row), meaningOf(row)]);
  const lines = [['flag', 'default', 'meaning'], ['-', '-', '-'], ...cells];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

function flagOf({ name, argument }: OptionRow): string {
  return code(argument === undefined ? `--${name}` : `--${name} <${argument}>`);
}

function defaultOf({ default: text, localDefault, unset }: OptionRow): string {
  const usual = text ? text.split(',').map(code).join(', ') : (unset ?? 'none');
  return localDefault === undefined ? usual : `${usual} (${code('dev')}: ${code(localDefault)})`;
}

function meaningOf({ help, docs, alsoFrom }: OptionRow): string {
  const sentence = `${help.charAt(0).toUpperCase()}${help.slice(1)}.`;
  const other = alsoFrom === undefined ? undefined : `Also read from ${code(alsoFrom)}.`;
  return [sentence, docs, other].filter((each) => each !== undefined).join(' ');
}

export function code(text: string): string {
  return `\`${text}\``;
}
