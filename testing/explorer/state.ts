import type { Refusal } from '../../src/runs/decision.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import type { KeyedAttempt } from '../../src/runs/run.ts';
import type { UnknownAttempt } from '../../src/api/unknown-attempt.ts';
import type { Reported } from '../../src/watcher/evaluation.ts';
import type { Request } from './api-server.ts';
import type { Attempt } from './attempt.ts';
import type { StoredObjects } from './cluster.ts';
import type { Datum } from './values.ts';
import type { RecheckState, Watch } from './watch.ts';

/** All that decides what may happen next. Plain data: a state is compared as text. */
export interface WorldState {
  cluster: StoredObjects;
  /** Since the exploration began. */
  clockMs: number;
  watches: Record<string, Watch>;
  /** In which order the watches have something to show, where that matters. */
  order: string[];
  /** What the watcher knows of the requests for a reconcile. */
  look: RecheckState;
  /** How much more may be deleted by what was approved; null: nobody counts. */
  approved: number | null;
  /** Something of the view has changed, and what that comes to was not asked yet. */
  isViewNew: boolean;
  /** What the dispatcher knows of runs, by the UID of their resource. */
  entries: Record<string, DispatcherEntry>;
  /** Those that are open, by the UID of their resource. */
  runs: Record<string, SimulatedRun>;
  /** Views that the watcher has left in the process for a run that it starts or signals. */
  seeds: Record<string, Datum>;
  /** An attempt that Temporal has given up, and that still goes on. */
  ghost: Ghost | null;
  /** A request on its way to the server, whose answer reaches nobody. */
  lingering: Request | null;
  /** What does nothing for now, however much it has to do. */
  slow: Component[];
  /** How often something may still fall behind. */
  slowness: number;
  /** A change was not shown: so many waits may end because their time is over. */
  missed: number;
  /** Where time went on in this story, by numbers; only where anything is decided from the time. */
  rested: number[];
  /** Others have not changed anything since all was known and no run was open. */
  isUndisturbed: boolean;
  /** The view has shown a change by others since the last start or signal; null: nobody asks. */
  hasNews: boolean | null;
  /** What changes now is changed by others. */
  isByOthers: boolean;
}

/** Whatever can be slow by itself: `watch of pods`, `run of uid-1`. */
export type Component = string;

/** The dispatcher's `Pending`, as far as it decides what is started and signalled. */
export interface DispatcherEntry {
  readonly ref: ResourceRef;
  reported: Reported | null;
  /** A step stands in the view, and is signalled if nothing changes. */
  standing: boolean;
  /** Whether it waits in the queue, and for a moment to pass. */
  queued: 'no' | 'now' | 'later';
  run: 'unknown' | 'open';
  /** A run was started or signalled, and is not known to have ended. */
  touched: boolean;
  notNeeded: boolean;
  /** A run has just ended: the view may not show yet what it wrote. */
  settling: boolean;
  /** The inputs that the last run was started or signalled with. */
  requestedFor: string | null;
}

/** One open workflow execution, and what the worker remembers of it. */
export interface SimulatedRun {
  readonly ref: ResourceRef;
  /** A `Next`. */
  next: Datum;
  /** A signal has come that no step has seen. */
  unseen: boolean;
  /** A signal waits for the end of the workflow task. */
  buffered: boolean;
  /** Where the workflow task under way began; null: there is none. Local steps since are lost with it. */
  task: Checkpoint | null;
  localSteps: number;
  refused: Refused | null;
  /** A step of it has ended. */
  hasResult: boolean;
  /** As its workflow has them. */
  unknown: readonly UnknownAttempt[];
  lastAttempt: KeyedAttempt | null;
  attempt: RunAttempt | null;
  /** What the last step has left in this process: a `Known`. */
  left: Datum | null;
  /** This process has made a step of it since it last rested. */
  isRemembered: boolean;
  /** Its step has failed by what it was answered, and nothing has changed since. */
  hasFailed: boolean;
  /** Its step fails in the same way until something changes; `changed`: something has changed since. */
  backoff: 'no' | 'same' | 'changed';
}

export interface Checkpoint {
  readonly next: Datum;
  readonly unseen: boolean;
  readonly localSteps: number;
  readonly refused: Refused | null;
  readonly hasResult: boolean;
  readonly unknown: readonly UnknownAttempt[];
  readonly lastAttempt: KeyedAttempt | null;
}

/** The step that was refused last, and has not succeeded since. */
export interface Refused {
  readonly step: string;
  readonly refusal: Refusal;
}

export interface RunAttempt extends Attempt {
  readonly isDurable: boolean;
  /** Its step asks to be durable: what comes of an attempt that is dropped is noted as unknown. */
  readonly asksToBe: boolean;
  /** Of the data of its decision. */
  readonly digest?: string;
  /** No signal has come since it began: what it leaves counts. */
  readonly isCurrent: boolean;
}

export interface Ghost {
  readonly ref: ResourceRef;
  attempt: Attempt;
  isCurrent: boolean;
}

/** What is in any order, in one. */
export function sort(state: WorldState): void {
  for (const watch of Object.values(state.watches)) watch.known = sorted(watch.known);
  state.cluster = sorted(state.cluster);
  state.entries = sorted(state.entries);
  state.runs = sorted(state.runs);
  state.seeds = sorted(state.seeds);
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  const keys = Object.keys(record);
  if (keys.every((key, place) => place === 0 || (keys[place - 1] ?? '') < key)) return record;
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What a step may change, is its own. */
export function copyOf(state: WorldState): WorldState {
  return {
    ...state,
    cluster: { ...state.cluster },
    watches: mapped(state.watches, ({ known, events }) => ({ known: { ...known }, events: [...events] })),
    order: [...state.order],
    look: { ...state.look },
    entries: mapped(state.entries, (entry) => ({ ...entry })),
    runs: mapped(state.runs, (run) => ({ ...run })),
    seeds: { ...state.seeds },
    ghost: state.ghost && { ...state.ghost },
  };
}

function mapped<T>(record: Record<string, T>, map: (value: T) => T): Record<string, T> {
  const copy: Record<string, T> = {};
  for (const key of Object.keys(record)) copy[key] = map(record[key] as T);
  return copy;
}
