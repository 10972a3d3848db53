import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const Action = z.object({ did: z.string(), what: z.string(), count: z.number().default(1) });
const Result = z.object({
  did: z.array(Action),
  next: z.looseObject({ do: z.string() }),
});
const LocalActivity = z.object({ activity_type: z.string() });

/** A step as a history has it, whether its activity was local or regular. */
export interface RecordedStep {
  readonly name: string;
  readonly did: readonly z.infer<typeof Action>[];
  /** The step that comes next, or how the run rests. */
  readonly next: string;
}

/** The steps of one run that came to an end, in their order. */
export function stepsIn(history: readonly HistoryEvent[]): readonly RecordedStep[] {
  const names = new Map<string, string>();
  return history.flatMap((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) names.set(String(event.eventId), scheduled.activityType?.name ?? '');
    const completed = event.activityTaskCompletedEventAttributes;
    if (completed) {
      return stepOf(names.get(String(completed.scheduledEventId)), completed.result?.payloads?.[0]);
    }
    const { markerName, details = {} } = event.markerRecordedEventAttributes ?? {};
    if (markerName !== 'core_local_activity') return [];
    const { activity_type } = LocalActivity.parse(read(details?.['data']?.payloads?.[0]));
    return stepOf(activity_type, details?.['result']?.payloads?.[0]);
  });
}

/** A local activity that failed has a marker, and no result. */
function stepOf(name = '', payload: Payload | null | undefined): readonly RecordedStep[] {
  if (payload === undefined || payload === null) return [];
  const { did, next } = Result.parse(read(payload));
  return [{ name, did, next: next.do }];
}

function read(payload: Payload | null | undefined): unknown {
  return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
}
