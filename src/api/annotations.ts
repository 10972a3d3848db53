import type { KubernetesObject } from './object.ts';

/*
 * What people ask of any resource by annotations, whichever controller it belongs to.
 */

/** With `true`: nothing is written for the resource but its status and Events; on a Namespace, for all in it. */
export const PAUSED_ANNOTATION = 'durable-operator.dev/paused';
/** A resource, or its Namespace. */
export function isPaused({ metadata }: KubernetesObject): boolean {
  return metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
}

/** With any new value: one reconcile. Ours are times, RFC 3339. Flux's convention. */
export const RECONCILE_REQUESTED_ANNOTATION = 'durable-operator.dev/reconcile-requested-at';
/** With a duration such as `10m`: a reconcile that often, for drift that no watch shows. */
export const POLL_INTERVAL_ANNOTATION = 'durable-operator.dev/poll-interval';
/** With `required`: whatever deletes something waits for {@link APPROVED_ANNOTATION}. */
export const APPROVAL_ANNOTATION = 'durable-operator.dev/approval';
/** The id of the plan that is approved, or rejected. */
export const APPROVED_ANNOTATION = 'durable-operator.dev/approved';
export const REJECTED_ANNOTATION = 'durable-operator.dev/rejected';
/** Who has: an admission policy compares it with the user whose request it is. */
export const ANSWERED_BY_ANNOTATION = 'durable-operator.dev/answered-by';
/** Why, for people; may be missing. */
export const ANSWERED_BECAUSE_ANNOTATION = 'durable-operator.dev/answered-because';

/** Conditions of the status that say what holds a resource back. */
export const PAUSED = 'Paused';
export const AWAITING_APPROVAL = 'AwaitingApproval';
