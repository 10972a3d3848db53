import { hash } from 'node:crypto';
import type { ApprovalAnswer, Control } from '../../contract/control.ts';
import type { Deletion, Step } from '../../contract/decision.ts';

/** A step that deletes something, as it is approved. */
export interface DeletionPlan {
  /** `290-3f9c2a1b`: how many objects it deletes, and a hash of which and why. */
  readonly id: string;
  readonly deletes: Deletion;
}

/**
 * Undefined where the step deletes nothing. What would be the same plan again is another one once that was approved and
 * carried out: else nobody could approve it a second time.
 */
export function planOf({ do: step, deletes }: Step, { uid, reported }: Control): DeletionPlan | undefined {
  if (deletes === undefined || deletes.count === 0) return undefined;
  const { what, of } = deletes;
  const about = JSON.stringify([uid, step, what, of, reported?.lastHandledApproval]);
  return { id: `${deletes.count}-${hash('sha256', about).slice(0, HASH_LENGTH)}`, deletes };
}

const HASH_LENGTH = 8;

/** What was said of this plan, or of one that deletes the same and more, as before its first half was carried out. */
export function answerTo(plan: DeletionPlan, { answer, reported }: Control): ApprovalAnswer | undefined {
  if (answer === undefined || answer.plan === reported?.lastHandledApproval) return undefined;
  const [asked, said] = [partsOf(plan.id), partsOf(answer.plan)];
  return asked.hash === said.hash && asked.count <= said.count ? answer : undefined;
}

function partsOf(id: string): { readonly count: number; readonly hash: string } {
  const [, count = '0', hash = ''] = /^(\d{1,9})-([0-9a-f]{8})$/.exec(id) ?? [];
  return { count: Number(count), hash };
}

/** `delete 290 Pods (web-pod-2fkq8, web-pod-4gwzn and 288 more)` */
export function deletionInWords({ what, count, names }: Deletion): string {
  const shown = names().slice(0, NAMES_MAX);
  const more = count - shown.length;
  const named = more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
  return `delete ${count} ${what}${count === 1 ? '' : 's'}${shown.length === 0 ? '' : ` (${named})`}`;
}

const NAMES_MAX = 5;
