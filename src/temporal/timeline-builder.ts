import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import type { Cause } from '../api/cause.ts';
import { FAILURE } from '../runs/failures.ts';
import { SEARCH_ATTRIBUTES } from '../runs/search-attributes.ts';
import { isGraceTimer, waitingFor } from '../runs/sentences.ts';
import { ENCRYPTED, textIn, valueIn, wordsIn, type MaybePayload } from './payloads.ts';
import {
  isCutOff,
  TIMEOUT,
  type TimelineEntry,
  type TimelineNextStep,
  type RunEnd,
  type RunTimeline,
  type StateEntry,
  type TimelineStepEnd,
  type StepEntry,
  type FailureInHistory,
  type WaitEntry,
} from './timeline.ts';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** Makes the timeline of a run from its history. @param events decoded: see `decoded` in payloads.ts */
export function timelineOf(events: readonly HistoryEvent[]): RunTimeline {
  const builder = new TimelineBuilder();
  for (const event of events) builder.add(event);
  return { ...builder.run, entries: builder.entries };
}

/** Source: temporal/api/enums/v1/workflow.proto, `TimeoutType`. */
const START_TO_CLOSE = 1;

/** The marker of a local activity, as the SDK's core writes it. */
const LOCAL_ACTIVITY = 'core_local_activity';

/** An entry whose end is not known yet. */
type Draft<T> = { -readonly [Name in keyof T]: T[Name] };

class TimelineBuilder {
  run: Draft<Omit<RunTimeline, 'entries'>> = { runId: '', startedAtMs: 0, reason: '', end: undefined };
  readonly entries: TimelineEntry[] = [];
  /** By the ID of the event that scheduled the activity. */
  readonly #steps = new Map<string, Draft<StepEntry>>();
  /** By the ID of the event that started the timer. */
  readonly #waits = new Map<string, Draft<WaitEntry>>();
  #state: Draft<StateEntry> | undefined;
  /** The worker of a workflow task did not come to its end, nor did the local step in it, if there was one. */
  #isTaskCutOff = false;
  /** The time of the run: its local activities follow each other. */
  #clockMs = 0;

  add(event: HistoryEvent): void {
    const atMs = msOf(event.eventTime);
    if (event.workflowTaskStartedEventAttributes) this.#clockMs = atMs;
    this.#addRun(event, atMs);
    this.#addTaskFailure(event);
    this.#addSignal(event, atMs);
    if (event.markerRecordedEventAttributes?.markerName === LOCAL_ACTIVITY) this.#addLocalStep(event);
    this.#addStep(event, atMs);
    this.#endStep(event, atMs);
    this.#addWait(event, atMs);
    this.#addState(event, atMs);
  }

  #addRun(event: HistoryEvent, atMs: number): void {
    const started = event.workflowExecutionStartedEventAttributes;
    if (started) {
      this.run.runId = started.originalExecutionRunId ?? '';
      this.run.startedAtMs = this.#clockMs = atMs;
      this.run.reason = wordsIn(started.input?.payloads?.[0], RunInput, ({ reason }) => reason);
    }
    const end = endOf(event);
    if (end === undefined) return;
    this.run.end = { atMs, ...end };
    this.#endState(atMs);
  }

  #addTaskFailure(event: HistoryEvent): void {
    const failure = event.workflowTaskFailedEventAttributes?.failure;
    if (failure) this.run.taskFailure = stepFailureOf(failure);
    if (event.workflowTaskCompletedEventAttributes) delete this.run.taskFailure;
    this.#isTaskCutOff ||= Number(event.workflowTaskTimedOutEventAttributes?.timeoutType) === START_TO_CLOSE;
  }

  #addSignal({ workflowExecutionSignaledEventAttributes: signaled }: HistoryEvent, atMs: number): void {
    if (!signaled) return;
    const { signalName, identity, input } = signaled;
    const reason = textIn(input?.payloads?.[0]);
    this.entries.push({ kind: 'signal', atMs, signal: signalName ?? '', reason, by: identity ?? '' });
  }

  #addStep(event: HistoryEvent, atMs: number): void {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) {
      const entry: Draft<StepEntry> = {
        ...{ kind: 'step', atMs, step: scheduled.activityType?.name ?? '', summary: summaryOf(event) },
        ...{ isLocal: false, attempts: 0, end: { how: 'in progress' } },
      };
      this.#addEntryOf(entry);
      this.#steps.set(String(event.eventId), entry);
    }
    const started = event.activityTaskStartedEventAttributes;
    const step = this.#steps.get(String(started?.scheduledEventId));
    if (!started || !step) return;
    step.attempts = started.attempt ?? 1;
    if (started.lastFailure) step.failure = stepFailureOf(started.lastFailure);
    markCutOff(step, isCutOff(step.failure));
  }

  #addEntryOf(step: Draft<StepEntry>): void {
    markCutOff(step, this.#isTaskCutOff);
    this.#isTaskCutOff = false;
    this.entries.push(step);
  }

  #endStep(event: HistoryEvent, atMs: number): void {
    const completed = event.activityTaskCompletedEventAttributes;
    const failed = event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
    const dropped = event.activityTaskCancelRequestedEventAttributes;
    const step = this.#steps.get(String((completed ?? failed ?? dropped)?.scheduledEventId));
    if (!step) return;
    const tookMs = atMs - step.atMs;
    if (completed) step.end = doneWith(completed.result?.payloads?.[0], tookMs);
    else step.end = { how: failed ? 'failed' : 'dropped', tookMs };
    if (failed?.failure) step.failure = stepFailureOf(failed.failure);
    if (dropped ?? event.activityTaskTimedOutEventAttributes) markCutOff(step, true);
  }

  /** The marker has the time of the run's clock at its end. The next local activity begins then. */
  #addLocalStep(event: HistoryEvent): void {
    const { details, failure } = event.markerRecordedEventAttributes ?? {};
    const data = valueIn(details?.['data']?.payloads?.[0], LocalActivity);
    const { activity_type, attempt, complete_time } = data === ENCRYPTED ? {} : (data ?? {});
    const endedMs = complete_time ? msOf(complete_time) : this.#clockMs;
    const tookMs = Math.max(0, endedMs - this.#clockMs);
    const end = failure
      ? ({ how: 'failed', tookMs } as const)
      : doneWith(details?.['result']?.payloads?.[0], tookMs);
    this.#addEntryOf({
      ...{ kind: 'step', atMs: this.#clockMs, step: activity_type ?? '', summary: summaryOf(event) },
      ...{ isLocal: true, attempts: attempt ?? 1, ...(failure && { failure: stepFailureOf(failure) }), end },
    });
    this.#clockMs += tookMs;
  }

  #addWait(event: HistoryEvent, atMs: number): void {
    const { timerStartedEventAttributes: started, timerFiredEventAttributes: fired } = event;
    const summary = summaryOf(event) ?? '';
    if (started && !isGraceTimer(summary)) {
      const timeoutMs = msOf(started.startToFireTimeout);
      const entry: WaitEntry = { kind: 'wait', atMs, summary, timeoutMs, end: { how: 'in progress' } };
      this.entries.push(entry);
      this.#waits.set(String(event.eventId), entry);
    }
    const ended = fired ?? event.timerCanceledEventAttributes;
    const wait = this.#waits.get(String(ended?.startedEventId));
    if (wait) wait.end = { how: fired ? 'time passed' : 'something changed', tookMs: atMs - wait.atMs };
  }

  #addState({ upsertWorkflowSearchAttributesEventAttributes: upserted }: HistoryEvent, atMs: number): void {
    const attribute = upserted?.searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.state];
    if (attribute === undefined) return;
    this.#endState(atMs);
    const state = textIn(attribute);
    if (state === '') return;
    this.#state = { kind: 'state', atMs, state, untilMs: undefined };
    this.entries.push(this.#state);
  }

  #endState(untilMs: number): void {
    if (this.#state) this.#state.untilMs = untilMs;
    this.#state = undefined;
  }
}

function markCutOff(step: Draft<StepEntry>, isIt: boolean): void {
  if (isIt) step.mayLackWrites = true;
  else delete step.mayLackWrites;
}

function endOf(event: HistoryEvent): Omit<RunEnd, 'atMs'> | undefined {
  const completed = event.workflowExecutionCompletedEventAttributes;
  if (completed) return { how: 'completed', words: textIn(completed.result?.payloads?.[0]) };
  const failed = event.workflowExecutionFailedEventAttributes;
  if (failed) return { how: 'failed', words: failed.failure ? stepFailureOf(failed.failure).message : '' };
  const terminated = event.workflowExecutionTerminatedEventAttributes;
  if (terminated) return { how: 'terminated', words: terminated.reason ?? '' };
  if (event.workflowExecutionContinuedAsNewEventAttributes) return { how: 'continued as new', words: '' };
  if (event.workflowExecutionCanceledEventAttributes) return { how: 'canceled', words: '' };
  if (event.workflowExecutionTimedOutEventAttributes) return { how: 'timed out', words: '' };
  return undefined;
}

const RunInput = z.object({ reason: z.string() });

/** Source: sdk-core, `LocalActivityMarkerData`. */
const LocalActivity = z.object({
  activity_type: z.string().optional(),
  attempt: z.number().optional(),
  complete_time: z.object({ seconds: z.number(), nanos: z.number().default(0) }).nullish(),
});

const AdviceInHistory = z.union([z.string(), z.object({ run: z.string(), to: z.string() })]);

const CauseInHistory = z.object({
  reason: z.string(),
  message: z.string(),
  advice: z.array(AdviceInHistory).default([]),
});

/** A `CauseInFailure`; `message` in failures that are not of the edge. */
const CauseInFailed = CauseInHistory.extend({
  message: z.string().optional(),
  messageFrom: z.number().default(0),
});

const NextInHistory = z.object({
  do: z.string(),
  isStep: z.literal(true).optional(),
  because: z.string().optional(),
  for: z.string().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  advice: z.array(AdviceInHistory).optional(),
  cause: CauseInHistory.optional(),
  notReady: CauseInHistory.optional(),
});

const HELD_REASONS = ['Paused', 'NamespacePaused', 'AwaitingApproval', 'Rejected'] as const;

const ActionsInHistory = z.array(
  z.object({
    did: z.string(),
    what: z.string(),
    count: z.number().exactOptional(),
    times: z.number().exactOptional(),
    names: z.array(z.string()).exactOptional(),
  }),
);

/** A `StepResult`, as far as people read it. */
const Result = z.object({
  did: ActionsInHistory,
  next: NextInHistory.optional(),
  refusal: z.object({ message: z.string() }).optional(),
});

function doneWith(result: MaybePayload, tookMs: number): TimelineStepEnd {
  const value = valueIn(result, Result);
  if (value === undefined || value === ENCRYPTED) {
    const did = value === ENCRYPTED ? 'encrypted' : [];
    return { how: 'done', tookMs, did, next: undefined, refusal: undefined };
  }
  const { did, next, refusal } = value;
  return { how: 'done', tookMs, did, next: next && nextIn(next), refusal: refusal?.message };
}

function nextIn(next: z.infer<typeof NextInHistory>): TimelineNextStep {
  const { do: name, isStep, reason, message, advice = [] } = next;
  const because = next.because ?? message ?? (next.for === undefined ? '' : waitingFor(next.for));
  const stalled =
    name === 'stalled' && reason !== undefined ? { reason, message: because, advice } : undefined;
  const cause = next.cause ?? next.notReady ?? stalled;
  const held = name === 'held' ? HELD_REASONS.find((each) => each === reason) : undefined;
  const what = next.for === undefined ? {} : { for: next.for };
  return {
    do: name,
    ...(isStep && { isStep }),
    because,
    ...what,
    ...(cause && { cause }),
    ...(held && { held }),
  };
}

function summaryOf({ userMetadata }: HistoryEvent): string | undefined {
  return userMetadata?.summary ? textIn(userMetadata.summary) : undefined;
}

const EncodedFailure = z.object({ message: z.string() });

/** With encryption, the message is in a payload. */
export function stepFailureOf(failure: temporal.api.failure.v1.IFailure): FailureInHistory {
  const { message, encodedAttributes, applicationFailureInfo, timeoutFailureInfo, cause: cut } = failure;
  // What the server has cut, it puts there: "Failure exceeds size limit."
  if (failure.serverFailureInfo && cut) return stepFailureOf(cut);
  const type = applicationFailureInfo?.type ?? (timeoutFailureInfo ? TIMEOUT : undefined);
  const read = valueIn(applicationFailureInfo?.details?.payloads?.[0], CauseInFailed);
  const words = encodedAttributes
    ? wordsIn(encodedAttributes, EncodedFailure, (failure) => failure.message)
    : (message ?? '');
  const cause = read === ENCRYPTED || read === undefined ? undefined : causeFrom(read, words);
  // Only this failure has what the step did before.
  const done =
    type === FAILURE.retryAfter && valueIn(applicationFailureInfo?.details?.payloads?.[1], ActionsInHistory);
  return { type, message: words, ...(cause && { cause }), ...(Array.isArray(done) && { did: done }) };
}

function causeFrom(
  { reason, message, messageFrom, advice }: z.infer<typeof CauseInFailed>,
  words: string,
): Cause {
  return { reason, message: message ?? words.slice(messageFrom), advice };
}

/** Seconds are a Long in protobuf, and a number in JSON. */
interface Moment {
  readonly seconds?: { toNumber(): number } | number | null | undefined;
  readonly nanos?: number | null | undefined;
}

/** The milliseconds of a timestamp or a duration of protobuf, without fractions. */
export function msOf(time: Moment | null | undefined): number {
  return Number(time?.seconds ?? 0) * 1_000 + Math.floor((time?.nanos ?? 0) / 1e6);
}
