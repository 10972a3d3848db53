import type { temporal } from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../../contract/search-attributes.ts';
import { isGraceTimer } from '../../contract/sentences.ts';
import {
  doneWith,
  failureOf,
  localActivityIn,
  msOf,
  reasonIn,
  runStateIn,
  textIn,
} from './history-payloads.ts';
import type {
  Entry,
  RunEnd,
  RunTimeline,
  StateEntry,
  StepEntry,
  StepFailure,
  WaitEntry,
} from './timeline.ts';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** What happened in a run, from its history. @param events decoded: see `decoded` in payloads.ts */
export function timelineOf(events: readonly HistoryEvent[]): RunTimeline {
  const builder = new TimelineBuilder();
  for (const event of events) builder.add(event);
  return builder.timeline();
}

/** How the SDK's core marks a local activity. */
const LOCAL_ACTIVITY = 'core_local_activity';

interface Open<E extends Entry> {
  readonly index: number;
  readonly entry: E;
}

class TimelineBuilder {
  #runId = '';
  #startedAtMs = 0;
  #reason = '';
  #end: RunEnd | undefined;
  #taskFailure: StepFailure | undefined;
  readonly #entries: Entry[] = [];
  /** By the id of the event that scheduled or started it. */
  readonly #steps = new Map<string, Open<StepEntry>>();
  readonly #waits = new Map<string, Open<WaitEntry>>();
  #state: Open<StateEntry> | undefined;
  /** The clock of the run: local activities follow each other in it. */
  #clockMs = 0;

  timeline(): RunTimeline {
    return {
      runId: this.#runId,
      startedAtMs: this.#startedAtMs,
      reason: this.#reason,
      entries: this.#entries,
      end: this.#end,
      ...(this.#taskFailure && { taskFailure: this.#taskFailure }),
    };
  }

  add(event: HistoryEvent): void {
    const atMs = msOf(event.eventTime);
    if (event.workflowTaskStartedEventAttributes) this.#clockMs = atMs;
    this.#addStart(event, atMs);
    this.#addTaskFailure(event);
    this.#addSignal(event, atMs);
    if (event.markerRecordedEventAttributes?.markerName === LOCAL_ACTIVITY) this.#addLocalStep(event);
    this.#addStep(event, atMs);
    this.#endStep(event, atMs);
    this.#addWait(event, atMs);
    this.#endWait(event, atMs);
    this.#addState(event, atMs);
    this.#addEnd(event, atMs);
  }

  #addStart({ workflowExecutionStartedEventAttributes: started }: HistoryEvent, atMs: number): void {
    if (!started) return;
    this.#runId = started.originalExecutionRunId ?? '';
    this.#startedAtMs = this.#clockMs = atMs;
    this.#reason = reasonIn(started.input?.payloads?.[0]);
  }

  #addTaskFailure(event: HistoryEvent): void {
    const failure = event.workflowTaskFailedEventAttributes?.failure;
    if (failure) this.#taskFailure = failureOf(failure);
    if (event.workflowTaskCompletedEventAttributes) this.#taskFailure = undefined;
  }

  #addSignal({ workflowExecutionSignaledEventAttributes: signaled }: HistoryEvent, atMs: number): void {
    if (!signaled) return;
    const reason = textIn(signaled.input?.payloads?.[0]) ?? '';
    const { signalName, identity } = signaled;
    this.#entries.push({ kind: 'signal', atMs, signal: signalName ?? '', reason, by: identity ?? '' });
  }

  #addStep(event: HistoryEvent, atMs: number): void {
    const { activityTaskScheduledEventAttributes: scheduled, activityTaskStartedEventAttributes: started } =
      event;
    if (scheduled) {
      this.#begin<StepEntry>(this.#steps, event.eventId, {
        kind: 'step',
        atMs,
        step: scheduled.activityType?.name ?? '',
        summary: textIn(event.userMetadata?.summary),
        isLocal: false,
        attempts: 0,
        end: { how: 'in progress' },
      });
    }
    if (started) {
      const { attempt, lastFailure } = started;
      this.#change<StepEntry>(this.#steps, started.scheduledEventId, () => ({
        attempts: attempt ?? 1,
        ...(lastFailure && { failure: failureOf(lastFailure) }),
      }));
    }
  }

  #endStep(event: HistoryEvent, atMs: number): void {
    const completed = event.activityTaskCompletedEventAttributes;
    const failed = event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
    // A change made it obsolete.
    const dropped = event.activityTaskCancelRequestedEventAttributes;
    if (completed) {
      this.#change<StepEntry>(this.#steps, completed.scheduledEventId, (step) => ({
        end: doneWith(completed.result?.payloads?.[0], atMs - step.atMs),
      }));
    }
    if (failed) {
      this.#change<StepEntry>(this.#steps, failed.scheduledEventId, (step) => ({
        end: { how: 'failed', tookMs: atMs - step.atMs },
        ...(failed.failure && { failure: failureOf(failed.failure) }),
      }));
    }
    if (dropped) {
      this.#change<StepEntry>(this.#steps, dropped.scheduledEventId, (step) => ({
        end: { how: 'dropped', tookMs: atMs - step.atMs },
      }));
    }
  }

  /** It is recorded with the time of the run's own clock at its end; the one after it begins then. */
  #addLocalStep({ markerRecordedEventAttributes: marker, userMetadata }: HistoryEvent): void {
    const { activity_type, attempt, complete_time } = localActivityIn(
      marker?.details?.['data']?.payloads?.[0],
    );
    const endedMs = complete_time ? msOf(complete_time) : this.#clockMs;
    const tookMs = Math.max(0, endedMs - this.#clockMs);
    this.#entries.push({
      kind: 'step',
      atMs: this.#clockMs,
      step: activity_type ?? '',
      summary: textIn(userMetadata?.summary),
      isLocal: true,
      attempts: attempt ?? 1,
      ...(marker?.failure && { failure: failureOf(marker.failure) }),
      end: marker?.failure
        ? { how: 'failed', tookMs }
        : doneWith(marker?.details?.['result']?.payloads?.[0], tookMs),
    });
    this.#clockMs += tookMs;
  }

  #addWait(
    { timerStartedEventAttributes: started, userMetadata, eventId }: HistoryEvent,
    atMs: number,
  ): void {
    if (!started) return;
    const summary = textIn(userMetadata?.summary) ?? '';
    if (isGraceTimer(summary)) return;
    const atMostMs = msOf(started.startToFireTimeout);
    this.#begin<WaitEntry>(this.#waits, eventId, {
      kind: 'wait',
      atMs,
      summary,
      atMostMs,
      end: { how: 'in progress' },
    });
  }

  #endWait(event: HistoryEvent, atMs: number): void {
    this.#change<WaitEntry>(this.#waits, event.timerFiredEventAttributes?.startedEventId, (wait) => ({
      end: { how: 'time passed', tookMs: atMs - wait.atMs },
    }));
    this.#change<WaitEntry>(this.#waits, event.timerCanceledEventAttributes?.startedEventId, (wait) => ({
      end: { how: 'something changed', tookMs: atMs - wait.atMs },
    }));
  }

  #addState({ upsertWorkflowSearchAttributesEventAttributes: upserted }: HistoryEvent, atMs: number): void {
    const attribute = upserted?.searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.state];
    if (attribute === undefined) return;
    this.#endState(atMs);
    const state = runStateIn(attribute);
    if (state === undefined) return;
    const entry: StateEntry = { kind: 'state', atMs, state, untilMs: undefined };
    this.#state = { index: this.#entries.push(entry) - 1, entry };
  }

  #endState(untilMs: number): void {
    if (this.#state === undefined) return;
    this.#entries[this.#state.index] = { ...this.#state.entry, untilMs };
    this.#state = undefined;
  }

  #addEnd(event: HistoryEvent, atMs: number): void {
    const end = endOf(event);
    if (end === undefined) return;
    this.#end = { atMs, ...end };
    this.#endState(atMs);
  }

  #begin<E extends Entry>(open: Map<string, Open<E>>, id: HistoryEvent['eventId'], entry: E): void {
    open.set(idOf(id), { index: this.#entries.push(entry) - 1, entry });
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

function endOf(event: HistoryEvent): Omit<RunEnd, 'atMs'> | undefined {
  const completed = event.workflowExecutionCompletedEventAttributes;
  if (completed) return { how: 'completed', words: textIn(completed.result?.payloads?.[0]) ?? '' };
  const failed = event.workflowExecutionFailedEventAttributes;
  if (failed) return { how: 'failed', words: failed.failure ? failureOf(failed.failure).message : '' };
  const terminated = event.workflowExecutionTerminatedEventAttributes;
  if (terminated) return { how: 'terminated', words: terminated.reason ?? '' };
  if (event.workflowExecutionContinuedAsNewEventAttributes) return { how: 'continued as new', words: '' };
  if (event.workflowExecutionCanceledEventAttributes) return { how: 'canceled', words: '' };
  if (event.workflowExecutionTimedOutEventAttributes) return { how: 'timed out', words: '' };
  return undefined;
}

function idOf(id: HistoryEvent['eventId']): string {
  return id === undefined || id === null ? '' : String(id);
}
