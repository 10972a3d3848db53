import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { answerWith, type Ask, type ExitStatus, type Question } from '../ask.ts';
import { addCommand } from '../commands.ts';
import {
  withAllNamespaces,
  withConnectionOptions,
  withOutput,
  type ConnectionOptions,
  type OutputFormat,
} from '../connection/options.ts';
import { readObject } from '../cluster/objects.ts';
import { controllersOf } from '../controllers.ts';
import { assumingDefaults, whyNoOperator } from '../operator-words.ts';
import { Hiccups } from '../hiccups.ts';
import { harmless, serversWords } from '../output.ts';
import {
  commandFor,
  parseResource,
  titleOf,
  typeNameOf,
  type NamedResource,
  type ResourceName,
} from '../resource-name.ts';
import type { OpenRunsOf } from '../runs/open-runs.ts';
import { STATES, type State } from '../state.ts';
import {
  fetchPausedNamespaces,
  fetchResources,
  resourcesIn,
  type Scope,
  type Unlisted,
} from './resources.ts';
import { printerFor } from './row-printer.ts';
import { rowsOf, type Row } from './rows.ts';

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
  answerWith(withOutput(withAllNamespaces(withConnectionOptions(command))), ask, answerGet);
}

/** In any case, as people type it. */
function stateNamed(text: string): State {
  const typed = text.toLowerCase().replaceAll(/[-_ ]/g, '');
  const found = STATES.find((state) => state.toLowerCase() === typed);
  if (found === undefined) throw new InvalidArgumentError(`The states are ${STATES.join(', ')}.`);
  return found;
}

async function answerGet(ask: Ask, question: Question<GetOptions>): Promise<ExitStatus> {
  const { options, words } = question;
  const named = words.length === 0 ? undefined : parseResource(words);
  const first = await look(ask, question, named);
  for (const problem of first.problems) ask.stderr.write(`kubectl durable: ${problem}\n`);
  if (named?.name !== undefined && first.isNothing)
    return first.problems.length > 0 ? 2 : nothingNamed(ask, question, { ...named, name: named.name });
  const print = printerFor(ask, options);
  await print(first.rows, isComplete(first));
  for (const note of first.notes) ask.stderr.write(`${note}\n`);
  const hiccups = new Hiccups(ask);
  while (options.watch === true && (await isTimeForNextLook(ask.signal))) {
    const next = await hiccups.outlive(() => look(ask, question, named));
    if (next !== undefined) await print(next.rows, isComplete(next));
  }
  return exitOf(first);
}

/** Else a row may be missing although its resource is there. */
function isComplete({ problems }: Looked): boolean {
  return problems.length === 0;
}

const LOOK_EVERY_MS = 2_000;

/** @returns false once nobody wants to see more */
function isTimeForNextLook(signal: AbortSignal): Promise<boolean> {
  return delay(LOOK_EVERY_MS, true, { signal }).catch(() => false);
}

function exitOf({ rows, problems }: Looked): ExitStatus {
  if (problems.length > 0) return 2;
  return rows.every(({ state }) => state === 'UpToDate' || state === 'Ignored') ? 0 : 1;
}

/** There is no such object, as kubectl says it; or it is one that its controller does not look at, such as a finished Pod. */
async function nothingNamed(
  ask: Ask,
  { session, options }: Question<GetOptions>,
  { controller, name }: NamedResource,
): Promise<ExitStatus> {
  const { type } = controller.primary;
  const named = { type, namespace: session.namespace, name };
  const isEverywhere = options.allNamespaces === true && type.namespaced;
  if (!isEverywhere && (await readObject(session.client, named, { metadataOnly: true })) !== undefined) {
    ask.stderr.write(
      `${titleOf(named)} is none that ${controller.name} looks at; ask: ${commandFor('why', named)}\n`,
    );
    return 0;
  }
  const place = isEverywhere
    ? ' in any namespace'
    : type.namespaced
      ? ` in namespace ${session.namespace}`
      : '';
  ask.stderr.write(`kubectl durable: ${typeNameOf(type)} "${name}" not found${place} (NotFound)\n`);
  return 1;
}

interface Looked {
  readonly rows: readonly Row[];
  /** There is neither a resource nor an open run, of any state. */
  readonly isNothing: boolean;
  /** What could not be read, a line each. */
  readonly problems: readonly string[];
  /** What was assumed, a line each. */
  readonly notes: readonly string[];
}

async function look(
  ask: Ask,
  { session, options }: Question<GetOptions>,
  named: ResourceName | undefined,
): Promise<Looked> {
  const scope = {
    namespace: options.allNamespaces === true || isOfAllNamespaces(named) ? undefined : session.namespace,
    name: named?.name,
  };
  const kinds = named === undefined ? controllersOf() : [named.controller];
  const listing = Promise.all(kinds.map((each) => fetchResources(each, scope, session)));
  const [{ settings, operator, runs }, pausedNamespaces, lists] = await Promise.all([
    session.openRuns(runsIn(scope, named)),
    fetchPausedNamespaces(scope, session, listing),
    listing,
  ]);
  const controllers = controllersOf(settings);
  const nowMs = ask.now();
  // There is time for it while the thread reads the runs.
  const resources = lists.flatMap((list) => {
    const controller = controllers.find(({ name }) => name === list.controller);
    if ('error' in list || controller === undefined) return [];
    return resourcesIn(list, controller, { pausedNamespaces, nowMs, isNamed: scope.name !== undefined });
  });
  const rows = rowsOf({
    resources,
    runs: await runs,
    controllers,
    reconciliation: settings?.options.reconciliation,
    nowMs,
  });
  const { state: wanted } = options;
  return {
    rows: wanted === undefined ? rows : rows.filter(({ state }) => state === wanted),
    isNothing: rows.length === 0,
    notes: settings === undefined ? [assumingDefaults(whyNoOperator(operator))] : [],
    problems: lists.flatMap((list) => ('error' in list ? problemsIn(list, named) : [])),
  };
}

/** kubectl, too, lists all of a kind that is in no namespace, whatever `-n` says. */
function isOfAllNamespaces(named: ResourceName | undefined): boolean {
  return named?.name === undefined && named?.controller.primary.type.namespaced === false;
}

function runsIn({ namespace, name }: Scope, named: ResourceName | undefined): OpenRunsOf {
  // A Namespace is in itself.
  const isNamespace = named?.controller.primary.type.namespaced === false;
  return { controller: named?.controller.name, namespace: isNamespace ? name : namespace, name };
}

/** A kind that the cluster does not know is worth a word only to who asks for it. */
function problemsIn({ controller, error }: Unlisted, named: ResourceName | undefined): string[] {
  if (error.classification === 'api-missing' && named === undefined) return [];
  return [`cannot list the resources of ${controller}: ${harmless(serversWords(error.message))}`];
}
