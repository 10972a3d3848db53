import { PEOPLE } from './people.ts';
import type { Delivery } from './watch.ts';
import type { World } from './world.ts';

/** What disturbs, besides what others do to the objects. */
export const FAULTS = [
  /** The worker is killed: between two requests, or after one was made and before it was answered. */
  'crash',
  /** The watcher is killed, and lists everything anew. */
  'restart',
  /** The next step runs in another process. */
  'forget',
  /** Temporal gives up an attempt, which goes on nevertheless. */
  'abandon',
  /** A request is answered by nobody: it was made, or it was not. */
  'error',
  /** A request is answered by nobody, and made much later: before a wait is over. */
  'linger',
  /** The time of a step is up. */
  'late',
  /** A signal comes twice, or from another watcher. */
  'duplicate',
  /** Temporal does not answer a start or a signal: it was made, or it was lost. */
  'outage',
  /** A watch breaks: what has happened meanwhile is shown at once. */
  'relist',
  /** What waits for a moment to pass comes before what usually is faster, such as the watch. */
  'lag',
  /** A wait ends because its time is over. */
  'timer',
] as const;
export type Fault = (typeof FAULTS)[number];

/** What differs from one operator to another. */
export interface Conditions {
  /** Watcher and worker are one process, as by default: the view goes over, and the end of a run comes back. */
  readonly processes?: 'one' | 'two';
  /** Each start and signal follows a change by others. Not where crashes repeat them, or watches lag behind each other. */
  readonly countsSignals?: boolean;
  /** Default: one by one. */
  readonly delivery?: Delivery;
}

/** What may happen, and how often each of it at most. */
export interface Disturbed {
  /** By the names of the faults, of what people ask, and of what others do in this world. */
  readonly budget?: Readonly<Record<string, number>>;
  /** Once nothing disturbs any more, what an attempt reads one after the other is read at one moment. */
  readonly readsAtOnce?: boolean;
  /**
   * How often a watch, the watcher or a run may fall behind all others, for as long as it likes. Else what is shown is shown
   * first, then the watcher does its part, then the runs, and then the cluster. Default: all goes on in any order.
   */
  readonly slowness?: number;
}

export interface WorldScenario extends Conditions, Disturbed {}

/** A budget for something that there is not would explore nothing, and say that all is well. */
export function checkNames({ others }: World, budget: Readonly<Record<string, number>>): void {
  const names: readonly string[] = [...FAULTS, ...PEOPLE, ...Object.keys(others)];
  const unknown = Object.keys(budget).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`nothing here is called ${unknown.join(', ')}`);
}
