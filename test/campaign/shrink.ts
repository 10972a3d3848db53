import type { Schedule, ScheduledEvent } from './events.ts';

/**
 * The shortest schedule that still fails, by delta debugging: halves are left out, then quarters, and in the end single
 * events (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input").
 *
 * @param fails runs a schedule; one that does not fail each time it is run may be kept longer than it had to be
 */
export async function shrunk(
  schedule: Schedule,
  fails: (schedule: Schedule) => Promise<boolean>,
): Promise<Schedule> {
  let { events } = schedule;
  let parts = 2;
  while (events.length > 1) {
    const shorter = await firstFailing(pieces(events, parts), (left) => fails({ ...schedule, events: left }));
    if (shorter !== undefined) {
      events = shorter;
      parts = Math.max(2, parts - 1);
    } else if (parts >= events.length) break;
    else parts = Math.min(events.length, parts * 2);
  }
  return { ...schedule, events };
}

/** What is left where one part of so many is left out. The pause before what is left out goes with it. */
function pieces(events: readonly ScheduledEvent[], parts: number): readonly (readonly ScheduledEvent[])[] {
  const size = Math.ceil(events.length / parts);
  const starts = Array.from({ length: Math.ceil(events.length / size) }, (_, index) => index * size);
  return starts.map((start) => [...events.slice(0, start), ...events.slice(start + size)]);
}

async function firstFailing<T>(
  candidates: readonly T[],
  fails: (candidate: T) => Promise<boolean>,
): Promise<T | undefined> {
  for (const candidate of candidates) if (await fails(candidate)) return candidate;
  return undefined;
}
