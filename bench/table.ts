export type Cell = string | number | undefined;

/** A GitHub table with aligned columns: text to the left, numbers to the right, an empty cell where nothing was measured. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) => row.map(textOf));
  const columns = head.map((title, i) => ({
    title,
    width: Math.max(3, title.length, ...texts.map((row) => row[i]?.length ?? 0)),
    isNumeric: rows.every((row) => typeof row[i] !== 'string'),
  }));
  const line = (cells: readonly string[]) =>
    `| ${columns.map(({ width, isNumeric }, i) => pad(cells[i] ?? '', width, isNumeric)).join(' | ')} |`;
  const rule = columns.map(({ width, isNumeric }) =>
    isNumeric ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width),
  );
  return [line(head), line(rule), ...texts.map(line)].join('\n');
}

/** One decimal below 100, none above. */
export function rounded(value: number): number {
  return Math.abs(value) < 100 ? Math.round(value * 10) / 10 : Math.round(value);
}

function textOf(cell: Cell): string {
  if (cell === undefined || Number.isNaN(cell)) return '';
  return typeof cell === 'number' ? String(rounded(cell)) : cell;
}

function pad(text: string, width: number, isNumeric: boolean): string {
  return isNumeric ? text.padStart(width) : text.padEnd(width);
}
