import type { Fault } from './faults.ts';
import type { Change } from './people.ts';

/*
 * A schedule is plain data, so that it can be printed and repeated. What people do is in people.ts, and what goes wrong
 * in faults.ts: each with its fields.
 */

export type What = Change | Fault;

export interface ScheduledEvent {
  /** Since the event before. */
  readonly afterMs: number;
  readonly what: What;
}

export interface Schedule {
  readonly seed: number;
  readonly events: readonly ScheduledEvent[];
}

export function isFault(what: What): what is Fault {
  return 'fault' in what;
}

const SERVER_FAULTS: readonly string[] = [
  'temporal restarts',
  'temporal is wiped',
  'api server restarts',
  'etcd is saved',
  'etcd is restored',
];

/** Whether it needs servers that no other schedule uses meanwhile. */
export function needsOwnServers({ events }: Schedule): boolean {
  return events.some(({ what }) => isFault(what) && SERVER_FAULTS.includes(what.fault));
}

/** The same changes, and nothing goes wrong. */
export function undisturbed(schedule: Schedule): Schedule {
  return { ...schedule, events: schedule.events.filter(({ what }) => !isFault(what)) };
}

/** `+250 ms scale set: web-a, 3`: one line an event. */
export function printed({ events }: Schedule): string {
  return events
    .map(({ afterMs, what }, index) => `${index + 1}. +${afterMs} ms ${described(what)}`)
    .join('\n');
}

function described(what: What): string {
  const { name, ...fields } = isFault(what)
    ? { ...what, name: `FAULT ${what.fault}`, fault: undefined }
    : { ...what, name: what.change, change: undefined };
  const details = JSON.stringify(fields);
  return details === '{}' ? name : `${name} ${details}`;
}
