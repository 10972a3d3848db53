import { InvalidArgumentError, Option, type Command } from 'commander';
import { setTimeout as delay } from 'node:timers/promises';
import { inSession, type Ask, type ExitStatus } from './ask.ts';
import { addCommand } from './commands.ts';
import {
  withAllNamespaces,
  withConnectionOptions,
  withOutput,
  type ConnectionOptions,
  type OutputFormat,
} from './connection-options.ts';
import { colourOf } from './explanation.ts';
import { durationText, harmless, paintFor, structured, tableOf, widthsOf, type Column } from './output.ts';
import { parseResource, type ResourceName } from './resource-name.ts';
import {
  fetchPausedNamespaces,
  fetchResources,
  resourcesIn,
  type Scope,
  type Unlisted,
} from './resources.ts';
import { dataOf, rowsOf, type DescribedRun, type Row } from './rows.ts';
import { bounded, describeRun, endOfRun, openRuns, type ListedRun } from './runs.ts';
import { lastStepOf, serversWords } from './sentences.ts';
import { controllersOf, type Session, type TemporalAccess } from './session.ts';
import { markedState, STATES, type State } from './state.ts';

interface GetOptions extends ConnectionOptions {
  readonly output?: OutputFormat;
  readonly state?: State;
  readonly watch?: boolean;
}

export function addGet(program: Command, ask: Ask): void {
  const command = addCommand(program, 'get')
    .argument('[resource...]', 'KIND, KIND/NAME, or KIND NAME')
    .addOption(new Option('--state <state>', `only those: ${STATES.join(', ')}`).argParser(stateNamed))
    .option('-w, --watch', 'then print rows that change, until Ctrl-C');
  withOutput(withAllNamespaces(withConnectionOptions(command))).action(
    async (words: string[], options: GetOptions) => {
      const named = words.length === 0 ? undefined : parseResource(words, controllersOf(undefined));
      await inSession(ask, options, (session) => get({ ask, session, options, named }));
    },
  );
}

/** In any case, as people type it. */
function stateNamed(text: string): State {
  const typed = text.toLowerCase().replaceAll(/[-_ ]/g, '');
  const found = STATES.find((state) => state.toLowerCase() === typed);
  if (found === undefined) throw new InvalidArgumentError(`The states are ${STATES.join(', ')}.`);
  return found;
}

interface Getting {
  readonly ask: Ask;
  readonly session: Session;
  readonly options: GetOptions;
  readonly named: ResourceName | undefined;
}

async function get(getting: Getting): Promise<ExitStatus> {
  const { ask, options } = getting;
  const first = await look(getting);
  for (const problem of first.problems) ask.stderr.write(`kubectl durable: ${problem}\n`);
  const printer = printerFor(getting);
  await printer(first.rows);
  while (options.watch === true && (await pause(ask.signal))) await printer((await look(getting)).rows);
  return exitOf(first);
}

const WATCH_EVERY_MS = 2_000;

/** @returns false once nobody wants to see more */
function pause(signal: AbortSignal): Promise<boolean> {
  return delay(WATCH_EVERY_MS, true, { signal }).catch(() => false);
}

function exitOf({ rows, problems }: Looked): ExitStatus {
  if (problems.length > 0) return 2;
  return rows.every(({ state }) => state === 'UpToDate' || state === 'Ignored') ? 0 : 1;
}

interface Looked {
  readonly rows: readonly Row[];
  /** What could not be read, a line each. */
  readonly problems: readonly string[];
}

async function look({ ask, session, options, named }: Getting): Promise<Looked> {
  const scope = {
    namespace: options.allNamespaces === true ? undefined : session.namespace,
    name: named?.name,
  };
  const kinds = named === undefined ? controllersOf(undefined) : [named.controller];
  const listing = Promise.all(kinds.map((each) => fetchResources(each, scope, session)));
  // Loading Temporal's library takes the whole process: by the first answer, all requests are with the API server.
  const pausedNamespaces = await fetchPausedNamespaces(scope, session);
  const asking = session.temporal().then(async (access) => ({
    access,
    runs: await describedRuns(access, scope, named),
  }));
  const [{ access, runs }, lists] = await Promise.all([asking, listing]);
  const controllers = controllersOf(access.settings);
  const nowMs = ask.now();
  const rows = rowsOf({
    resources: lists.flatMap((list) => {
      const controller = controllers.find(({ name }) => name === list.controller);
      if ('error' in list || controller === undefined) return [];
      return resourcesIn(list, controller, { pausedNamespaces, nowMs });
    }),
    runs,
    controllers,
    reconciliation: access.settings?.options.reconciliation,
    nowMs,
  });
  const { state: wanted } = options;
  return {
    rows: wanted === undefined ? rows : rows.filter(({ state }) => state === wanted),
    problems: lists.flatMap((list) => ('error' in list ? problemsIn(list, named) : [])),
  };
}

/** Temporal's server answers so many questions about single runs side by side without a queue. */
const DESCRIBED_AT_ONCE = 50;

async function describedRuns(
  access: TemporalAccess,
  { namespace, name }: Scope,
  named: ResourceName | undefined,
): Promise<DescribedRun[]> {
  const isNamespaces = named?.controller.primary.type.namespaced === false;
  const of = { controller: named?.controller.name, namespace: isNamespaces ? name : namespace };
  const open = (await openRuns(access, of)).filter(({ ref }) => name === undefined || ref.name === name);
  const described = await bounded(open, DESCRIBED_AT_ONCE, (run) => describe(access, run));
  return described.filter((run) => run !== undefined);
}

/** @returns undefined where it has ended since it was listed */
async function describe(access: TemporalAccess, listed: ListedRun): Promise<DescribedRun | undefined> {
  // It rests, and the list says as what: there is no step to describe.
  if (markedState(listed.mark) !== undefined)
    return atRest(access, { ...listed, pending: [], task: undefined });
  const run = await describeRun(access, listed.ref, listed.runId);
  if (run?.isOpen !== true) return undefined;
  return run.pending.length > 0 || run.task !== undefined ? { run, because: '' } : atRest(access, run);
}

/** A run that rests says why in its history. */
async function atRest(access: TemporalAccess, run: DescribedRun['run']): Promise<DescribedRun | undefined> {
  const story = await endOfRun(access, run);
  if (story.end !== undefined) return undefined;
  const last = lastStepOf(story);
  return { run, because: last?.end.how === 'done' ? (last.end.next?.because ?? '') : '' };
}

/** A kind that the cluster does not know is worth a word only to who asks for it. */
function problemsIn({ controller, error }: Unlisted, named: ResourceName | undefined): string[] {
  if (error.classification === 'api-missing' && named === undefined) return [];
  return [`cannot list the resources of ${controller}: ${harmless(serversWords(error.message))}`];
}

/** Prints all rows first, and later those that have changed. */
function printerFor({ ask, options }: Getting): (rows: readonly Row[]) => Promise<void> {
  const { output } = options;
  if (output === 'json' || output === 'yaml') {
    return async (rows) => {
      ask.stdout.write(await structured(rows.map(dataOf), output));
    };
  }
  const columns = columnsFor(output === 'wide', ask);
  let known = new Map<string, string>();
  let widths: number[] | undefined;
  return (rows) => {
    const changed = rows.filter((row) => known.get(row.key) !== `${row.state} ${row.attempt ?? ''}`);
    known = new Map(rows.map((row) => [row.key, `${row.state} ${row.attempt ?? ''}`]));
    const titles = widths === undefined;
    widths ??= widthsOf(changed, columns);
    if (rows.length === 0 && titles) ask.stderr.write('No resources found\n');
    else ask.stdout.write(tableOf(changed, columns, { paint: paintFor(ask), widths, titles }));
    return Promise.resolve();
  };
}

const MESSAGE_MAX = 80;

function columnsFor(isWide: boolean, { now }: Ask): Column<Row>[] {
  const age = (ms: number | undefined) => (ms === undefined ? '' : durationText(Math.abs(now() - ms)));
  const message = ({ message: text }: Row) =>
    isWide || text.length <= MESSAGE_MAX ? text : `${text.slice(0, MESSAGE_MAX - 1)}…`;
  return [
    { title: 'NAMESPACE', text: ({ namespace }) => namespace },
    { title: 'RESOURCE', text: ({ resource }) => resource },
    { title: 'CONTROLLER', text: ({ controller }) => controller },
    { title: 'STATE', text: ({ state }) => state, paint: ({ state }) => colourOf(state) },
    { title: 'STEP', text: ({ step = '' }) => step },
    { title: 'ATTEMPT', text: ({ attempt }) => (attempt === undefined ? '' : String(attempt)) },
    { title: 'NEXT', text: ({ nextTryAtMs }) => age(nextTryAtMs) },
    { title: 'SINCE', text: ({ sinceMs }) => age(sinceMs) },
    ...(isWide ? [{ title: 'WORKFLOW', text: ({ workflowId = '' }: Row) => workflowId }] : []),
    { title: 'MESSAGE', text: message },
  ];
}
