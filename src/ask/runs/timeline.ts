import type { Deed } from '../../contract/decision.ts';

/** In place of words that take a key to read. */
export const ENCRYPTED_WORDS = '(encrypted)';

/** What happened in one run of a resource, in the order of time. */
export interface RunTimeline {
  readonly runId: string;
  readonly startedAtMs: number;
  /** Why it was started. */
  readonly reason: string;
  readonly entries: readonly Entry[];
  /** Undefined: it is open. */
  readonly end: RunEnd | undefined;
  /** Of its last workflow task, where that has failed. */
  readonly taskFailure?: StepFailure;
}

export interface RunEnd {
  readonly atMs: number;
  readonly how: 'completed' | 'continued as new' | 'failed' | 'terminated' | 'canceled' | 'timed out';
  /** What it did, or why it ended. */
  readonly words: string;
}

export type Entry = StepEntry | SignalEntry | WaitEntry | StateEntry;

/** One activity, local or durable. */
export interface StepEntry {
  readonly kind: 'step';
  readonly atMs: number;
  /** Such as `createPods`. */
  readonly step: string;
  /** What the Temporal UI shows beside it. */
  readonly summary: string | undefined;
  readonly isLocal: boolean;
  /** How many were begun. */
  readonly attempts: number;
  /** Of the attempt before the last, or of the last one. */
  readonly failure?: StepFailure;
  readonly end: StepEnd;
}

export interface StepFailure {
  /** Such as `Refused`. */
  readonly type: string | undefined;
  readonly message: string;
}

export type StepEnd =
  | {
      readonly how: 'done';
      readonly tookMs: number;
      readonly did: readonly Deed[] | 'encrypted';
      /** What comes next, and why. */
      readonly next: NextWords | undefined;
      /** The words of the server that refused the step. */
      readonly refusal: string | undefined;
    }
  | { readonly how: 'failed'; readonly tookMs: number }
  /** A change made it obsolete. */
  | { readonly how: 'dropped'; readonly tookMs: number }
  | { readonly how: 'in progress'; readonly nextTryAtMs?: number };

export interface NextWords {
  readonly do: string;
  readonly because: string;
}

/** The watcher, or a person, has signalled the run. */
export interface SignalEntry {
  readonly kind: 'signal';
  readonly atMs: number;
  readonly signal: string;
  readonly reason: string;
  /** Who has, as Temporal knows its clients; empty: it does not say. */
  readonly by: string;
}

/** The run waited for something, with a time limit. */
export interface WaitEntry {
  readonly kind: 'wait';
  readonly atMs: number;
  readonly summary: string;
  readonly atMostMs: number;
  readonly end:
    | { readonly how: 'time passed' | 'something changed'; readonly tookMs: number }
    | { readonly how: 'in progress' };
}

/** The run waited for a change of its resource, without a time limit: `Stalled`, `Paused`, `AwaitingApproval`. */
export interface StateEntry {
  readonly kind: 'state';
  readonly atMs: number;
  readonly state: string;
  /** Undefined: it still does. */
  readonly untilMs: number | undefined;
}

/** What Temporal says of the durable step of an open run: a history has its attempts only once it has ended. */
export interface PendingStep {
  readonly step: string;
  readonly attempt: number;
  readonly failure: StepFailure | undefined;
  /** Undefined: an attempt is in progress. */
  readonly nextTryAtMs: number | undefined;
}

export function withPending(timeline: RunTimeline, pending: readonly PendingStep[]): RunTimeline {
  const entries = timeline.entries.map((entry) => {
    const now = entry.kind === 'step' ? pending.find(({ step }) => step === entry.step) : undefined;
    if (entry.kind !== 'step' || entry.end.how !== 'in progress' || now === undefined) return entry;
    const { attempt, failure, nextTryAtMs } = now;
    const end = { how: 'in progress', ...(nextTryAtMs !== undefined && { nextTryAtMs }) } as const;
    return { ...entry, attempts: attempt, ...(failure && { failure }), end };
  });
  return { ...timeline, entries };
}

/** The last step that was done. */
export function lastStepOf(timeline: RunTimeline | undefined): StepEntry | undefined {
  return timeline?.entries.findLast(
    (entry): entry is StepEntry => entry.kind === 'step' && entry.end.how === 'done',
  );
}
