import type { Ask } from '../ask.ts';
import type { SharedOptions } from '../options.ts';
import { durationText, harmless, paintFor, structured, tableOf, type Column } from '../output.ts';
import { colourOf } from '../state.ts';
import { dataOf, type Row } from './rows.ts';

interface PrinterOptions extends Pick<SharedOptions, 'output'> {
  readonly watch?: boolean;
}

/** Prints all rows first, and later those that have changed. */
export class RowPrinter {
  readonly #ask: Ask;
  readonly #options: PrinterOptions;
  #known = new Map<string, Row>();
  #widths: readonly number[] | undefined;

  constructor(ask: Ask, options: PrinterOptions) {
    this.#ask = ask;
    this.#options = options;
  }

  /** @param isComplete false: a missing row may not have been read */
  async print(rows: readonly Row[], isComplete: boolean): Promise<void> {
    const { output, watch } = this.#options;
    const changed = this.#changed(rows, isComplete);
    if (output === undefined || output === 'wide')
      this.#printTable(changed.flatMap((row) => [row, ...childRowsOf(row)]));
    else if (watch === true) await this.#printDocuments(changed, output);
    else this.#ask.stdout.write(await structured(rows.map(dataOf), output));
  }

  /** New rows, changed rows, and a last version of rows that are gone. */
  #changed(rows: readonly Row[], isComplete: boolean): readonly Row[] {
    const now = new Map(rows.map((row) => [row.key, row]));
    const changed = rows.filter((row) => progressOf(this.#known.get(row.key)) !== progressOf(row));
    const missing = [...this.#known.values()].filter(({ key }) => !now.has(key));
    this.#known = isComplete ? now : new Map([...this.#known, ...now]);
    return isComplete ? [...changed, ...missing.map(lastOf)] : changed;
  }

  #printTable(rows: readonly Row[]): void {
    const columns = columnsFor(this.#options.output === 'wide', this.#ask);
    const isFirst = this.#widths === undefined;
    const { text, widths } = tableOf(rows, columns, { paint: paintFor(this.#ask), earlier: this.#widths });
    this.#widths = widths;
    if (rows.length === 0 && isFirst) this.#ask.stderr.write('No resources found\n');
    else this.#ask.stdout.write(text);
  }

  async #printDocuments(rows: readonly Row[], output: 'json' | 'yaml'): Promise<void> {
    const begin = output === 'yaml' ? '---\n' : '';
    for (const row of rows) this.#ask.stdout.write(begin + (await structured(dataOf(row), output)));
  }
}

function progressOf(row: Row | undefined): string | undefined {
  return row && `${row.state} ${row.attempt ?? ''}`;
}

/** What is wrong with its children, in lines of their own. */
function childRowsOf({ key, notWell = [] }: Row): readonly Row[] {
  return notWell.map((message) => ({
    ...{ key, namespace: '', resource: '', controller: '', state: undefined },
    message: harmless(message),
  }));
}

/** With `--state`, it may only have another state. */
function lastOf({ key, namespace, resource, controller }: Row): Row {
  return { key, namespace, resource, controller, state: undefined, message: 'no longer listed' };
}

const MESSAGE_MAX = 80;

function columnsFor(isWide: boolean, { now }: Ask): readonly Column<Row>[] {
  const age = (ms: number | undefined) => (ms === undefined ? '' : durationText(Math.abs(now() - ms)));
  const message = ({ message: text }: Row) =>
    isWide || text.length <= MESSAGE_MAX ? text : `${text.slice(0, MESSAGE_MAX - 1)}…`;
  return [
    { title: 'NAMESPACE', text: ({ namespace }) => namespace },
    { title: 'RESOURCE', text: ({ resource }) => resource },
    { title: 'CONTROLLER', text: ({ controller }) => controller },
    { title: 'STATE', text: ({ state = '' }) => state, format: colourOf },
    { title: 'STEP', text: ({ step = '' }) => step },
    { title: 'ATTEMPT', text: ({ attempt }) => (attempt === undefined ? '' : String(attempt)) },
    { title: 'NEXT', text: ({ nextTryAtMs }) => age(nextTryAtMs) },
    { title: 'SINCE', text: ({ sinceMs }) => age(sinceMs) },
    ...(isWide ? [{ title: 'WORKFLOW', text: ({ workflowId = '' }: Row) => workflowId }] : []),
    { title: 'MESSAGE', text: message },
  ];
}
