import { clearScreenDown, moveCursor } from 'node:readline';

/** The progress of a sample. */
export interface SampleRow {
  /** `Pod default/my-nginx` */
  readonly resource: string;
  readonly controller: string;
  readonly state: 'waiting' | 'converged';
  /** The status and the result of its latest run. */
  readonly workflow: string;
  /** From when it was applied until it converged, or until now. */
  readonly elapsedMs: number;
}

export interface LiveTable {
  show(rows: readonly SampleRow[]): void;
}

/** Redrawn in place on a terminal; elsewhere, a line for every change. */
export function liveTable(output: NodeJS.WriteStream): LiveTable {
  return output.isTTY ? redrawnTable(output) : appendedLines(output);
}

function redrawnTable(output: NodeJS.WriteStream): LiveTable {
  let shown = 0;
  return {
    show(rows) {
      const { columns } = output;
      // A wrapped line would take two rows of the screen.
      const lines = tableLines(rows).map((line) => line.slice(0, columns || undefined));
      moveCursor(output, 0, -shown);
      clearScreenDown(output);
      output.write(`${lines.join('\n')}\n`);
      shown = lines.length;
    },
  };
}

/** A line for every change. */
export function appendedLines(output: { write(text: string): unknown }): LiveTable {
  const shown = new Map<string, string>();
  return {
    show(rows) {
      for (const row of rows) {
        const key = `${row.controller} ${row.resource}`;
        const change = `${row.state} ${row.workflow}`;
        if (shown.get(key) === change) continue;
        shown.set(key, change);
        const { resource, state, elapsedMs, workflow } = row;
        output.write(`${resource}: ${state} (${duration(elapsedMs)}); workflow ${workflow}\n`);
      }
    },
  };
}

const COLUMNS = {
  RESOURCE: ({ resource }) => resource,
  CONTROLLER: ({ controller }) => controller,
  STATE: ({ state }) => state,
  TIME: ({ elapsedMs }) => duration(elapsedMs),
  WORKFLOW: ({ workflow }) => workflow,
} satisfies Record<string, (row: SampleRow) => string>;
const TITLES = Object.keys(COLUMNS);

/** Like `kubectl get`: the titles, and a line a row. */
export function tableLines(rows: readonly SampleRow[]): string[] {
  const lines = [TITLES, ...rows.map((row) => Object.values(COLUMNS).map((cellOf) => cellOf(row)))];
  const widths = TITLES.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const aligned = (cell: string, column: number) => cell.padEnd(widths[column] ?? 0);
  return lines.map((cells) => cells.map(aligned).join('  ').trimEnd());
}

function duration(elapsedMs: number): string {
  return elapsedMs < 1000 ? `${Math.round(elapsedMs)} ms` : `${(elapsedMs / 1000).toFixed(1)} s`;
}
