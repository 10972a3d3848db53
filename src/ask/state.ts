import { AWAITING_APPROVAL, PAUSED } from '../contract/control.ts';
import type { Next } from '../contract/decision.ts';
import type { KubernetesObject } from '../contract/object.ts';
import { fieldsOf, listOf, textOf } from '../controllers/fields.ts';
import { heldByOthers } from './cluster/objects.ts';
import type { Run } from './runs/runs.ts';

export const STATES = [
  'UpToDate',
  'Reconciling',
  'Waiting',
  'Retrying',
  'Stalled',
  'Paused',
  'AwaitingApproval',
  'Ignored',
] as const;

/** How a resource does. */
export type State = (typeof STATES)[number];

/** In a terminal. @param state undefined: nobody can tell */
export function colourOf(state: State | undefined): 'green' | 'yellow' | 'red' | 'cyan' | 'dim' {
  switch (state) {
    case 'UpToDate':
      return 'green';
    case 'Reconciling':
    case 'Waiting':
      return 'cyan';
    case 'Retrying':
    case 'Paused':
    case 'AwaitingApproval':
      return 'yellow';
    case 'Stalled':
    case undefined:
      return 'red';
    case 'Ignored':
      return 'dim';
  }
}

/** Of a run that is open. */
export function stateOfRun({
  pause,
  runState,
  pending,
  workflowTaskAttempt,
}: Pick<Run, 'pause' | 'runState' | 'pending' | 'workflowTaskAttempt'>): State {
  if (pause !== undefined) return 'Paused';
  if (isTaskFailing({ workflowTaskAttempt })) return 'Retrying';
  if (runState !== undefined) return runState;
  if (pending.some(({ failure }) => failure !== undefined)) return 'Retrying';
  return pending.length > 0 || workflowTaskAttempt !== undefined ? 'Reconciling' : 'Waiting';
}

/** A worker that has just ended leaves one or two that fail. */
const FAILING_FROM_ATTEMPT = 3;

/** Whether workers take the run up, and cannot go on with it. */
export function isTaskFailing({ workflowTaskAttempt = 1 }: Pick<Run, 'workflowTaskAttempt'>): boolean {
  return workflowTaskAttempt >= FAILING_FROM_ATTEMPT;
}

/** Of a resource that no run is open for, by what its controller decides. */
export function stateByDecision(next: Next): State {
  switch (next.do) {
    case 'converged':
      return 'UpToDate';
    case 'stalled':
      return 'Stalled';
    case 'held':
      return 'by' in next && next.by === 'approval' ? 'AwaitingApproval' : 'Paused';
    default:
      // Nobody is at it.
      return 'Waiting';
  }
}

/** Of a resource that needs a run and has none. */
export const NOT_STARTED = 'no run is open for it yet';

/** What the status of a resource says of its latest spec. */
export interface StatusSays {
  readonly state: State;
  readonly message: string;
  /** RFC 3339: since when; undefined: it does not say. */
  readonly since: string | undefined;
}

/** Of a resource that no run is open for, by its own status, as kstatus reads it. */
export function stateByStatus(object: KubernetesObject): StatusSays {
  const { status, metadata } = object;
  const conditions = conditionsIn(status);
  const ready = conditions.find(({ type }) => type === 'Ready');
  const since = ready?.lastTransitionTime;
  if (metadata.deletionTimestamp !== undefined) return stateOfDeleted(object);
  // What holds it back may be older than its spec is.
  for (const state of [PAUSED, AWAITING_APPROVAL] as const) {
    const held = conditions.find(({ type, status: is }) => type === state && is === 'True');
    if (held !== undefined) return { state, message: held.message, since: held.lastTransitionTime };
  }
  if (fieldsOf(status)['observedGeneration'] !== metadata.generation) return WAITING;
  const stalled = conditions.find(({ type, status: is }) => type === 'Stalled' && is === 'True');
  if (stalled !== undefined) return { state: 'Stalled', message: stalled.message, since };
  return { state: 'UpToDate', message: ready?.status === 'True' ? '' : (ready?.message ?? ''), since };
}

/** What only others hold, the operator is done with. */
function stateOfDeleted(object: KubernetesObject): StatusSays {
  const others = heldByOthers(object);
  if (others.length === 0) return WAITING;
  const since = object.metadata.deletionTimestamp;
  return { state: 'UpToDate', message: `held by ${others.join(', ')}`, since };
}

const WAITING: StatusSays = { state: 'Waiting', message: NOT_STARTED, since: undefined };

export interface ConditionFields {
  readonly type: string;
  readonly status: string;
  readonly message: string;
  readonly lastTransitionTime: string | undefined;
}

/** As far as they are well-formed. */
export function conditionsIn(status: unknown): readonly ConditionFields[] {
  return listOf(fieldsOf(status)['conditions']).flatMap((condition) => {
    const type = textOf(condition['type']);
    const is = textOf(condition['status']);
    if (type === undefined || is === undefined) return [];
    const message = textOf(condition['message']) ?? '';
    return [{ type, status: is, message, lastTransitionTime: textOf(condition['lastTransitionTime']) }];
  });
}
