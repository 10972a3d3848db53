import type { StartAnswer, Effect } from '../../../src/watcher/request-state.ts';
import type { next } from '../../../src/watcher/request-machine.ts';
import type { RequestState } from '../../../src/watcher/request-state.ts';
import { VISIBILITY_LAG_MS } from '../../../src/watcher/timing.ts';

/** What disturbs, and how often at most. */
export interface Budget {
  /** Somebody edits the resource. */
  readonly edits?: number;
  /** Somebody deletes it. */
  readonly deletes?: number;
  /** A call is refused, or Temporal cannot be reached. */
  readonly refusals?: number;
  /** A call is made, and its answer is lost. */
  readonly 'lost answers'?: number;
  /** Time passes although something else is due: the watch, Temporal, a worker are slow. */
  readonly slowness?: number;
  /** A run is terminated by hand. */
  readonly terminations?: number;
  /** Temporal forgets everything. */
  readonly wipes?: number;
  /** Another watcher takes over, and the one that led goes on for a while. */
  readonly failovers?: number;
  /** The leader is not sure for a moment that it leads. */
  readonly doubts?: number;
  /** A watcher starts anew. */
  readonly restarts?: number;
  /** A watch breaks: what has happened meanwhile is shown at once. */
  readonly relists?: number;
}

export interface Scenario {
  readonly budget: Budget;
  /** What the run of each generation comes to. Default: one step, and the resource is in its desired state. */
  readonly kind?: 'one step' | 'a Job' | 'stalls at even generations';
  /** So often a run finds nothing to do although the view calls for one. */
  readonly inVain?: number;
  /** Watcher and worker are one process: the end of a run comes back. */
  readonly endsAreSeen?: boolean;
  /** The open runs are never listed: nothing but what the watcher sees and hears brings it on. */
  readonly neverLists?: boolean;
  /** What decides: the watcher's own, or one that is broken on purpose. */
  readonly decide?: typeof next;
}

/** What there is of the resource. */
export interface Live {
  readonly version: number;
  readonly generation: number;
  /** The generation whose desired state was reached. */
  readonly done: number;
  /** The generation that a Job was created for, and whether it has ended. */
  readonly job: readonly [generation: number, hasEnded: boolean];
}

export interface Call {
  readonly effect: Exclude<Effect, { do: 'report' }>;
  /** What Temporal says; null: the call has not arrived. */
  readonly answer: StartAnswer | null;
}

export interface WatcherState {
  leads: boolean;
  /** What it leads by ends with this process, or with its term. */
  ends: boolean;
  view: Live | null;
  /** What the watch has yet to show. */
  toShow: (Live | null)[];
  state: RequestState | null;
  call: Call | null;
  /** A list of the open runs that was asked for: whether it has ours, and when that was. */
  list: readonly [isOpen: boolean, askedAtMs: number] | null;
  /** When it lists the open runs although it knows of none; null: it has. */
  listAtMs: number | null;
  isFirstList: boolean;
  /** The end of a run that nobody has told it of yet. */
  endsToSee: number;
}

export interface Run {
  /** Whether a signal has come that it has not looked for. */
  hasSignal: boolean;
  doing: 'look' | 'wait' | 'end';
  /** The generation that it last saw. */
  seen: number;
}

export interface State {
  live: Live | null;
  watchers: WatcherState[];
  run: Run | null;
  /** What visibility shows, and how old it may be by now; null: it is up to date. */
  visible: boolean;
  visibleUntilMs: number | null;
  budget: Record<string, number>;
  inVain: number;
  /** Since the last start: how long ago, and for what. */
  lastStart: readonly [atMs: number, of: string, inVain: number] | null;
}

export function watcherOf(live: Live | null, leads: boolean): WatcherState {
  const nothing = { state: null, call: null, list: null, listAtMs: null, isFirstList: false, endsToSee: 0 };
  return { leads, ends: false, view: live, toShow: [], ...nothing };
}

export function at({ watchers }: State, who: number): WatcherState {
  const watcher = watchers[who];
  if (watcher === undefined) throw new Error(`there is no watcher ${who}`);
  return watcher;
}

export function changed(state: State, change: Partial<Live> | null): void {
  if (state.live === null) return;
  state.live = change === null ? null : { ...state.live, version: state.live.version + 1, ...change };
  for (const { toShow } of state.watchers) toShow.push(state.live);
}

export function signals({ run }: State): StartAnswer {
  if (run === null) return 'not-open';
  run.hasSignal = true;
  return 'signalled';
}

/** Visibility follows when it likes, within its lag. */
export function opennessChanged(state: State): void {
  state.visibleUntilMs ??= VISIBILITY_LAG_MS;
}

export function caughtUp(state: State): void {
  state.visibleUntilMs = null;
  state.visible = state.run !== null;
}
