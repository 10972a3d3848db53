import type { temporal } from '@temporalio/proto';
import type { Payload } from '@temporalio/common';
import { z } from 'zod';
import type { Deed } from '../contract/decision.ts';
import { readPayload, type Read } from './payloads.ts';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Failure = temporal.api.failure.v1.IFailure;
/** Seconds are a Long in protobuf, and a number in JSON. */
interface Moment {
  readonly seconds?: { toNumber(): number } | number | null | undefined;
  readonly nanos?: number | null | undefined;
}

const ENCRYPTED = 'encrypted';
/** In place of words that take a key to read. */
export const ENCRYPTED_WORDS = '(encrypted)';

/** What happened in one run of a resource, in the order of time. */
export interface RunStory {
  readonly runId: string;
  readonly startedAtMs: number;
  /** Why it was started. */
  readonly reason: string;
  readonly entries: readonly Entry[];
  /** Undefined: it is open. */
  readonly end: RunEnd | undefined;
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
      readonly did: readonly Deed[] | typeof ENCRYPTED;
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

/** Tells the story of a run from its history. @param events decoded; see `decoded` in payloads.ts */
export function storyOf(events: readonly HistoryEvent[]): RunStory {
  const telling = new Telling();
  for (const event of events) telling.hear(event);
  return telling.story();
}

/** What Temporal says of the durable step of an open run: a history has its attempts only once it has ended. */
export interface PendingStep {
  readonly step: string;
  readonly attempt: number;
  readonly failure: StepFailure | undefined;
  /** Undefined: an attempt is in progress. */
  readonly nextTryAtMs: number | undefined;
}

export function withPending(story: RunStory, pending: readonly PendingStep[]): RunStory {
  const entries = story.entries.map((entry) => {
    const now = entry.kind === 'step' ? pending.find(({ step }) => step === entry.step) : undefined;
    if (entry.kind !== 'step' || entry.end.how !== 'in progress' || now === undefined) return entry;
    const { attempt, failure, nextTryAtMs } = now;
    const end = { how: 'in progress', ...(nextTryAtMs !== undefined && { nextTryAtMs }) } as const;
    return { ...entry, attempts: attempt, ...(failure && { failure }), end };
  });
  return { ...story, entries };
}

/** How the SDK's core marks a local activity. */
const LOCAL_ACTIVITY = 'core_local_activity';
/** Of the timer that lets an attempt end; it is no wait: workflows/changes.ts. */
const GRACE_TIMER = 'the resource changed: ';
const RUN_STATE = 'RunState';

interface Open<E extends Entry> {
  readonly index: number;
  readonly entry: E;
}

class Telling {
  #runId = '';
  #startedAtMs = 0;
  #reason = '';
  #end: RunEnd | undefined;
  readonly #entries: Entry[] = [];
  /** By the id of the event that scheduled or started it. */
  readonly #steps = new Map<string, Open<StepEntry>>();
  readonly #waits = new Map<string, Open<WaitEntry>>();
  #state: Open<StateEntry> | undefined;
  /** The clock of the run: local activities follow each other in it. */
  #clockMs = 0;

  story(): RunStory {
    return {
      runId: this.#runId,
      startedAtMs: this.#startedAtMs,
      reason: this.#reason,
      entries: this.#entries,
      end: this.#end,
    };
  }

  hear(event: HistoryEvent): void {
    this.#hearRun(event);
    this.#hearStep(event);
    this.#hearWait(event);
    this.#hearState(event);
    this.#hearEnd(event);
  }

  #hearRun(event: HistoryEvent): void {
    const {
      workflowExecutionStartedEventAttributes: started,
      workflowExecutionSignaledEventAttributes: signaled,
    } = event;
    const atMs = msOf(event.eventTime);
    if (event.workflowTaskStartedEventAttributes) this.#clockMs = atMs;
    if (started) {
      this.#runId = started.originalExecutionRunId ?? '';
      this.#startedAtMs = this.#clockMs = atMs;
      const [input] = started.input?.payloads ?? [];
      this.#reason = wordsOf(readPayload(input), (value) => RunReason.safeParse(value).data?.reason);
    }
    if (signaled) {
      const [reason] = signaled.input?.payloads ?? [];
      const signal = signaled.signalName ?? '';
      this.#entries.push({ kind: 'signal', atMs, signal, reason: textOf(reason) ?? '' });
    }
  }

  #hearStep(event: HistoryEvent): void {
    const atMs = msOf(event.eventTime);
    const { activityTaskScheduledEventAttributes: scheduled, activityTaskStartedEventAttributes: started } =
      event;
    if (event.markerRecordedEventAttributes?.markerName === LOCAL_ACTIVITY) this.#hearLocalStep(event);
    if (scheduled) {
      this.#begin(this.#steps, idOf(event.eventId), {
        kind: 'step',
        atMs,
        step: scheduled.activityType?.name ?? '',
        summary: textOf(event.userMetadata?.summary),
        isLocal: false,
        attempts: 0,
        end: { how: 'in progress' },
      });
    }
    if (started) {
      const { attempt, lastFailure } = started;
      const failure = lastFailure ? { failure: failureOf(lastFailure) } : {};
      this.#change<StepEntry>(this.#steps, started.scheduledEventId, () => ({
        attempts: attempt ?? 1,
        ...failure,
      }));
    }
    this.#hearEndOfStep(event, atMs);
  }

  #hearEndOfStep(event: HistoryEvent, atMs: number): void {
    const completed = event.activityTaskCompletedEventAttributes;
    if (completed) {
      const [result] = completed.result?.payloads ?? [];
      this.#change<StepEntry>(this.#steps, completed.scheduledEventId, (step) => ({
        end: doneWith(result, atMs - step.atMs),
      }));
    }
    const failed = event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
    if (failed) {
      const failure = failed.failure ? { failure: failureOf(failed.failure) } : {};
      this.#change<StepEntry>(this.#steps, failed.scheduledEventId, (step) => ({
        end: { how: 'failed', tookMs: atMs - step.atMs },
        ...failure,
      }));
    }
    const dropped = event.activityTaskCancelRequestedEventAttributes;
    if (dropped) {
      this.#change<StepEntry>(this.#steps, dropped.scheduledEventId, (step) => ({
        end: { how: 'dropped', tookMs: atMs - step.atMs },
      }));
    }
  }

  /**
   * A local activity is recorded with the time of the run's own clock at its end; the one after it begins then.
   * Source: sdk-core, `LocalActivityMarkerData.complete_time`.
   */
  #hearLocalStep({ markerRecordedEventAttributes: marker, userMetadata }: HistoryEvent): void {
    const read = readPayload(marker?.details?.['data']?.payloads?.[0]);
    const data = LocalActivity.safeParse(read === undefined || read === ENCRYPTED ? {} : read.value).data;
    const endedMs = data?.complete_time ? msOf(data.complete_time) : this.#clockMs;
    const tookMs = Math.max(0, endedMs - this.#clockMs);
    const result = marker?.details?.['result']?.payloads?.[0];
    this.#entries.push({
      kind: 'step',
      atMs: this.#clockMs,
      step: data?.activity_type ?? '',
      summary: textOf(userMetadata?.summary),
      isLocal: true,
      attempts: data?.attempt ?? 1,
      ...(marker?.failure && { failure: failureOf(marker.failure) }),
      end: marker?.failure ? { how: 'failed', tookMs } : doneWith(result, tookMs),
    });
    this.#clockMs += tookMs;
  }

  #hearWait(event: HistoryEvent): void {
    const atMs = msOf(event.eventTime);
    const started = event.timerStartedEventAttributes;
    const summary = textOf(event.userMetadata?.summary) ?? '';
    if (started && !summary.startsWith(GRACE_TIMER)) {
      const atMostMs = msOf(started.startToFireTimeout);
      const entry = { kind: 'wait', atMs, summary, atMostMs, end: { how: 'in progress' } } as const;
      this.#begin<WaitEntry>(this.#waits, idOf(event.eventId), entry);
    }
    this.#change<WaitEntry>(this.#waits, event.timerFiredEventAttributes?.startedEventId, (wait) => ({
      end: { how: 'time passed', tookMs: atMs - wait.atMs },
    }));
    this.#change<WaitEntry>(this.#waits, event.timerCanceledEventAttributes?.startedEventId, (wait) => ({
      end: { how: 'something changed', tookMs: atMs - wait.atMs },
    }));
  }

  #hearState(event: HistoryEvent): void {
    const attributes =
      event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields ?? {};
    const read = readPayload(attributes[RUN_STATE]);
    if (read === undefined || read === ENCRYPTED) return;
    this.#endState(msOf(event.eventTime));
    const state = StateName.safeParse(read.value).data;
    if (state === undefined) return;
    const entry: StateEntry = { kind: 'state', atMs: msOf(event.eventTime), state, untilMs: undefined };
    this.#state = { index: this.#entries.push(entry) - 1, entry };
  }

  #endState(untilMs: number): void {
    if (this.#state === undefined) return;
    this.#entries[this.#state.index] = { ...this.#state.entry, untilMs };
    this.#state = undefined;
  }

  #hearEnd(event: HistoryEvent): void {
    const end = endOf(event);
    if (end === undefined) return;
    this.#end = { atMs: msOf(event.eventTime), ...end };
    this.#endState(this.#end.atMs);
  }

  #begin<E extends Entry>(open: Map<string, Open<E>>, id: string, entry: E): void {
    open.set(id, { index: this.#entries.push(entry) - 1, entry });
  }

  #change<E extends Entry>(
    open: Map<string, Open<E>>,
    id: HistoryEvent['eventId'],
    changed: (before: E) => Partial<E>,
  ): void {
    const before = open.get(idOf(id));
    if (before === undefined) return;
    const entry = { ...before.entry, ...changed(before.entry) };
    this.#entries[before.index] = entry;
    open.set(idOf(id), { ...before, entry });
  }
}

const RunReason = z.object({ reason: z.string() });
const StateName = z.string().min(1);
const LocalActivity = z.object({
  activity_type: z.string().optional(),
  attempt: z.number().optional(),
  complete_time: z.object({ seconds: z.number(), nanos: z.number().default(0) }).nullish(),
});
const Deeds = z.array(
  z.object({
    did: z.string(),
    what: z.string(),
    count: z.number().optional(),
    names: z.array(z.string()).optional(),
  }),
);
const Result = z.object({
  did: Deeds,
  next: z.object({ do: z.string(), because: z.string().optional(), for: z.string().optional() }).optional(),
  refusal: z.object({ message: z.string() }).optional(),
});

function doneWith(payload: Payload | null | undefined, tookMs: number): StepEnd {
  const read = readPayload(payload);
  const nothing = { how: 'done', tookMs, did: [], next: undefined, refusal: undefined } as const;
  if (read === undefined) return nothing;
  if (read === ENCRYPTED) return { ...nothing, did: ENCRYPTED };
  const result = Result.safeParse(read.value).data;
  if (result === undefined) return nothing;
  const { did, next, refusal } = result;
  const because = next?.because ?? (next?.for === undefined ? '' : `waiting for ${next.for}`);
  return {
    how: 'done',
    tookMs,
    did: did.map(({ count, names, ...deed }) => ({
      ...deed,
      ...(count && { count }),
      ...(names && { names }),
    })),
    next: next && { do: next.do, because },
    refusal: refusal?.message,
  };
}

function endOf(event: HistoryEvent): Omit<RunEnd, 'atMs'> | undefined {
  const completed = event.workflowExecutionCompletedEventAttributes;
  if (completed) return { how: 'completed', words: textOf(completed.result?.payloads?.[0]) ?? '' };
  const failed = event.workflowExecutionFailedEventAttributes;
  if (failed) return { how: 'failed', words: failed.failure ? failureOf(failed.failure).message : '' };
  const terminated = event.workflowExecutionTerminatedEventAttributes;
  if (terminated) return { how: 'terminated', words: terminated.reason ?? '' };
  if (event.workflowExecutionContinuedAsNewEventAttributes) return { how: 'continued as new', words: '' };
  if (event.workflowExecutionCanceledEventAttributes) return { how: 'canceled', words: '' };
  if (event.workflowExecutionTimedOutEventAttributes) return { how: 'timed out', words: '' };
  return undefined;
}

const EncodedFailure = z.object({ message: z.string() });

/** With encryption, the message of a failure is in a payload of its own. */
export function failureOf({
  message,
  encodedAttributes,
  applicationFailureInfo,
  timeoutFailureInfo,
}: Failure): StepFailure {
  const type = applicationFailureInfo?.type ?? (timeoutFailureInfo ? 'Timeout' : undefined);
  const read = readPayload(encodedAttributes);
  if (read === undefined) return { type, message: message ?? '' };
  return { type, message: wordsOf(read, (value) => EncodedFailure.safeParse(value).data?.message) };
}

function textOf(payload: Payload | null | undefined): string | undefined {
  const read = readPayload(payload);
  if (read === undefined) return undefined;
  return wordsOf(read, (value) => (typeof value === 'string' ? value : undefined));
}

function wordsOf(read: Read | undefined, parse: (value: unknown) => string | undefined): string {
  if (read === ENCRYPTED) return ENCRYPTED_WORDS;
  return (read && parse(read.value)) ?? '';
}

function idOf(id: HistoryEvent['eventId']): string {
  return id === undefined || id === null ? '' : String(id);
}

/** Of a timestamp or a duration of protobuf; nanoseconds are cut off. */
export function msOf(time: Moment | null | undefined): number {
  return Number(time?.seconds ?? 0) * 1_000 + Math.floor((time?.nanos ?? 0) / 1e6);
}
