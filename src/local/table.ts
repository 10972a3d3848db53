/** How far a sample is. */
export interface SampleRow {
  /** `Pod default/my-nginx` */
  readonly resource: string;
  readonly controller: string;
  /** What the controller is to bring about. */
  readonly wanted: string;
  readonly state: 'waiting' | 'converged';
  /** The latest run of its workflow: its status, and what it did. */
  readonly workflow: string;
  /** Since it was applied; once it is converged, until then. */
  readonly elapsedMs: number;
}

interface Column {
  readonly title: string;
  readonly of: (row: SampleRow) => string;
}

const WHO: readonly Column[] = [
  { title: 'RESOURCE', of: ({ resource }) => resource },
  { title: 'CONTROLLER', of: ({ controller }) => controller },
];
const WANTED: Column = { title: 'WANTED', of: ({ wanted }) => wanted };
const HOW_FAR: readonly Column[] = [
  { title: 'STATE', of: ({ state }) => state },
  { title: 'TIME', of: ({ elapsedMs }) => duration(elapsedMs) },
];
const WORKFLOW: Column = { title: 'WORKFLOW', of: ({ workflow }) => workflow };

const GAP = '  ';

/** One line a row where that fits into so many characters; else the long texts are lines of their own. */
export function tableLines(rows: readonly SampleRow[], width: number): string[] {
  const wide = linesOf(rows, [...WHO, WANTED, ...HOW_FAR, WORKFLOW]);
  return wide.every((line) => line.length <= width) ? wide : narrowLines(rows);
}

function narrowLines(rows: readonly SampleRow[]): string[] {
  const [titles = '', ...lines] = linesOf(rows, [...WHO, ...HOW_FAR]);
  const details = ({ wanted, workflow }: SampleRow) => [`  wanted    ${wanted}`, `  workflow  ${workflow}`];
  return [titles, ...rows.flatMap((row, index) => [lines[index] ?? '', ...details(row)])];
}

/** In the manner of `kubectl get`: the titles, and a line a row. */
function linesOf(rows: readonly SampleRow[], columns: readonly Column[]): string[] {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ of }) => of(row)))];
  const widths = columns.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/** What is told of a row that changed, where lines cannot be redrawn. */
export function changeLine({ resource, state, elapsedMs, workflow }: SampleRow): string {
  return `${resource}: ${state} (${duration(elapsedMs)}); workflow ${workflow}`;
}

function duration(elapsedMs: number): string {
  return elapsedMs < 1000 ? `${Math.round(elapsedMs)} ms` : `${(elapsedMs / 1000).toFixed(1)} s`;
}
