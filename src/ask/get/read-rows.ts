import { readOpenRuns } from '../../temporal/open-runs.ts';
import type { Ask, Question } from '../ask.ts';
import { controllersOf } from '../controllers.ts';
import { assumingDefaults, whyNoOperator } from '../operator-words.ts';
import type { SharedOptions } from '../options.ts';
import { harmless } from '../output.ts';
import type { ResourceName } from '../resource-name.ts';
import { fetchNamespaces, fetchResources, resourcesIn, type Fetched } from './resources.ts';
import { rowsOf, type Row } from './rows.ts';

export interface ReadOptions extends SharedOptions {
  /** Of labels. */
  readonly selector?: string;
}

export interface ReadRows {
  readonly rows: readonly Row[];
  /** There is neither a resource nor an open run, whatever their state. */
  readonly isNothing: boolean;
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export async function readRows(
  ask: Ask,
  question: Question<ReadOptions>,
  named: ResourceName | undefined,
): Promise<ReadRows> {
  const { operator, runs, namespaces, lists } = await readServers(question, named);
  const { settings } = operator;
  const controllers = controllersOf(ask.program, settings);
  const around = { namespaces, nowMs: ask.now(), isNamed: named?.name !== undefined };
  const resources = lists.flatMap((list) => {
    const controller = controllers.find(({ name }) => name === list.controller);
    return controller === undefined ? [] : resourcesIn(list, controller, around);
  });
  const reconciliation = settings?.options.reconciliation;
  const isSelection = question.options.selector !== undefined;
  const rows = rowsOf({ resources, runs, controllers, reconciliation, nowMs: around.nowMs, isSelection });
  return {
    rows,
    isNothing: rows.length === 0,
    notes: settings === undefined ? [assumingDefaults(whyNoOperator(operator))] : [],
    problems: lists.flatMap((list) => problemsIn(list, named)),
  };
}

/** Asks Temporal and the cluster side by side. */
async function readServers({ session, options }: Question<ReadOptions>, named: ResourceName | undefined) {
  const { program, client } = session;
  const isNamespaced = named?.controller.primary.type.namespaced ?? true;
  const name = named?.name;
  // kubectl also ignores `-n` when it lists a kind without namespaces.
  const isEverywhere = options.allNamespaces === true || (!isNamespaced && name === undefined);
  const namespace = isEverywhere ? undefined : session.namespace;
  const kinds = named === undefined ? controllersOf(program) : [named.controller];
  const listing = Promise.all(
    kinds.map((each) => fetchResources(client, each, { namespace, name, selector: options.selector })),
  );
  const readRuns = async () => {
    const operator = await session.temporal();
    const { taskQueue, cluster } = operator;
    // The namespace of a Namespace is its own name.
    const place = { controller: named?.controller.name, namespace: isNamespaced ? namespace : name, name };
    return { operator, runs: await readOpenRuns(operator.runs, { taskQueue, cluster, ...place }) };
  };
  const [asked, namespaces, lists] = await Promise.all([
    readRuns(),
    fetchNamespaces(client, namespace, listing),
    listing,
  ]);
  return { ...asked, namespaces, lists };
}

/** A kind that the cluster lacks is only worth a line if the user named it. */
function problemsIn({ controller, error }: Fetched, named: ResourceName | undefined): string[] {
  if (error === undefined || (error.classification === 'api-missing' && named === undefined)) return [];
  return [`cannot list the resources of ${controller}: ${harmless(error.words)}`];
}
