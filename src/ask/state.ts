import { AWAITING_APPROVAL, PAUSED } from '../api/annotations.ts';
import type { Cause } from '../api/cause.ts';
import type { Controller } from '../engine/controller.ts';
import { causeOf, isRest, type NextInHistory } from '../runs/decision.ts';
import type { KubernetesObject } from '../api/object.ts';
import { controlOf, invalidAnnotation } from '../engine/holds/annotations.ts';
import { fieldsOf, listOf, textOf } from '../api/fields.ts';
import { isTaskFailing, type Run } from '../temporal/run-reader.ts';
import { heldByOthers } from './cluster/objects.ts';

const COLOURS = {
  UpToDate: 'green',
  Reconciling: 'cyan',
  Waiting: 'cyan',
  Retrying: 'yellow',
  Stalled: 'red',
  NotReady: 'red',
  Paused: 'yellow',
  AwaitingApproval: 'yellow',
  Ignored: 'dim',
} as const;

export type ResourceState = keyof typeof COLOURS;

export const STATES: readonly ResourceState[] = Object.keys(COLOURS).filter(isState);

function isState(name: string): name is ResourceState {
  return Object.hasOwn(COLOURS, name);
}

interface Seen {
  readonly state?: ResourceState | undefined;
  /** What is wrong, if anything. */
  readonly cause?: unknown;
}

/** Nobody has to act, and nothing is on its way. */
export function isWell({ state, cause }: Seen): boolean {
  return isAtRest(state) && cause === undefined;
}

/** The operator has nothing to do. A person may have. */
export function isAtRest(state: ResourceState | undefined): boolean {
  return state === 'UpToDate' || state === 'Ignored';
}

export function colourOf({ state, cause }: Seen): (typeof COLOURS)[ResourceState] {
  if (isAtRest(state) && cause !== undefined) return 'yellow';
  return state === undefined ? 'red' : COLOURS[state];
}

/** The state of a resource whose run is open. */
export function stateOfRun(
  run: Pick<Run, 'pause' | 'runState' | 'pending' | 'workflowTaskAttempt'>,
): ResourceState {
  const { pause, runState, pending, workflowTaskAttempt } = run;
  if (pause !== undefined) return 'Paused';
  if (isTaskFailing(run)) return 'Retrying';
  if (runState !== undefined) return runState;
  if (pending.some(({ failure }) => failure !== undefined)) return 'Retrying';
  return pending.length > 0 || workflowTaskAttempt !== undefined ? 'Reconciling' : 'Waiting';
}

/** The state of a resource without an open run, from its controller's decision. */
export function stateByDecision(next: NextInHistory): ResourceState {
  // No run works on it.
  if (!isRest(next)) return 'Waiting';
  switch (next.do) {
    case 'converged':
      return causeOf(next) === undefined ? 'UpToDate' : 'NotReady';
    case 'stalled':
      return 'Stalled';
    case 'held':
      return 'by' in next && next.by === 'approval' ? 'AwaitingApproval' : 'Paused';
    case 'wait':
      return 'Waiting';
  }
}

/** The message about a resource that needs a run and has none. */
export const NOT_STARTED = 'no run is open for it yet';

export interface StatusSays {
  readonly state: ResourceState;
  readonly message: string;
  readonly since: string | undefined;
  /** What is wrong, if anything. */
  readonly cause?: Cause | undefined;
}

type Finalizing = Pick<Controller, 'finalizer' | 'otherFinalizers'>;

/** The state of a resource without an open run, from its status, as kstatus reads it. */
export function stateByStatus(controller: Finalizing, object: KubernetesObject): StatusSays {
  const { status, metadata } = object;
  const conditions = conditionFieldsIn(status);
  const ready = conditions.find(({ type }) => type === 'Ready');
  const since = ready?.lastTransitionTime;
  if (metadata.deletionTimestamp !== undefined) return stateOfDeleted(controller, object);
  // A hold may be older than the spec.
  for (const state of [PAUSED, AWAITING_APPROVAL] as const) {
    const held = conditions.find(({ type, status: is }) => type === state && is === 'True');
    if (held !== undefined) return { state, message: held.message, since: held.lastTransitionTime };
  }
  if (fieldsOf(status)['observedGeneration'] !== metadata.generation) return notStarted(object);
  const isTrue = (name: string) => conditions.find(({ type, status: is }) => type === name && is === 'True');
  const stalled = isTrue('Stalled');
  if (stalled !== undefined) return { ...wrong('Stalled', stalled), since };
  if (ready?.status !== 'False') return { state: 'UpToDate', message: '', since };
  return isTrue('Reconciling') === undefined
    ? wrong('NotReady', ready)
    : { state: 'Reconciling', message: ready.message, since };
}

function wrong(
  state: ResourceState,
  { reason: reason, message, lastTransitionTime: since }: ConditionFields,
): StatusSays {
  return { state, message, since, cause: { reason: reason, message: message, advice: [] } };
}

/** A controller is done with a resource that only the finalizers of others hold. */
function stateOfDeleted(controller: Finalizing, object: KubernetesObject): StatusSays {
  const { finalizers = [] } = object.metadata;
  const isDone = finalizers.length > 0 && !finalizers.some((each) => each === controller.finalizer);
  return isDone ? stateOfDone(controller, object) : notStarted(object);
}

/** The state of a resource for which the controller has nothing left to do. */
export function stateOfDone(controller: Finalizing, object: KubernetesObject): StatusSays {
  const { deletionTimestamp: since } = object.metadata;
  const control = controlOf(object);
  const cause =
    since === undefined ? control && invalidAnnotation(control) : foreignFinalizers(controller, object);
  const message = cause?.message ?? (since === undefined ? '' : 'it is being deleted');
  return { state: since === undefined ? 'UpToDate' : 'Waiting', message, since, cause };
}

function foreignFinalizers(controller: Finalizing, object: KubernetesObject): Cause | undefined {
  const others = object.metadata.deletionTimestamp === undefined ? [] : heldByOthers(controller, object);
  if (others.length === 0) return undefined;
  const advice = ["ask the owner of these finalizers; none of them is the operator's"];
  return { reason: 'ForeignFinalizers', message: `held by ${others.join(', ')}`, advice };
}

/**
 * Why nothing is done any more in a namespace that is being deleted; undefined: something is.
 *
 * @param namespace undefined: it is unknown
 */
export function endedWithNamespace(
  controller: Pick<Controller, 'endsWithNamespace'> & Finalizing,
  object: KubernetesObject,
  namespace: KubernetesObject | undefined,
): Cause | undefined {
  if (controller.endsWithNamespace !== true || namespace?.metadata.deletionTimestamp === undefined)
    return undefined;
  const { name } = namespace.metadata;
  const why = { run: `kubectl durable why namespace/${name}`, to: 'see what it waits for' };
  return {
    reason: 'NamespaceTerminating',
    message: `namespace ${name} is being deleted, and accepts nothing new`,
    advice: [...(foreignFinalizers(controller, object)?.advice ?? []), why],
  };
}

/** It may have been changed a moment ago. */
export function notStarted({ metadata }: KubernetesObject): StatusSays {
  const changes = listOf(fieldsOf(metadata)['managedFields']).map(({ time }) => textOf(time));
  const times = [metadata.creationTimestamp, metadata.deletionTimestamp, ...changes];
  const since = times
    .filter((time) => time !== undefined)
    .sort()
    .at(-1);
  return { state: 'Waiting', message: NOT_STARTED, since };
}

export interface ConditionFields {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string | undefined;
}

export function conditionFieldsIn(status: unknown): readonly ConditionFields[] {
  return listOf(fieldsOf(status)['conditions']).flatMap((condition) => {
    const type = textOf(condition['type']);
    const is = textOf(condition['status']);
    if (type === undefined || is === undefined) return [];
    const [reason = '', message = ''] = [textOf(condition['reason']), textOf(condition['message'])];
    const lastTransitionTime = textOf(condition['lastTransitionTime']);
    return [{ type, status: is, reason, message, lastTransitionTime }];
  });
}
