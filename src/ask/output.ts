import { stripVTControlCharacters, styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];

/** Colours a text, or leaves it as it is. */
export type Paint = (format: Format, text: string) => string;

interface Terminal {
  readonly isTerminal: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** There are no colours without a terminal, or with NO_COLOR. Source: https://no-color.org */
export function paintFor({ isTerminal, env }: Terminal): Paint {
  const isPlain = !isTerminal || Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb';
  return isPlain ? (_, text) => text : (format, text) => styleText(format, text, { validateStream: false });
}

export interface Column<Row> {
  /** In capitals, as in kubectl: `STATE`. */
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly format?: (row: Row) => Format;
}

export interface Table {
  readonly text: string;
  readonly widths: readonly number[];
}

const GAP = '   ';

/** @param earlier the widths of an earlier table, which these lines follow without titles */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { paint, earlier }: { readonly paint: Paint; readonly earlier?: readonly number[] | undefined },
): Table {
  const widths =
    earlier ??
    columns.map(({ title, text }) =>
      rows.reduce((most, row) => Math.max(most, text(row).length), title.length),
    );
  const line = (texts: readonly string[]) => `${texts.join(GAP).trimEnd()}\n`;
  const padding = (text: string, index: number) =>
    ' '.repeat(Math.max((widths[index] ?? 0) - text.length, 0));
  const titles = line(columns.map(({ title }, index) => title + padding(title, index)));
  const cell = (row: Row) => (column: Column<Row>, index: number) => {
    const text = column.text(row);
    return (column.format === undefined ? text : paint(column.format(row), text)) + padding(text, index);
  };
  const lines = rows.map((row) => line(columns.map(cell(row))));
  return { text: (earlier === undefined ? titles : '') + lines.join(''), widths };
}

/** For programs: of one, itself. */
export function oneOrAll<T extends object>(all: readonly T[]): T | readonly T[] {
  const [one = all] = all;
  return all.length === 1 ? one : all;
}

/** JSON or YAML, with a line feed at the end. */
export async function structured(value: unknown, format: 'json' | 'yaml'): Promise<string> {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0 });
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** A `nowMs` with which every duration is `0s`: two texts then differ only if more than time has changed. */
export const TIMELESS_MS = Number.NaN;

/** `4m12s`, `3h5m`, `12s`: the two largest units, as in kubectl's AGE. */
export function durationText(ms: number): string {
  let rest = Math.max(Math.round(ms / 1000), 0);
  const parts: string[] = [];
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    if (count > 0) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? '0s' : parts.join('');
}

/** In UTC: `2026-11-22T02:24:29Z`. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

const PLAIN = /^(?:[!-~]+(?: [!-~]+)*)?$/;

/** Text of a server, on one line and without control characters for the terminal. */
export function harmless(text: string): string {
  if (PLAIN.test(text)) return text;
  return stripVTControlCharacters(text)
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
