import type { Options } from '../../config/config.ts';
import type { Controller } from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { workflowIdFor, type ResourceRef } from '../../contract/resource.ts';
import { leftOutBy } from '../controllers.ts';
import { harmless, serversWords } from '../output.ts';
import { nameOfKind } from '../resource-name.ts';
import type { ListedResource } from './resources.ts';
import type { OpenRun } from '../runs/open-runs.ts';
import { pendingStepOf } from '../runs/runs.ts';
import { stateOfRun, type State } from '../state.ts';

/** How one resource does, in a line. */
export interface Row {
  /** The same row is found again by it. */
  readonly key: string;
  /** Empty of a resource without one. */
  readonly namespace: string;
  /** `podset/web` */
  readonly resource: string;
  readonly controller: string;
  /** Undefined: it is no longer listed. */
  readonly state: State | undefined;
  readonly step?: string | undefined;
  readonly attempt?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly nextTryAtMs?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
  readonly message: string;
  /** Of the open run. */
  readonly workflowId?: string | undefined;
}

export interface RowsRequest {
  readonly resources: readonly ListedResource[];
  readonly runs: readonly OpenRun[];
  readonly controllers: readonly Controller[];
  /** Which the operator runs, and where; undefined: nobody knows. */
  readonly reconciliation: Pick<Options['reconciliation'], 'controllers' | 'namespaces'> | undefined;
  readonly nowMs: number;
}

/** A row for each resource, and for each open run whose resource is gone. */
export function rowsOf({ resources, runs, controllers, reconciliation, nowMs }: RowsRequest): Row[] {
  const open = new Map(runs.map((described) => [described.run.workflowId, described]));
  const rows = resources.map((resource) => {
    const id = workflowIdFor(refOf(resource));
    const described = open.get(id);
    open.delete(id);
    return described === undefined
      ? rowAtRest(resource, leftOut(resource, reconciliation))
      : rowOfRun(described, resource.controller, nowMs);
  });
  const orphans = [...open.values()].flatMap((described) => {
    const controller = controllers.find(({ name }) => name === described.run.ref.controller);
    if (controller === undefined) return [];
    const row = rowOfRun(described, controller, nowMs);
    return [{ ...row, message: row.message === '' ? 'the resource is gone' : row.message }];
  });
  return [...rows, ...orphans];
}

function refOf({ controller, object }: ListedResource): ResourceRef {
  const { namespace, name, uid } = object.metadata;
  return { controller: controller.name, namespace: namespace ?? name, name, uid };
}

/** Why the operator's options leave a resource out; undefined: they do not. */
function leftOut(
  resource: ListedResource,
  reconciliation: RowsRequest['reconciliation'],
): string | undefined {
  switch (reconciliation && leftOutBy(reconciliation, refOf(resource))) {
    case 'controller':
      return 'the operator runs without this controller';
    case 'namespace':
      return 'the operator does not watch this namespace';
    case undefined:
      return undefined;
  }
}

function rowAtRest({ controller, object, atRest }: ListedResource, ignored: string | undefined): Row {
  const { state, message, since } = atRest;
  const known = { ...placeOf(object, controller), controller: controller.name };
  if (ignored !== undefined) return { ...known, state: 'Ignored', message: ignored };
  return {
    ...known,
    state,
    message: harmless(message),
    ...(since !== undefined && { sinceMs: Date.parse(since) }),
  };
}

function placeOf({ metadata }: KubernetesObject, controller: Controller) {
  const { namespace = '', name, uid } = metadata;
  return { key: `${controller.name} ${uid}`, namespace, resource: `${nameOfKind(controller)}/${name}` };
}

function rowOfRun({ run, because }: OpenRun, controller: Controller, nowMs: number): Row {
  const { ref, workflowId, startedAtMs } = run;
  const pending = pendingStepOf(run);
  const next = pending?.nextTryAtMs;
  return {
    key: `${controller.name} ${ref.uid}`,
    namespace: controller.primary.type.namespaced ? ref.namespace : '',
    resource: `${nameOfKind(controller)}/${ref.name}`,
    controller: controller.name,
    state: stateOfRun(run),
    step: pending && harmless(pending.step),
    attempt: pending?.attempt,
    nextTryAtMs: next !== undefined && next > nowMs ? next : undefined,
    sinceMs: startedAtMs,
    message: harmless(serversWords(because || (pending?.failure?.message ?? ''))),
    workflowId,
  };
}

/** For programs: times in RFC 3339, nothing that is only for the table. */
export function dataOf(row: Row): object {
  const { namespace, resource, controller, state, step, attempt, message, workflowId } = row;
  const time = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  const nextTry = time(row.nextTryAtMs);
  const since = time(row.sinceMs);
  return {
    namespace,
    resource,
    controller,
    state: state ?? null,
    step,
    attempt,
    nextTry,
    since,
    message,
    workflowId,
  };
}
