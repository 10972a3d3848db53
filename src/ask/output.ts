import { stripVTControlCharacters, styleText } from 'node:util';
import type { Ask } from './ask.ts';

type Format = Parameters<typeof styleText>[0];

/** Colours a text, or leaves it as it is. */
export type Paint = (format: Format, text: string) => string;

/** Without a terminal, or with NO_COLOR, there are no colours. Source: https://no-color.org */
export function paintFor({ isTerminal, env }: Pick<Ask, 'isTerminal' | 'env'>): Paint {
  const isPlain = !isTerminal || Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb';
  return isPlain ? (_, text) => text : (format, text) => styleText(format, text, { validateStream: false });
}

export interface Column<Row> {
  /** In capitals, as kubectl has it: `STATE`. */
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly paint?: (row: Row) => Format | undefined;
}

/** Between two columns, as kubectl has it. */
const GAP = '   ';

/** A line each, the titles first; every line ends in a line feed. */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  paint: Paint = (_, text) => text,
): string {
  return tableOf(rows, columns, { paint, widths: widthsOf(rows, columns), titles: true });
}

export interface TableLayout {
  readonly paint: Paint;
  readonly widths: readonly number[];
  readonly titles: boolean;
}

export function widthsOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): number[] {
  return columns.map(({ title, text }) =>
    rows.reduce((most, row) => Math.max(most, widthOf(text(row))), title.length),
  );
}

/** With the widths of an earlier table, as lines that follow it. */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { paint, widths, titles }: TableLayout,
): string {
  const line = (cells: readonly string[]) => `${cells.join(GAP).trimEnd()}\n`;
  const head = line(columns.map(({ title }, index) => title.padEnd(widths[index] ?? 0)));
  const lines = rows.map((row) =>
    line(
      columns.map(({ text, paint: formatOf }, index) => {
        const format = formatOf?.(row);
        const cell = text(row);
        const padding = ' '.repeat(Math.max((widths[index] ?? 0) - widthOf(cell), 0));
        return (format === undefined ? cell : paint(format, cell)) + padding;
      }),
    ),
  );
  return (titles ? head : '') + lines.join('');
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
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

/** `4m12s`, `3h5m`, `12s`: the two largest units, as kubectl's AGE. */
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

/** What came from a server, on one line and without what a terminal would take for commands. */
export function harmless(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
