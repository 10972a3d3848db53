import { InvalidArgumentError, Option, type Command } from 'commander';
import { readOpenRuns } from '../../temporal/open-runs.ts';
import { answerWith, repeatedly, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { readObject } from '../cluster/objects.ts';
import { controllersOf } from '../controllers.ts';
import { assumingDefaults, whyNoOperator } from '../operator-words.ts';
import { addCommand, type SharedOptions } from '../options.ts';
import { harmless } from '../output.ts';
import {
  commandFor,
  namedResource,
  parseResource,
  titleOf,
  typeNameOf,
  type NamedResource,
  type ResourceName,
} from '../resource-name.ts';
import { STATES, type State } from '../state.ts';
import { fetchPausedNamespaces, fetchResources, resourcesIn, type Fetched } from './resources.ts';
import { RowPrinter } from './row-printer.ts';
import { rowsOf, type Row } from './rows.ts';

interface GetOptions extends SharedOptions {
  readonly state?: State;
  readonly watch?: boolean;
}

export function addGet(program: Command, ask: Ask): void {
  const command = addCommand(program, 'get', 'allNamespaces', 'dataOrWide')
    .argument('[resource...]', 'KIND, KIND/NAME, or KIND NAME')
    .addOption(new Option('--state <state>', `only those: ${STATES.join(', ')}`).argParser(stateNamed))
    .option('-w, --watch', 'then print rows that change, until Ctrl-C');
  answerWith(command, ask, answerGet);
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
  const named = words.length === 0 ? undefined : parseResource(words);
  const read = () => readRows(ask, question, named);
  const first = await read();
  for (const problem of first.problems) ask.stderr.write(`kubectl durable: ${problem}\n`);
  if (named?.name !== undefined && first.isNothing)
    return first.problems.length > 0
      ? 2
      : nothingNamed(ask, question, namedResource(named.controller, named.name, question.session.namespace));
  const printer = new RowPrinter(ask, options);
  const print = ({ rows, problems }: ReadRows) => printer.print(rows, problems.length === 0);
  await print(first);
  for (const note of first.notes) ask.stderr.write(`${note}\n`);
  if (options.watch === true)
    for await (const next of repeatedly(ask, READ_EVERY_MS, read)) await print(next);
  if (first.problems.length > 0) return 2;
  return first.rows.every(({ state }) => state === 'UpToDate' || state === 'Ignored') ? 0 : 1;
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

interface ReadRows {
  readonly rows: readonly Row[];
  /** There is neither a resource nor an open run, whatever their state. */
  readonly isNothing: boolean;
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

async function readRows(
  ask: Ask,
  question: Question<GetOptions>,
  named: ResourceName | undefined,
): Promise<ReadRows> {
  const { operator, runs, pausedNamespaces, lists } = await readServers(question, named);
  const { settings } = operator;
  const controllers = controllersOf(settings);
  const around = { pausedNamespaces, nowMs: ask.now(), isNamed: named?.name !== undefined };
  const resources = lists.flatMap((list) => {
    const controller = controllers.find(({ name }) => name === list.controller);
    return controller === undefined ? [] : resourcesIn(list, controller, around);
  });
  const reconciliation = settings?.options.reconciliation;
  const rows = rowsOf({ resources, runs, controllers, reconciliation, nowMs: around.nowMs });
  const wanted = question.options.state;
  return {
    rows: wanted === undefined ? rows : rows.filter(({ state }) => state === wanted),
    isNothing: rows.length === 0,
    notes: settings === undefined ? [assumingDefaults(whyNoOperator(operator))] : [],
    problems: lists.flatMap((list) => problemsIn(list, named)),
  };
}

/** Asks Temporal and the cluster side by side. */
async function readServers({ session, options }: Question<GetOptions>, named: ResourceName | undefined) {
  const { client } = session;
  const isNamespaced = named?.controller.primary.type.namespaced ?? true;
  const name = named?.name;
  // kubectl also ignores `-n` when it lists a kind without namespaces.
  const isEverywhere = options.allNamespaces === true || (!isNamespaced && name === undefined);
  const namespace = isEverywhere ? undefined : session.namespace;
  const kinds = named === undefined ? controllersOf() : [named.controller];
  const listing = Promise.all(kinds.map((each) => fetchResources(client, each, { namespace, name })));
  const readRuns = async () => {
    const operator = await session.temporal();
    const { taskQueue, cluster } = operator;
    // The namespace of a Namespace is its own name.
    const place = { controller: named?.controller.name, namespace: isNamespaced ? namespace : name, name };
    return { operator, runs: await readOpenRuns(operator.runs, { taskQueue, cluster, ...place }) };
  };
  const [asked, pausedNamespaces, lists] = await Promise.all([
    readRuns(),
    fetchPausedNamespaces(client, namespace, listing),
    listing,
  ]);
  return { ...asked, pausedNamespaces, lists };
}

/** A kind that the cluster lacks is only worth a line if the user named it. */
function problemsIn({ controller, error }: Fetched, named: ResourceName | undefined): string[] {
  if (error === undefined || (error.classification === 'api-missing' && named === undefined)) return [];
  return [`cannot list the resources of ${controller}: ${harmless(error.words)}`];
}
