import { createLogUpdate } from 'log-update';
import type { ProgressOutput } from './build-progress.ts';
import { changeLine, tableLines, type SampleRow } from './table.ts';

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
