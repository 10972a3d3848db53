import { readFile } from 'node:fs/promises';

/** The last lines of a log, for an error's message; says so where there is none. */
export async function lastLines(file: string, count: number): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const lines = text.trimEnd().split('\n').slice(-count);
  return lines.join('\n') || '(nothing was written)';
}
