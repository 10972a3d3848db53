import { AWAITING_APPROVAL, PAUSED } from '../../api/annotations.ts';
import { type Control, type ControlStatus } from './control.ts';
import type { Held } from '../../runs/decision.ts';
import type { StatusWrite } from '../observation.ts';
import { conditionsAfter, type Finding, rfc3339 } from '../condition.ts';
import { heldMessage, isAboutPlan } from './held-message.ts';

/** What of the status these controls write. */
export type ControlPatch = Partial<Omit<ControlStatus, 'resourceVersion' | 'generation'>>;

/** Says in the status what holds the resource back, or that nothing does any more; undefined where it says so already. */
export function reportHold(
  { reported }: Control,
  held: Held | undefined,
  nowMs: number,
): StatusWrite | undefined {
  if (reported === undefined) return undefined;
  const findings = [
    ...findingOf(reported, PAUSED, held?.by === 'pause' ? held : undefined),
    ...findingOf(reported, AWAITING_APPROVAL, held?.by === 'approval' ? held : undefined),
  ];
  if (findings.length === 0) return undefined;
  const conditions = withFindings(reported, findings, nowMs);
  const [{ type, status }] = findings as [Finding, ...Finding[]];
  return statusWrite(reported, `${type} is ${status}`, { conditions });
}

export function statusWrite(
  { resourceVersion }: ControlStatus,
  because: string,
  status: ControlPatch,
): StatusWrite {
  return { do: 'updateStatus', because, resourceVersion, status };
}

/** None where the status says it; and where a condition was never true, its absence says that. */
function findingOf({ conditions }: ControlStatus, type: string, held: Held | undefined): Finding[] {
  const before = conditions.find((condition) => condition.type === type);
  if (held === undefined) {
    if (before?.status !== 'True') return [];
    return [{ type, status: 'False', reason: type === PAUSED ? 'NotPaused' : 'NotAwaited', message: '' }];
  }
  const finding: Finding = { type, status: 'True', reason: reasonFor(held), message: heldMessage(held) };
  return before?.status === 'True' && saysTheSame(before, finding, held) ? [] : [finding];
}

function reasonFor({ reason }: Held): string {
  switch (reason) {
    case 'Paused':
    case 'NamespacePaused':
      return 'Paused';
    case 'AwaitingApproval':
      return 'ApprovalRequired';
    case 'Rejected':
      return 'Rejected';
  }
}

/** Which Pods would go may change with their age; as long as the plan is the same, that is no news. */
function saysTheSame(before: Finding, { reason, message }: Finding, { plan }: Held): boolean {
  if (before.reason !== reason) return false;
  return before.message === message || (plan !== undefined && isAboutPlan(before.message, plan));
}

/** These conditions come after those of the controller, which its own writes keep there. */
function withFindings(
  { conditions, generation }: ControlStatus,
  findings: readonly Finding[],
  nowMs: number,
) {
  const now = rfc3339(nowMs);
  const all = conditionsAfter(conditions, findings, { generation, now });
  const isFound = ({ type }: Finding) => findings.some((finding) => finding.type === type);
  return [...all.filter((each) => !isFound(each)), ...all.filter(isFound)];
}
