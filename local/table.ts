import { createLogUpdate } from 'log-update';
import type { ProgressOutput } from './build-progress.ts';

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

export interface LiveTable {
  show(rows: readonly SampleRow[]): void;
  /** What was shown last stays. */
  end(): void;
}

/** Shows rows as they change: redrawn in place on a terminal; elsewhere a line for every change. */
export function liveTable(output: NodeJS.WriteStream): LiveTable {
  return output.isTTY ? redrawnTable(output) : appendedLines(output);
}

function redrawnTable(output: NodeJS.WriteStream): LiveTable {
  // The cursor stays visible: nothing needs to bring it back where the program is killed.
  const redraw = createLogUpdate(output, { showCursor: true });
  return {
    show: (rows) => redraw(tableLines(rows, output.columns).join('\n')),
    end: () => redraw.done(),
  };
}

/** A line for every change. */
export function appendedLines(output: ProgressOutput): LiveTable {
  const shown = new Map<string, string>();
  return {
    show(rows) {
      for (const row of rows) {
        const { resource, controller, state, workflow } = row;
        const news = `${state} ${workflow}`;
        const key = `${controller} ${resource}`;
        if (shown.get(key) === news) continue;
        shown.set(key, news);
        output.write(`${changeLine(row)}\n`);
      }
    },
    end: () => undefined,
  };
}

const COLUMNS = {
  RESOURCE: ({ resource }) => resource,
  CONTROLLER: ({ controller }) => controller,
  WANTED: ({ wanted }) => wanted,
  STATE: ({ state }) => state,
  TIME: ({ elapsedMs }) => duration(elapsedMs),
  WORKFLOW: ({ workflow }) => workflow,
} satisfies Record<string, (row: SampleRow) => string>;

type Title = keyof typeof COLUMNS;

/** One line a row where that fits into so many characters; else the long texts are lines of their own. */
export function tableLines(rows: readonly SampleRow[], width: number): string[] {
  const wide = linesOf(rows, ['RESOURCE', 'CONTROLLER', 'WANTED', 'STATE', 'TIME', 'WORKFLOW']);
  if (wide.every((line) => line.length <= width)) return wide;
  const [titles = '', ...narrow] = linesOf(rows, ['RESOURCE', 'CONTROLLER', 'STATE', 'TIME']);
  const details = ({ wanted, workflow }: SampleRow) => [`  wanted    ${wanted}`, `  workflow  ${workflow}`];
  return [titles, ...rows.flatMap((row, index) => [narrow[index] ?? '', ...details(row)])];
}

/** In the manner of `kubectl get`: the titles, and a line a row. */
function linesOf(rows: readonly SampleRow[], titles: readonly Title[]): string[] {
  const lines = [titles, ...rows.map((row) => titles.map((title) => COLUMNS[title](row)))];
  const widths = titles.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const aligned = (cell: string, column: number) => cell.padEnd(widths[column] ?? 0);
  return lines.map((cells) => cells.map(aligned).join('  ').trimEnd());
}

/** A row that changed, where lines cannot be redrawn. */
export function changeLine({ resource, state, elapsedMs, workflow }: SampleRow): string {
  return `${resource}: ${state} (${duration(elapsedMs)}); workflow ${workflow}`;
}

function duration(elapsedMs: number): string {
  return elapsedMs < 1000 ? `${Math.round(elapsedMs)} ms` : `${(elapsedMs / 1000).toFixed(1)} s`;
}
