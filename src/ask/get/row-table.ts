import type { Ask } from '../ask.ts';
import { durationText, paintFor, tableOf, type Column } from '../output.ts';
import { colourOf } from '../state.ts';
import type { Row } from './rows.ts';

/** Prints rows, and later more of them in the same columns. */
export class RowTable {
  readonly #ask: Ask;
  readonly #columns: readonly Column<Row>[];
  #widths: readonly number[] | undefined;

  constructor(ask: Ask, isWide: boolean) {
    this.#ask = ask;
    this.#columns = columnsFor(isWide, ask);
  }

  print(rows: readonly Row[]): void {
    const isFirst = this.#widths === undefined;
    const layout = { paint: paintFor(this.#ask), widths: this.#widths };
    const { text, widths } = tableOf(rows, this.#columns, layout);
    this.#widths = widths;
    if (rows.length === 0 && isFirst) this.#ask.stderr.write('No resources found\n');
    else this.#ask.stdout.write(text);
  }
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
    { title: 'STATE', text: ({ state = '' }) => state, paint: ({ state }) => colourOf(state) },
    { title: 'STEP', text: ({ step = '' }) => step },
    { title: 'ATTEMPT', text: ({ attempt }) => (attempt === undefined ? '' : String(attempt)) },
    { title: 'NEXT', text: ({ nextTryAtMs }) => age(nextTryAtMs) },
    { title: 'SINCE', text: ({ sinceMs }) => age(sinceMs) },
    ...(isWide ? [{ title: 'WORKFLOW', text: ({ workflowId = '' }: Row) => workflowId }] : []),
    { title: 'MESSAGE', text: message },
  ];
}
