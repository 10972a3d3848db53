import type { Ask } from '../ask.ts';
import type { OutputFormat } from '../connection/options.ts';
import { structured } from '../output.ts';
import { ChangedRows } from './changed-rows.ts';
import { RowTable } from './row-table.ts';
import { dataOf, type Row } from './rows.ts';

interface PrinterOptions {
  readonly output?: OutputFormat;
  readonly watch?: boolean;
}

/** @param isComplete whether all were read that there are */
type Print = (rows: readonly Row[], isComplete: boolean) => Promise<void>;

/** Prints all rows first, and later those that have changed. */
export function printerFor(ask: Ask, { output, watch }: PrinterOptions): Print {
  const news = new ChangedRows();
  if (output === undefined || output === 'wide') {
    const table = new RowTable(ask, output === 'wide');
    return (rows, isComplete) => {
      table.print(news.in(rows, isComplete));
      return Promise.resolve();
    };
  }
  if (watch !== true) {
    return async (rows) => {
      ask.stdout.write(await structured(rows.map(dataOf), output));
    };
  }
  // As kubectl has it: a document each.
  const begin = output === 'yaml' ? '---\n' : '';
  return async (rows, isComplete) => {
    for (const row of news.in(rows, isComplete))
      ask.stdout.write(begin + (await structured(dataOf(row), output)));
  };
}
