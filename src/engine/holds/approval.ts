import { hash } from 'node:crypto';
import type { ApprovalAnswer, Control } from './control.ts';
import type { DeletedObject, Deletion } from '../../api/deletion.ts';
import type { Step } from '../../runs/decision.ts';

/** A step that deletes something, as it is approved. */
export interface DeletionPlan {
  /** `290-3f9c2a1b`: how many objects it deletes, and a hash of their UIDs, or of what is to be reached. */
  readonly id: string;
  readonly deletes: Deletion;
}

/**
 * What would be the same plan again is another one once that was approved and carried out: else nobody could approve it a
 * second time.
 */
export function planOf(step: Step, deletes: Deletion, { uid, reported }: Control): DeletionPlan {
  const { what, count, interchangeable } = deletes;
  const which =
    interchangeable ??
    deletedBy(deletes)
      .map((each) => each.uid)
      .sort();
  const about = JSON.stringify([uid, step.do, what, which, reported?.lastHandledApproval]);
  return { id: `${count}-${hash('sha256', about).slice(0, HASH_LENGTH)}`, deletes };
}

/** The objects that the step may delete. */
export function deletedBy({ count, objects }: Deletion): readonly DeletedObject[] {
  return objects().slice(0, Math.max(count, 0));
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

/** `delete 290 Pods (web-pod-2fkq8, web-pod-4gwzn and 288 more)`. @param home the namespace that is not named */
export function deletionInWords(deletes: Deletion, home: string | undefined): string {
  const { what, count } = deletes;
  const shown = deletedBy(deletes).slice(0, NAMES_MAX);
  const names = shown.map(({ namespace = home, name }) =>
    namespace === home ? name : `${namespace}/${name}`,
  );
  const more = count - shown.length;
  const named = more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
  return `delete ${count} ${what}${count === 1 ? '' : 's'}${shown.length === 0 ? '' : ` (${named})`}`;
}

const NAMES_MAX = 5;
