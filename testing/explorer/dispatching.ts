import { isRest, reasonOf, type NextInHistory } from '../../src/runs/decision.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import {
  afterChange,
  newsIn,
  reportedWith,
  type Reported,
  firstStep,
  isNeeded,
  type Evaluation,
} from '../../src/watcher/evaluation.ts';
import type { DispatcherEntry, SimulatedRun, WorldState } from './state.ts';
import { datumOf } from './values.ts';
import type { WatcherModel } from './watch.ts';

/** What the watcher goes by: its own, or one that is broken on purpose. */
export interface NewsRule {
  readonly newsIn: typeof newsIn;
  readonly reportedWith: (view: Evaluation) => Reported;
  readonly afterChange: (reported: Reported, view: Evaluation) => Reported;
}

export const NEWS: NewsRule = { newsIn, reportedWith, afterChange };

/** What Temporal is asked for. */
export interface WorkflowRequest {
  readonly ref: ResourceRef;
  /** With which step a run begins; undefined: it is signalled alone. */
  readonly first?: NextInHistory;
  readonly why: string;
  /** How many looks were asked for by then. */
  readonly look?: number;
}

/**
 * What `src/watcher/dispatcher.ts` does for one resource, without its times: what is due `now` comes before anything
 * that waits for a moment to pass.
 */
export class Dispatching {
  readonly #watching: WatcherModel;
  readonly #news: NewsRule;

  constructor(watching: WatcherModel, news: NewsRule) {
    this.#watching = watching;
    this.#news = news;
  }

  /** Asks what the view comes to. */
  evaluate(state: WorldState): void {
    state.isViewNew = false;
    const evaluation = this.#watching.evaluate(state);
    if (evaluation === undefined) return;
    const { ref } = evaluation;
    if (isNeeded(evaluation)) this.#isNeeded(state, evaluation);
    else this.#isNotNeeded(state, ref);
  }

  gone(state: WorldState, ref: ResourceRef): void {
    this.#isNotNeeded(state, ref);
  }

  #isNeeded(state: WorldState, evaluation: Evaluation): void {
    const entry = obtain(state, evaluation.ref);
    entry.notNeeded = false;
    entry.standing = false;
    if (entry.reported !== null) entry.reported = this.#news.afterChange(entry.reported, evaluation);
    // The run that was started has come to a rest, too: most likely it is open.
    if (isRest(evaluation.decision) && entry.touched) entry.run = 'open';
    switch (this.#news.newsIn(evaluation, entry.reported ?? undefined)) {
      case 'none':
        return;
      case 'now': {
        const isEarly = entry.reported === null && entry.settling && entry.requestedFor === evaluation.inputs;
        enqueue(entry, isEarly ? 'later' : 'now');
        return;
      }
      case 'if unchanged':
        entry.standing = true;
    }
  }

  #isNotNeeded(state: WorldState, { uid }: ResourceRef): void {
    const entry = state.entries[uid];
    if (entry === undefined) return;
    entry.standing = false;
    if (entry.notNeeded) return;
    entry.reported = null;
    if (entry.run === 'open') enqueue(entry, 'later');
    else if (!entry.touched) forget(state, entry);
  }

  /** A step has found that its resource is converged: the run most likely ends. */
  runEnded(state: WorldState, { uid }: ResourceRef): void {
    const entry = state.entries[uid];
    if (entry === undefined) return;
    if (entry.notNeeded) {
      forgetIdle(state, entry);
      return;
    }
    forgetRun(entry);
    if (!isNeeded(this.#find(state, entry.ref))) {
      forgetIdle(state, entry);
      return;
    }
    entry.settling = true;
    enqueue(entry, 'later');
  }

  /** Takes an entry out of the queue. @returns what is asked of Temporal, if anything */
  dispatch(state: WorldState, uid: string): WorkflowRequest | undefined {
    const entry = state.entries[uid];
    if (entry === undefined) return undefined;
    entry.queued = 'no';
    const evaluation = this.#find(state, entry.ref);
    if (!isNeeded(evaluation)) return this.#signalNotNeeded(state, entry, evaluation);
    if (this.#news.newsIn(evaluation, entry.reported ?? undefined) !== 'now') return undefined;
    entry.reported = this.#news.reportedWith(evaluation);
    state.seeds[uid] = datumOf(evaluation.observation);
    const isOpen = uid in state.runs;
    entry.requestedFor = evaluation.inputs;
    entry.run = isOpen ? 'open' : 'unknown';
    entry.touched = true;
    const { look, decision } = evaluation;
    const request = { ref: entry.ref, first: firstStep(evaluation), why: reasonOf(decision) };
    return look === undefined ? request : { ...request, look };
  }

  /** Temporal has answered. */
  requested(state: WorldState, { look }: WorkflowRequest): void {
    if (look === undefined || state.look.done >= state.look.count) return;
    this.#watching.looked(state, look);
    state.isViewNew = true;
  }

  #signalNotNeeded(
    state: WorldState,
    entry: DispatcherEntry,
    evaluation: Evaluation | undefined,
  ): WorkflowRequest | undefined {
    if (entry.run === 'unknown') return undefined;
    const { uid } = entry.ref;
    entry.notNeeded = true;
    if (evaluation !== undefined) state.seeds[uid] = datumOf(evaluation.observation);
    entry.run = 'unknown';
    if (!(uid in state.runs)) forget(state, entry);
    return { ref: entry.ref, why: 'it is gone, or in its desired state' };
  }

  /** Temporal has not answered: it is asked again. @param before the entry as it was then */
  failed(state: WorldState, { ref, run, touched }: DispatcherEntry): void {
    const entry = obtain(state, ref);
    Object.assign(entry, { run, touched, reported: null, notNeeded: false });
    enqueue(entry, 'later');
  }

  /** A step has stood in the view for long. */
  standsStill(entry: DispatcherEntry): void {
    entry.standing = false;
    entry.reported = null;
    enqueue(entry, 'now');
  }

  /** Whether a list of the open runs would show something that is not known. */
  wouldSweep(state: WorldState): boolean {
    const isGone = ({ ref, queued }: DispatcherEntry) => !(ref.uid in state.runs) && queued === 'no';
    return (
      Object.values(state.entries).some(isGone) ||
      Object.values(state.runs).some((run) => this.#isIdle(state, run))
    );
  }

  /** Compares what is known with the open runs. */
  sweep(state: WorldState): void {
    for (const entry of Object.values(state.entries)) {
      if (!(entry.ref.uid in state.runs) && entry.queued === 'no') this.#hasEnded(state, entry);
    }
    for (const run of Object.values(state.runs)) {
      const isKnown = run.ref.uid in state.entries;
      const isIdle = this.#isIdle(state, run);
      const entry = obtain(state, run.ref);
      entry.run = 'open';
      entry.touched = true;
      const evaluation = this.#find(state, run.ref);
      if (isIdle) enqueue(entry, 'now');
      else if (!isKnown && evaluation !== undefined) entry.reported = this.#news.reportedWith(evaluation);
    }
  }

  /** An open run that is not needed, and was not signalled that. */
  #isIdle(state: WorldState, { ref }: SimulatedRun): boolean {
    const isSignalled = state.entries[ref.uid]?.notNeeded ?? false;
    return !isSignalled && !isNeeded(this.#find(state, ref));
  }

  #hasEnded(state: WorldState, entry: DispatcherEntry): void {
    forgetRun(entry);
    if (isNeeded(this.#find(state, entry.ref))) enqueue(entry, 'now');
    else forget(state, entry);
  }

  #find(state: WorldState, { uid }: ResourceRef): Evaluation | undefined {
    const evaluation = this.#watching.evaluate(state);
    return evaluation?.ref.uid === uid ? evaluation : undefined;
  }
}

function obtain(state: WorldState, ref: ResourceRef): DispatcherEntry {
  return (state.entries[ref.uid] ??= {
    ref,
    reported: null,
    standing: false,
    queued: 'no',
    run: 'unknown',
    touched: false,
    notNeeded: false,
    settling: false,
    requestedFor: null,
  });
}

function enqueue(entry: DispatcherEntry, when: 'now' | 'later'): void {
  if (entry.queued !== 'now') entry.queued = when;
}

function forget(state: WorldState, { ref }: DispatcherEntry): void {
  Reflect.deleteProperty(state.entries, ref.uid);
}

function forgetIdle(state: WorldState, entry: DispatcherEntry): void {
  if (entry.queued === 'no') forget(state, entry);
}

function forgetRun(entry: DispatcherEntry): void {
  entry.run = 'unknown';
  entry.reported = null;
  entry.touched = false;
}
