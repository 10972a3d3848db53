import type { Cause } from '../api/cause.ts';
import type { Action, HeldReason } from '../runs/decision.ts';

/** What happened in one run of a resource, in the order of time. */
export interface RunTimeline {
  readonly runId: string;
  readonly startedAtMs: number;
  /** Why it was started. */
  readonly reason: string;
  readonly entries: readonly TimelineEntry[];
  /** Undefined: it is open. */
  readonly end: RunEnd | undefined;
  /** The failure of its last workflow task, until a task completes. */
  readonly taskFailure?: FailureInHistory;
}

export interface RunEnd {
  readonly atMs: number;
  readonly how: 'completed' | 'continued as new' | 'failed' | 'terminated' | 'canceled' | 'timed out';
  /** What it did, or why it ended. */
  readonly words: string;
}

export type TimelineEntry = StepEntry | SignalEntry | WaitEntry | StateEntry;

/** One activity, local or durable. */
export interface StepEntry {
  readonly kind: 'step';
  readonly atMs: number;
  /** Such as `createPods`. */
  readonly step: string;
  /** The activity's summary in the Temporal UI. */
  readonly summary: string | undefined;
  readonly isLocal: boolean;
  readonly attempts: number;
  /** Of the last attempt that failed. */
  readonly failure?: FailureInHistory;
  /** An attempt was cut off: what it wrote last is not known. */
  readonly mayLackWrites?: boolean;
  readonly end: TimelineStepEnd;
}

export interface FailureInHistory {
  /** Such as `Refused`. */
  readonly type: string | undefined;
  readonly message: string;
  /** Undefined: nobody could say, as of a time-out; or the operator was older than 0.4. */
  readonly cause?: Cause;
  /** What the step did before. Default: nothing that is known. */
  readonly did?: readonly Action[];
}

export type TimelineStepEnd =
  | {
      readonly how: 'done';
      readonly tookMs: number;
      readonly did: readonly Action[] | 'encrypted';
      readonly next: TimelineNextStep | undefined;
      /** What the server said when it refused the step. */
      readonly refusal: string | undefined;
    }
  | { readonly how: 'failed'; readonly tookMs: number }
  /** A change made it obsolete. */
  | { readonly how: 'dropped'; readonly tookMs: number }
  | { readonly how: 'in progress'; readonly nextTryAtMs?: number };

/** What comes next, and why. */
export interface TimelineNextStep {
  readonly do: string;
  /** As {@link Step} has it. */
  readonly isStep?: true;
  readonly because: string;
  /** What a wait is for. */
  readonly for?: string;
  /** What is wrong, if anything. */
  readonly cause?: Cause;
  /** What holds the step back, if a person does. */
  readonly held?: HeldReason;
}

export interface SignalEntry {
  readonly kind: 'signal';
  readonly atMs: number;
  readonly signal: string;
  readonly reason: string;
  /** The identity of the Temporal client that sent it. */
  readonly by: string;
}

/** The run waited for something, with a time limit. */
export interface WaitEntry {
  readonly kind: 'wait';
  readonly atMs: number;
  readonly summary: string;
  readonly timeoutMs: number;
  readonly end:
    | { readonly how: 'time passed' | 'something changed'; readonly tookMs: number }
    | { readonly how: 'in progress' };
}

/** The run waited for a change of its resource, without a time limit: `Stalled`, `Paused`, `AwaitingApproval`. */
export interface StateEntry {
  readonly kind: 'state';
  readonly atMs: number;
  readonly state: string;
  /** Undefined: it still waits. */
  readonly untilMs: number | undefined;
}

/** The durable step of an open run. A history gets its attempts only once it has ended. */
export interface PendingStep {
  readonly step: string;
  readonly attempt: number;
  readonly failure: FailureInHistory | undefined;
  /** Undefined: an attempt is in progress. */
  readonly nextTryAtMs: number | undefined;
}

/** Completes the steps in progress of a history. */
export function withPending(timeline: RunTimeline, pending: readonly PendingStep[]): RunTimeline {
  const entries = timeline.entries.map((entry) => {
    if (entry.kind !== 'step' || entry.end.how !== 'in progress') return entry;
    const now = pending.find(({ step }) => step === entry.step);
    if (now === undefined) return entry;
    const { attempt, failure, nextTryAtMs } = now;
    const end = { how: 'in progress', ...(nextTryAtMs !== undefined && { nextTryAtMs }) } as const;
    return {
      ...entry,
      attempts: attempt,
      ...(failure && { failure }),
      ...(isCutOff(failure) && { mayLackWrites: true }),
      end,
    };
  });
  return { ...timeline, entries };
}

/** Whether nobody has said how the attempt ended. */
export function isCutOff(failure: FailureInHistory | undefined): boolean {
  return failure?.type === TIMEOUT;
}

/** The type of a failure of an attempt that did not come to its end in time, or whose worker is gone. */
export const TIMEOUT = 'Timeout';

/** The last step, where its last attempt has failed and the run itself tries again. */
export function failedStepIn(timeline: RunTimeline | undefined): StepEntry | undefined {
  const last = timeline?.entries.findLast((entry) => entry.kind === 'step');
  return last?.kind === 'step' && last.end.how === 'failed' ? last : undefined;
}

/** What the last completed step said comes next. */
export function lastNextOf(timeline: RunTimeline | undefined): TimelineNextStep | undefined {
  const last = timeline?.entries.findLast((entry) => entry.kind === 'step' && entry.end.how === 'done');
  return last?.kind === 'step' && last.end.how === 'done' ? last.end.next : undefined;
}
