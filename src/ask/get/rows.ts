import type { Cause } from '../../api/cause.ts';
import { namespaceOf } from '../../api/resource-type.ts';
import { type Controller } from '../../engine/controller.ts';
import { workflowIdFor, type ResourceRef } from '../../api/resource-ref.ts';
import { readOpenRuns, type OpenRunReport } from '../../temporal/open-runs.ts';
import { pendingStepOf } from '../../temporal/run-reader.ts';
import type { Ask, Question } from '../ask.ts';
import { configuredControllers } from '../controllers.ts';
import { assumingDefaults, whyLeftOut, whyNoOperator, type Reconciliation } from '../operator-words.ts';
import type { SharedOptions } from '../options.ts';
import { harmless } from '../output.ts';
import { nameOfKind, type ResourceName } from '../resource-name.ts';
import { stateOfRun, type ResourceState } from '../state.ts';
import { leftProblems, operatorProblems, type OperatorProblem } from '../why/operator-problems.ts';
import {
  fetchNamespaces,
  fetchResources,
  resourcesIn,
  type Fetched,
  type ListedResource,
} from './resources.ts';

export interface ReadOptions extends SharedOptions {
  /** Of labels. */
  readonly selector?: string;
}

export interface ReadRows {
  readonly rows: readonly Row[];
  /** There is neither a resource nor an open run, whatever their state. */
  readonly isNothing: boolean;
  readonly problems: readonly string[];
  readonly ofOperator: readonly OperatorProblem[];
  readonly notes: readonly string[];
}

export async function readRows(
  ask: Ask,
  question: Question<ReadOptions>,
  named: ResourceName | undefined,
): Promise<ReadRows> {
  const { operator, runs, ofOperator, namespaces, lists } = await readServers(ask, question, named);
  const { settings } = operator;
  const controllers = configuredControllers(ask.program, settings);
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
    ofOperator,
    notes: settings === undefined ? [assumingDefaults(whyNoOperator(operator))] : [],
    problems: lists.flatMap((list) => problemsIn(list, named)),
  };
}

/** Asks Temporal and the cluster side by side. */
async function readServers(
  { now }: Ask,
  { session, options }: Question<ReadOptions>,
  named: ResourceName | undefined,
) {
  const { program, client } = session;
  const isNamespaced = named?.type.namespaced ?? true;
  const name = named?.name;
  // kubectl also ignores `-n` when it lists a kind without namespaces.
  const isEverywhere = options.allNamespaces === true || (!isNamespaced && name === undefined);
  const namespace = isEverywhere ? undefined : session.namespace;
  const kinds = named?.controllers ?? configuredControllers(program);
  const scope = { namespace, name, selector: options.selector };
  const readRuns = async () => {
    const operator = await session.temporal();
    const { taskQueue, cluster } = operator;
    // The namespace of a Namespace is its own name.
    const place = { namespace: isNamespaced ? namespace : name, name };
    const readRunsOf = (controller: string | undefined) =>
      readOpenRuns(operator.runs, { taskQueue, cluster, controller, ...place });
    const [ofOperator, ...runs] = await Promise.all([
      Promise.all([
        operatorProblems(session, operator, now),
        isEverywhere ? leftProblems(operator, configuredControllers(program, operator.settings), now) : [],
      ]),
      ...(named?.controllers ?? [undefined]).map((each) => readRunsOf(each?.name)),
    ]);
    return { operator, runs: runs.flat(), ofOperator: ofOperator.flat() };
  };
  const [asked, namespaces, lists] = await Promise.all([
    readRuns(),
    fetchNamespaces(client, namespace),
    Promise.all(kinds.map((each) => fetchResources(client, each, scope))),
  ]);
  return { ...asked, namespaces, lists };
}

/** A kind that the cluster lacks is only worth a line if the user named it. */
function problemsIn({ controller, error }: Fetched, named: ResourceName | undefined): string[] {
  if (error === undefined || (error.classification === 'api-missing' && named === undefined)) return [];
  return [`cannot list the resources of ${controller}: ${harmless(error.words)}`];
}

export interface Row {
  /** Identifies the resource from one read to the next. */
  readonly key: string;
  /** Empty if the kind has no namespaces. */
  readonly namespace: string;
  readonly resource: string;
  readonly controller: string;
  /** Undefined: it is no longer listed. */
  readonly state: ResourceState | undefined;
  readonly step?: string | undefined;
  readonly attempt?: number | undefined;
  readonly nextTryAtMs?: number | undefined;
  readonly sinceMs?: number | undefined;
  readonly message: string;
  /** What is wrong, if anything. */
  readonly cause?: Cause | undefined;
  readonly isBeingDeleted?: boolean;
  /** Children that are not well. */
  readonly notWell?: readonly string[];
  readonly workflowId?: string | undefined;
}

export interface RowsRequest {
  readonly resources: readonly ListedResource[];
  readonly runs: readonly OpenRunReport[];
  readonly controllers: readonly Controller[];
  /** Undefined: the options of the operator are unknown. */
  readonly reconciliation: Reconciliation | undefined;
  readonly nowMs: number;
  /** Runs of other resources are not shown. */
  readonly isSelection?: boolean;
}

/** One row for each resource, and for each open run whose resource is gone. */
export function rowsOf(request: RowsRequest): Row[] {
  const { resources, runs, controllers, reconciliation, nowMs, isSelection = false } = request;
  const open = new Map(runs.map((each) => [each.run.workflowId, each]));
  const rows = resources.map((resource) => {
    const ref = refOf(resource);
    const id = workflowIdFor(ref);
    const run = open.get(id);
    open.delete(id);
    const isBeingDeleted = resource.object.metadata.deletionTimestamp !== undefined;
    const namespace = namespaceOf(ref, resource.controller.primary.type);
    const leftOut = reconciliation && whyLeftOut(reconciliation, { ...ref, namespace })?.message;
    const row = run ? rowOfRun(run, resource.controller, nowMs) : rowAtRest(resource, leftOut);
    return { ...row, isBeingDeleted, notWell: resource.notWell };
  });
  if (isSelection) return rows;
  const orphans = [...open.values()].flatMap((run) => {
    const controller = controllers.find(({ name }) => name === run.run.ref.controller);
    if (controller === undefined) return [];
    const row = rowOfRun(run, controller, nowMs);
    return [{ ...row, message: row.message === '' ? 'the resource is gone' : row.message }];
  });
  return [...rows, ...orphans];
}

function refOf({ controller, object }: ListedResource): ResourceRef {
  const { namespace, name, uid } = object.metadata;
  return { controller: controller.name, namespace: namespace ?? name, name, uid };
}

function rowAtRest(resource: ListedResource, leftOut: string | undefined): Row {
  const { controller, atRest } = resource;
  const known = nameIn(refOf(resource), controller);
  if (leftOut !== undefined) return { ...known, state: 'Ignored', message: leftOut };
  const { state, message, since, cause } = atRest;
  const sinceMs = since === undefined ? undefined : Date.parse(since);
  return { ...known, state, message: harmless(message), cause, sinceMs };
}

function nameIn({ namespace, name, uid }: ResourceRef, controller: Controller) {
  return {
    key: `${controller.name} ${uid}`,
    namespace: controller.primary.type.namespaced ? namespace : '',
    resource: `${nameOfKind(controller.primary.type)}/${name}`,
    controller: controller.name,
  };
}

function rowOfRun({ run, because, cause }: OpenRunReport, controller: Controller, nowMs: number): Row {
  const pending = pendingStepOf(run);
  const next = pending?.nextTryAtMs;
  return {
    ...nameIn(run.ref, controller),
    state: stateOfRun(run),
    step: pending && harmless(pending.step),
    attempt: pending?.attempt,
    nextTryAtMs: next !== undefined && next > nowMs ? next : undefined,
    sinceMs: run.startedAtMs,
    message: harmless(because),
    cause,
    workflowId: run.workflowId,
  };
}

/** For programs: times in RFC 3339, and nothing that is only for the table. */
export function rowData(row: Row): object {
  const { namespace, resource, controller, state = null, cause, step, attempt, message, workflowId } = row;
  const time = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  const times = { nextTry: time(row.nextTryAtMs), since: time(row.sinceMs) };
  const what = { namespace, resource, controller, state, reason: cause?.reason, step, attempt };
  const { notWell = [] } = row;
  return { ...what, ...times, message, ...(notWell.length > 0 && { notWell }), workflowId };
}
