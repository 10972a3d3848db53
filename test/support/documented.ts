import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Every Markdown file that people read: its text, by its path from the root. */
export const PAGES: ReadonlyMap<string, string> = new Map(
  [
    ...pagesIn(ROOT),
    ...pagesIn(join(ROOT, 'tools')),
    ...pagesIn(join(ROOT, 'test/campaign')),
    ...pagesIn(join(ROOT, 'docs'), { recursive: true }),
  ].map((file) => [relative(ROOT, file), readFileSync(file, 'utf8')] as const),
);

function pagesIn(directory: string, { recursive = false } = {}): string[] {
  return readdirSync(directory, { recursive, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name));
}

/** A command that a page tells people to type. */
export interface DocumentedCommand {
  readonly page: string;
  /** As it is written, on one line. */
  readonly line: string;
  /** Without quotes; the first is the program. */
  readonly words: readonly string[];
}

/** The commands in the `sh` blocks of all pages. */
export function documentedCommands(): DocumentedCommand[] {
  return [...PAGES].flatMap(([page, text]) =>
    [...text.matchAll(/^```sh\n(.*?)^```/gms)]
      .flatMap(([, block = '']) => commandsIn(block).map((line) => ({ page, line, words: wordsOf(line) })))
      .filter(({ words }) => words.length > 0),
  );
}

function commandsIn(block: string): string[] {
  return block
    .replaceAll(/\\\n\s*/g, '')
    .split(/\n|&&/)
    .map((line) => line.replace(/(^| )#.*/, '').trim())
    .filter((line) => line !== '');
}

/** As a shell splits a line, but without substitutions, and without variables that are set for one command. */
function wordsOf(line: string): string[] {
  const quoted = /(?:'[^']*'|"[^"]*"|[^\s'"])+/g;
  const words = (line.match(quoted) ?? []).map((word) => word.replaceAll(/['"]/g, ''));
  const program = words.findIndex((word) => !/^[A-Z][A-Z0-9_]*=/.test(word));
  return program === -1 ? [] : words.slice(program);
}
