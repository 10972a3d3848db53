import type { temporal } from '@temporalio/proto';

type Event = temporal.api.history.v1.IHistoryEvent;

/**
 * What Temporal Cloud would bill of a run, in actions: starts, signals, timers, attempts of activities, upserts of search
 * attributes, and for local activities one a workflow task. Heartbeats are not in the history.
 *
 * Source: https://docs.temporal.io/cloud/actions
 */
export function actionsIn(events: readonly Event[]): number {
  const tasksWithMarkers = new Set<string>();
  let actions = 0;
  for (const event of events) {
    const marker = event.markerRecordedEventAttributes;
    if (marker) tasksWithMarkers.add(String(marker.workflowTaskCompletedEventId));
    else actions += actionsOf(event);
  }
  return actions + tasksWithMarkers.size;
}

function actionsOf(event: Event): number {
  const { activityTaskStartedEventAttributes: started } = event;
  // The event is written once, when the activity ends, and says which attempt that was.
  if (started) return started.attempt ?? 1;
  const isAction =
    event.workflowExecutionStartedEventAttributes ??
    event.workflowExecutionSignaledEventAttributes ??
    event.timerStartedEventAttributes ??
    event.upsertWorkflowSearchAttributesEventAttributes;
  return isAction ? 1 : 0;
}
