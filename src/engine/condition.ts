import { REASON } from '../api/limits.ts';
import type { Condition } from '../api/condition.ts';
import { listOf, numberOf, textOf, type Fields } from '../api/fields.ts';
import { truncate } from '../api/text.ts';

export type { Condition } from '../api/condition.ts';

/** What is found of an aspect now; since when it is so follows from what was found before. */
export type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** A reason that a condition may have, and what it means, for people. */
export interface ReasonRow extends Pick<Condition, 'type' | 'status' | 'reason'> {
  readonly meaning: string;
}

const STATUSES = ['True', 'False', 'Unknown'] as const;
const TYPE =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;
const TYPE_MAX = 316;
const MESSAGE_MAX = 32_768;

/**
 * The conditions of a status that somebody may have written by hand, or before there was this schema. Those that it
 * refuses are left out: whoever writes a status with one of them is refused as well, and could say nothing any more.
 */
export function conditionsIn(raw: unknown): readonly Condition[] {
  const all = listOf(raw).flatMap((fields) => conditionIn(fields) ?? []);
  return all.filter(({ type }, place) => all.findIndex((each) => each.type === type) === place);
}

function conditionIn(fields: Fields): Condition | undefined {
  const status = STATUSES.find((each) => each === fields['status']);
  const type = fitting(fields['type'], TYPE, TYPE_MAX);
  const reason = fitting(fields['reason'], REASON.pattern, REASON.most);
  const lastTransitionTime = timeIn(fields['lastTransitionTime']);
  if (status === undefined || type === undefined || reason === undefined || lastTransitionTime === undefined)
    return undefined;
  return {
    type,
    status,
    observedGeneration: generationIn(fields['observedGeneration']) ?? 0,
    lastTransitionTime,
    reason,
    message: truncate(textOf(fields['message']) ?? '', MESSAGE_MAX),
  };
}

function fitting(value: unknown, pattern: RegExp, most: number): string | undefined {
  const text = textOf(value);
  return text !== undefined && text.length <= most && pattern.test(text) ? text : undefined;
}

/** RFC 3339, as the API server takes it. */
function timeIn(value: unknown): string | undefined {
  const text = textOf(value);
  const isTime =
    text !== undefined && TIME.test(text) && !Number.isNaN(Date.parse(text)) && isOnACalendar(text);
  return isTime ? text : undefined;
}

/** To JavaScript, 30 February is 2 March, and 24:00 the next day; the API server refuses both. */
function isOnACalendar(text: string): boolean {
  const local = text.slice(0, '2026-01-01T00:00:00'.length);
  return new Date(`${local}Z`).toISOString().startsWith(local);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export function generationIn(value: unknown): number | undefined {
  const number = numberOf(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** @param meanings what each reason says, for people */
export function reasons<Reason extends string>(
  type: string,
  status: ReasonRow['status'],
  meanings: Readonly<Record<Reason, string>>,
): readonly (ReasonRow & { readonly reason: Reason })[] {
  const rows = Object.entries<string>(meanings) as [Reason, string][];
  return rows.map(([reason, meaning]) => ({ type, status, reason, meaning }));
}

/** The reasons of `Reconciling` where it is False. Where it is True, it has the reason and message of `Ready`. */
export const RECONCILING_REASONS = reasons('Reconciling', 'False', {
  UpToDate: 'The resource is Ready.',
  Stalled: 'See the condition `Stalled`.',
  NotReady: 'The operator has nothing left to do, but a person has. See the condition `Ready`.',
});

/** The reasons of the conditions that say what holds a resource back. They are there once something has been held. */
export const CONTROL_REASONS = [
  ...reasons('Paused', 'True', {
    Paused: 'An annotation pauses the resource or its Namespace. The message says which step is held.',
  }),
  ...reasons('Paused', 'False', { NotPaused: 'It was paused.' }),
  ...reasons('AwaitingApproval', 'True', {
    ApprovalRequired: 'The next step deletes something, and waits for approval. The message names the plan.',
    Rejected: 'Somebody rejected the plan. The message says who, and why.',
  }),
  ...reasons('AwaitingApproval', 'False', { NotAwaited: 'It awaited approval.' }),
];

type ReconcilingReason = (typeof RECONCILING_REASONS)[number]['reason'];

/**
 * These, and whether the resource is on its way from one state to another.
 * Source: kstatus (kubernetes-sigs/cli-utils, pkg/kstatus), "The ready condition" and "abnormal-true".
 *
 * @param isOver nothing is left to do, even if it is not Ready
 */
export function withReconciling(
  ready: Finding,
  stalled: Finding,
  isOver = ready.status === 'True',
): readonly [Finding, Finding, Finding] {
  return [ready, stalled, reconciling(ready, stalled, isOver)];
}

function reconciling(ready: Finding, stalled: Finding, isOver: boolean): Finding {
  if (stalled.status === 'True') return notReconciling('Stalled');
  if (ready.status === 'True') return notReconciling('UpToDate');
  if (isOver) return notReconciling('NotReady');
  return { type: 'Reconciling', status: 'True', reason: ready.reason, message: ready.message };
}

function notReconciling(reason: ReconcilingReason): Finding {
  return { type: 'Reconciling', status: 'False', reason, message: '' };
}

/**
 * The conditions after these findings, in the findings' order; those of other types are kept, behind them.
 * Equal to `before` where nothing differs: the time of a transition moves with `status` alone.
 *
 * @param now RFC 3339, in whole seconds as Kubernetes writes it
 */
export function conditionsAfter(
  before: readonly Condition[],
  findings: readonly Finding[],
  { generation, now }: { readonly generation: number; readonly now: string },
): readonly Condition[] {
  const found = findings.map((finding): Condition => {
    const known = before.find(({ type }) => type === finding.type);
    const lastTransitionTime = known?.status === finding.status ? known.lastTransitionTime : now;
    const message = truncate(finding.message, MESSAGE_MAX);
    return { ...finding, message, observedGeneration: generation, lastTransitionTime };
  });
  const others = before.filter(({ type }) => !findings.some((finding) => finding.type === type));
  return [...found, ...others];
}

interface WithStatus {
  readonly generation: number;
  readonly status: { readonly conditions?: readonly Condition[] };
}

/** Why the status says that this generation is stalled. */
export function stalledBy({ status, generation }: WithStatus): Condition | undefined {
  return status.conditions?.find(
    (each) => each.type === 'Stalled' && each.status === 'True' && each.observedGeneration === generation,
  );
}

/** In whole seconds, as Kubernetes writes it. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
