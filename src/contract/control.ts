import type { KubernetesObject } from './object.ts';
import type { UnknownAttempt } from './unknown-attempt.ts';

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

/** What somebody said of a plan. */
export interface ApprovalAnswer {
  readonly is: 'approved' | 'rejected';
  /** The id of the plan. */
  readonly plan: string;
  /** As the annotation names them; empty where it names nobody. */
  readonly by: string;
  readonly because: string;
}

/** What the annotations of one resource ask for. */
export interface Control {
  /** Of the resource. */
  readonly uid: string;
  readonly namespace?: string | undefined;
  readonly isBeingDeleted: boolean;
  readonly isPaused: boolean;
  readonly requestedAt?: string;
  /** A duration, such as `10m`: that of the annotation, or else of the controller. */
  readonly pollInterval?: string;
  /** That of the controller. Absent: it has none. */
  readonly ownPollInterval?: string;
  readonly isApprovalRequired: boolean;
  readonly answer?: ApprovalAnswer;
  /** What is wrong with an annotation, and what to write instead; a sentence each. */
  readonly problems: readonly string[];
  /** The interval that an annotation asks for is too short, and counts as a longer one; a sentence. No run is started to say it. */
  readonly intervalNotice?: string;
  /** Only of a resource whose status can say so. */
  readonly reported?: ControlStatus;
}

/** What the status of a resource says of these annotations, as far as it is well-formed. */
export interface ControlStatus {
  /** Of the resource as it was read: what a write of its status is conditional on. */
  readonly resourceVersion: string;
  readonly generation: number;
  readonly conditions: readonly Condition[];
  /** The last request for a reconcile that was met. */
  readonly lastHandledReconcileAt?: string;
  /** The id of the last plan that was approved and of which nothing is left to delete: its approval counts no more. */
  readonly lastHandledApproval?: string;
}

/** One aspect of a resource's state, as `metav1.Condition` writes it. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** Of the resource when this was found. */
  readonly observedGeneration: number;
  /** RFC 3339: when `status` became what it is. */
  readonly lastTransitionTime: string;
  /** Why, in CamelCase, for programs. */
  readonly reason: string;
  /** Why, for people; at most 32,768 characters. */
  readonly message: string;
}

/** How an observation was made, and where. */
export interface Circumstances {
  /** Whether it was read for this decision. What a watch shows may lag behind. */
  readonly isLive: boolean;
  /** Whether {@link PAUSED_ANNOTATION} is on the Namespace. */
  readonly isNamespacePaused: boolean;
  /** Attempts whose outcome is not known. Absent: there is none. */
  readonly unknown?: readonly UnknownAttempt[];
  /** The attempt that asks, where it is one of a step whose data has a digest. */
  readonly asking?:
    { readonly step: string; readonly digest: string; readonly otherData: number } | undefined;
}
