import {
  ANSWERED_BY_ANNOTATION,
  APPROVED_ANNOTATION,
  AWAITING_APPROVAL,
  REJECTED_ANNOTATION,
} from '../../src/api/annotations.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { conditionsIn } from '../../src/engine/condition.ts';
import { planIn } from '../support/causes.ts';
import { valueAt } from './invariants.ts';

/** Null: it is removed. */
export type Annotations = Readonly<Record<string, string | null>>;

/** Whoever answers has to be named, by an admission policy. */
export function approvalOf(plan: string): Annotations {
  return { [APPROVED_ANNOTATION]: plan, [REJECTED_ANNOTATION]: null, [ANSWERED_BY_ANNOTATION]: 'admin' };
}

export function rejectionOf(plan: string): Annotations {
  return { [APPROVED_ANNOTATION]: null, [REJECTED_ANNOTATION]: plan, [ANSWERED_BY_ANNOTATION]: 'admin' };
}

/** That is awaited, and not approved yet. */
export function awaitedPlanIn(object: KubernetesObject | undefined): string | undefined {
  const conditions = conditionsIn(valueAt(object, 'status', 'conditions'));
  const { message = '' } =
    conditions.find(({ type, status }) => type === AWAITING_APPROVAL && status === 'True') ?? {};
  const plan = planIn(message);
  const { [APPROVED_ANNOTATION]: approved, [REJECTED_ANNOTATION]: rejected } =
    object?.metadata.annotations ?? {};
  return approved === plan && rejected !== plan ? undefined : plan;
}
