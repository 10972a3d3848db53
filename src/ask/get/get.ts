import { InvalidArgumentError, Option, type Command } from 'commander';
import { typeNameOf } from '../../contract/controller.ts';
import { answerWith, repeatedly, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { readObject } from '../cluster/objects.ts';
import { addCommand } from '../options.ts';
import { commandFor, namedResource, parseResource, titleOf, type NamedResource } from '../resource-name.ts';
import { isWell, STATES, type State } from '../state.ts';
import { readRows, type ReadOptions, type ReadRows } from './read-rows.ts';
import { RowPrinter } from './row-printer.ts';
import type { Row } from './rows.ts';

interface GetOptions extends ReadOptions {
  readonly state?: readonly State[];
  readonly notReady?: boolean;
  readonly watch?: boolean;
}

export function addGet(program: Command, ask: Ask): void {
  const command = addCommand(program, ask, 'get', 'allNamespaces', 'dataOrWide')
    .argument('[resource...]', 'KIND, KIND/NAME, or KIND NAME')
    .addOption(
      new Option('--state <state,...>', `only those in these states: ${STATES.join(', ')}`).argParser(
        statesNamed,
      ),
    )
    .option('--not-ready', 'only those that are not well')
    .option('-l, --selector <labels>', 'only those with these labels, as in kubectl')
    .option('-w, --watch', 'then print rows that change, until Ctrl-C');
  answerWith(command, ask, answerGet);
}

/** One or several, once or again. */
function statesNamed(text: string, before: readonly State[] = []): readonly State[] {
  return [...before, ...text.split(',').map(stateNamed)];
}

/** In any case, as people type it. */
function stateNamed(text: string): State {
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
      : nothingNamed(ask, question, namedResource(named.controller, named.name, question.session.namespace));
  const printer = new RowPrinter(ask, options);
  const print = ({ rows, problems }: ReadRows) =>
    printer.print(
      rows.filter((row) => isWanted(row, options)),
      problems.length === 0,
    );
  await print(first);
  for (const note of first.notes) ask.stderr.write(`${note}\n`);
  if (options.watch === true)
    for await (const next of repeatedly(ask, READ_EVERY_MS, read)) await print(next);
  if (first.problems.length > 0) return 2;
  return first.rows.every((row) => isWell(row) || !isWanted(row, options)) ? 0 : 1;
}

function isWanted(row: Pick<Row, 'state'>, { state: states, notReady: isNotReady }: GetOptions): boolean {
  const isOfState = states === undefined || states.some((state) => state === row.state);
  return isOfState && !(isNotReady === true && isWell(row));
}

/** Says that there is no such object, as kubectl does, or that its controller ignores it, such as a finished Pod. */
async function nothingNamed(
  ask: Ask,
  { session, options }: Question<GetOptions>,
  { controller, object }: NamedResource,
): Promise<ExitStatus> {
  const { type, name } = object;
  const isEverywhere = options.allNamespaces === true && type.namespaced;
  if (!isEverywhere && (await readObject(session.client, object, { metadataOnly: true })) !== undefined) {
    const reason = commandFor('why', object);
    ask.stderr.write(`${controller.name} ignores ${titleOf(object)}; for the reason: ${reason}\n`);
    return 0;
  }
  const inNamespace = type.namespaced ? ` in namespace ${session.namespace}` : '';
  const place = isEverywhere ? ' in any namespace' : inNamespace;
  ask.stderr.write(`kubectl durable: ${typeNameOf(type)} "${name}" not found${place} (NotFound)\n`);
  return 1;
}
