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

export interface Table {
  /** A line each, the titles first; every line ends in a line feed. */
  readonly text: string;
  readonly widths: readonly number[];
}

interface Layout {
  /** Default: no colours. */
  readonly paint?: Paint;
  /** Of an earlier table, whose lines these follow, without titles. Default: as wide as the widest text. */
  readonly widths?: readonly number[] | undefined;
}

/** @param columns their texts are {@link harmless}: a character each */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { paint = (_, text) => text, widths: earlier }: Layout = {},
): Table {
  const cells = rows.map((row) => columns.map(({ text }) => text(row)));
  const widths = earlier ?? widthsOf(cells, columns);
  const line = (texts: readonly string[]) => `${texts.join(GAP).trimEnd()}\n`;
  const head = line(columns.map(({ title }, index) => title.padEnd(widths[index] ?? 0)));
  const lines = rows.map((row, number) =>
    line(
      columns.map(({ paint: formatOf }, index) => {
        const cell = cells[number]?.[index] ?? '';
        const format = formatOf?.(row);
        const padding = ' '.repeat(Math.max((widths[index] ?? 0) - cell.length, 0));
        return (format === undefined ? cell : paint(format, cell)) + padding;
      }),
    ),
  );
  return { text: (earlier === undefined ? head : '') + lines.join(''), widths };
}

function widthsOf(
  cells: readonly (readonly string[])[],
  columns: readonly { readonly title: string }[],
): readonly number[] {
  return columns.map(({ title }, index) =>
    cells.reduce((most, texts) => Math.max(most, texts[index]?.length ?? 0), title.length),
  );
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

/** Of thousands of texts, most are. */
const PLAIN = /^(?:[!-~]+(?: [!-~]+)*)?$/;

/** What came from a server, on one line and without what a terminal would take for commands. */
export function harmless(text: string): string {
  if (PLAIN.test(text)) return text;
  return stripVTControlCharacters(text)
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Only the server's words of what an ApiError says: what was asked is of no interest to who reads them. */
export function serversWords(message: string): string {
  return message.replace(/^(?:GET|POST|PATCH|PUT|DELETE|WATCH) \S+: (?:\d{3} )?/, '');
}
