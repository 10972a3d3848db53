import { AWAITING_APPROVAL, PAUSED } from '../contract/control.ts';
import type { Next } from '../contract/decision.ts';
import type { KubernetesObject } from '../contract/object.ts';
import type { ListedRun, Run } from './runs.ts';

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

/** Of a run that is open. */
export function stateOfRun({ mark, pending, task }: Pick<Run, 'mark' | 'pending' | 'task'>): State {
  const marked = markedState(mark);
  if (marked !== undefined) return marked;
  if (pending.some(({ failure }) => failure !== undefined)) return 'Retrying';
  return pending.length > 0 || task !== undefined ? 'Reconciling' : 'Waiting';
}

/** What a run says of itself. */
export function markedState(mark: ListedRun['mark']): State | undefined {
  return mark === 'Stalled' || mark === 'Paused' || mark === 'AwaitingApproval' ? mark : undefined;
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
  const observedGeneration = isRecord(status) ? status['observedGeneration'] : undefined;
  const ready = conditions.find(({ type }) => type === 'Ready');
  const since = ready?.lastTransitionTime;
  if (metadata.deletionTimestamp !== undefined) return WAITING;
  // What holds it back may be older than its spec is.
  for (const state of [PAUSED, AWAITING_APPROVAL] as const) {
    const held = conditions.find(({ type, status: is }) => type === state && is === 'True');
    if (held !== undefined) return { state, message: held.message, since: held.lastTransitionTime };
  }
  if (observedGeneration !== metadata.generation) return WAITING;
  const stalled = conditions.find(({ type, status: is }) => type === 'Stalled' && is === 'True');
  if (stalled !== undefined) return { state: 'Stalled', message: stalled.message, since };
  return { state: 'UpToDate', message: ready?.status === 'True' ? '' : (ready?.message ?? ''), since };
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
  const conditions = isRecord(status) ? status['conditions'] : undefined;
  return Array.isArray(conditions) ? conditions.flatMap(conditionIn) : [];
}

function conditionIn(raw: unknown): ConditionFields[] {
  if (!isRecord(raw)) return [];
  const { type, status, message, lastTransitionTime } = raw;
  if (typeof type !== 'string' || typeof status !== 'string') return [];
  return [
    {
      type,
      status,
      message: typeof message === 'string' ? message : '',
      lastTransitionTime: typeof lastTransitionTime === 'string' ? lastTransitionTime : undefined,
    },
  ];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
