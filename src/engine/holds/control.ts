import type { Condition } from '../../api/condition.ts';
import type { UnknownAttempt } from '../../api/unknown-attempt.ts';

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
