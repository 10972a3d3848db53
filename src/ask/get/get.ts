import { InvalidArgumentError, Option, type Command } from 'commander';
import { typeNameOf } from '../../api/resource-type.ts';
import { answerWith, repeatedly, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { readObject } from '../cluster/objects.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { durationText, harmless, paintFor, structured, tableOf, type Column } from '../output.ts';
import { commandFor, namedResources, parseResource, titleOf, type NamedResource } from '../resource-name.ts';
import { colourOf, isWell, STATES, type ResourceState } from '../state.ts';
import type { OperatorProblem } from '../why/operator-problems.ts';
import { rowData, readRows, type ReadOptions, type ReadRows, type Row } from './rows.ts';

interface GetOptions extends ReadOptions {
  readonly state?: readonly ResourceState[];
  readonly notReady?: boolean;
  readonly watch?: boolean;
}

export function addGet(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'get', 'allNamespaces', 'selector', 'dataOrWide')
    .argument('[resource...]', 'KIND, KIND/NAME, or KIND NAME')
    .addOption(
      new Option('--state <state,...>', `only those in these states: ${STATES.join(', ')}`).argParser(
        statesNamed,
      ),
    )
    .option('--not-ready', 'only those that are not well')
    .option('-w, --watch', 'then print rows that change, until Ctrl-C');
  answerWith(command, ask, answerGet);
}

/** One or several, once or again. */
function statesNamed(text: string, before: readonly ResourceState[] = []): readonly ResourceState[] {
  return [...before, ...text.split(',').map(stateNamed)];
}

/** In any case, as people type it. */
function stateNamed(text: string): ResourceState {
  const typed = text.toLowerCase().replaceAll(/[-_ ]/g, '');
  const found = STATES.find((state) => state.toLowerCase() === typed);
  if (found === undefined) throw new InvalidArgumentError(`The states are ${STATES.join(', ')}.`);
  return found;
}

const READ_EVERY_MS = 2_000;

async function answerGet(ask: Ask, question: Question<GetOptions>): Promise<ExitStatus> {
  const { options, words } = question;
  const named = words.length === 0 ? undefined : parseResource(ask.program, words);
  const read = () => readRows(ask, question, named);
  const first = await read();
  for (const problem of first.problems) ask.stderr.write(`kubectl durable: ${problem}\n`);
  if (named?.name !== undefined && first.isNothing)
    return first.problems.length > 0
      ? 2
      : nothingNamed(
          ask,
          question,
          namedResources(named.controllers, named.name, question.session.namespace),
        );
  const printer = new RowPrinter(ask, options);
  const warn = warnerFor(ask);
  const print = ({ rows, problems, ofOperator }: ReadRows) => {
    warn(ofOperator);
    return printer.print(
      rows.filter((row) => isWanted(row, options)),
      problems.length === 0,
    );
  };
  await print(first);
  for (const note of first.notes) ask.stderr.write(`${note}\n`);
  if (options.watch === true)
    for await (const next of repeatedly(ask, READ_EVERY_MS, read)) await print(next);
  if (first.problems.length > 0) return 2;
  const isAllWell = first.rows.every((row) => isWell(row) || !isWanted(row, options));
  return isAllWell && first.ofOperator.length === 0 ? 0 : 1;
}

/** Says once that the table is not the whole truth. */
function warnerFor({ stderr }: Ask): (ofOperator: readonly OperatorProblem[]) => void {
  let said = '';
  return (ofOperator) => {
    const lines = ofOperator.map(({ message }) => `kubectl durable: ${message}: no change is taken up\n`);
    if (lines.join('') !== said) stderr.write(lines.join(''));
    said = lines.join('');
  };
}

function isWanted(row: Pick<Row, 'state'>, { state: states, notReady: isNotReady }: GetOptions): boolean {
  const isOfState = states === undefined || states.some((state) => state === row.state);
  return isOfState && !(isNotReady === true && isWell(row));
}

/** Says that there is no such object, as kubectl does, or that its controller ignores it, such as a finished Pod. */
async function nothingNamed(
  ask: Ask,
  { session, options }: Question<GetOptions>,
  resources: readonly NamedResource[],
): Promise<ExitStatus> {
  const [{ object }] = resources as readonly [NamedResource];
  const { type, name } = object;
  const isEverywhere = options.allNamespaces === true && type.namespaced;
  if (!isEverywhere && (await readObject(session.client, object, { metadataOnly: true })) !== undefined) {
    const reason = commandFor('why', object);
    const names = resources.map(({ controller }) => controller.name).join(' and ');
    ask.stderr.write(
      `${names} ${resources.length === 1 ? 'ignores' : 'ignore'} ${titleOf(object)}; for the reason: ${reason}\n`,
    );
    return 0;
  }
  const inNamespace = type.namespaced ? ` in namespace ${session.namespace}` : '';
  const place = isEverywhere ? ' in any namespace' : inNamespace;
  ask.stderr.write(`kubectl durable: ${typeNameOf(type)} "${name}" not found${place} (NotFound)\n`);
  return 1;
}

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
    else this.#ask.stdout.write(await structured(rows.map(rowData), output));
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
    for (const row of rows) this.#ask.stdout.write(begin + (await structured(rowData(row), output)));
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
