import type { Condition } from '../contract/control.ts';
import { listOf, numberOf, textOf, type Fields } from './fields.ts';
import { startOf } from './text.ts';

export type { Condition } from '../contract/control.ts';

/** What is found of an aspect now; since when it is so follows from what was found before. */
export type Finding = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

const STATUSES = ['True', 'False', 'Unknown'] as const;
const TYPE =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;
const TYPE_MAX = 316;
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const REASON_MAX = 1024;
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
  const reason = fitting(fields['reason'], REASON, REASON_MAX);
  const lastTransitionTime = timeIn(fields['lastTransitionTime']);
  if (status === undefined || type === undefined || reason === undefined || lastTransitionTime === undefined)
    return undefined;
  return {
    type,
    status,
    observedGeneration: generationIn(fields['observedGeneration']) ?? 0,
    lastTransitionTime,
    reason,
    message: startOf(textOf(fields['message']) ?? '', MESSAGE_MAX),
  };
}

function fitting(value: unknown, pattern: RegExp, most: number): string | undefined {
  const text = textOf(value);
  return text !== undefined && text.length <= most && pattern.test(text) ? text : undefined;
}

/** RFC 3339, as the API server takes it. */
function timeIn(value: unknown): string | undefined {
  const text = textOf(value);
  const isTime = text !== undefined && TIME.test(text) && !Number.isNaN(Date.parse(text));
  return isTime ? text : undefined;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export function generationIn(value: unknown): number | undefined {
  const number = numberOf(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
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
    const message = startOf(finding.message, MESSAGE_MAX);
    return { ...finding, message, observedGeneration: generation, lastTransitionTime };
  });
  const others = before.filter(({ type }) => !findings.some((finding) => finding.type === type));
  return [...found, ...others];
}
