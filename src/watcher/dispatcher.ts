import { NO_WORK, type Controller } from '../contract/controller.ts';
import type { Logger } from '../contract/logger.ts';
import { displayName, parseWorkflowId, workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import { SILENT, type RunsState, type Telemetry } from '../contract/telemetry.ts';
import { backoffMs, pendingFor, type Pending } from './pending.ts';
import { ReadyQueue } from './ready-queue.ts';
import type { Evaluation } from './resources.ts';
import { NotLeading, RunsUnavailable, type OpenRun, type Runs } from './runs.ts';

/** What the dispatcher asks of the projections. */
export interface Known {
  /** The controller of that name, or undefined where this watcher does not run it. */
  controller(name: string): Controller | undefined;
  /** The resource as it is now, or undefined where it is gone. */
  find(ref: ResourceRef): Evaluation | undefined;
  /** Whether this watcher would see such a resource if there were one. */
  covers(ref: ResourceRef): boolean;
}

export interface DispatcherOptions {
  readonly runs: Runs;
  readonly known: Known;
  readonly log: Logger;
  /** Default: nobody observes. */
  readonly telemetry?: Telemetry | undefined;
  /** Starts and signals under way at a time; keep it under the worker's workflow slots, for eager starts. */
  readonly concurrency: number;
  /** The longest that a run without effect waits before it is started anew. */
  readonly resyncMs: number;
}

/** What a list of the open runs says of one. */
interface Listed extends OpenRun {
  readonly askedAtMs: number;
  /** Tell even one that was told before. */
  readonly again: boolean;
}

/** A run is not told of changes while younger than this, nor more often: see docs/adr/0003-local-first.md. */
const SPACING_MS = 200;
/**
 * A start holds its place until the watch shows its effect, or for this long: under load, work then waits
 * here, where it costs nothing, and not in the workers' queues.
 */
const EFFECT_MS = 300;
/** A resource that needs nothing any more most often says so because its run is just ending. */
const TELL_AFTER_MS = 1_000;
/** How long the end of a run, and the watch of its last writes, may take. */
const ENDED_AFTER_MS = 500;
/** A run that was touched since is most likely about to end by itself, and best left alone. */
const YOUNG_MS = 5_000;
/** How long visibility may lag behind the truth before it is believed. */
const VISIBILITY_LAG_MS = 3_000;
const PAUSE_FIRST_MS = 100;
const PAUSE_MOST_MS = 5_000;
const RETRY_FIRST_MS = 1_000;
const RETRY_MOST_MS = 30_000;
/** A run that ended and left its resource unconverged, as far as the watch tells, is started again after this. */
const AGAIN_FIRST_MS = 5_000;

/** Starts a run for each resource that needs one, or tells the one that is open; once per change. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #queue: ReadyQueue;
  readonly #telemetry: Telemetry;
  /** Runs whose effect the watch has yet to show. */
  readonly #awaited = new Map<string, () => void>();
  #unavailableTimes = 0;
  #lastDispatchMs = 0;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#telemetry = options.telemetry ?? SILENT;
    this.#queue = new ReadyQueue((id) => this.#dispatch(id), options.concurrency, this.#telemetry.queue);
  }

  /** What keeps runs from being started, in a sentence. */
  get problem(): string | undefined {
    if (this.#unavailableTimes === 0) return undefined;
    return `Temporal cannot be reached; ${this.#queue.depth} resources wait`;
  }

  /** Resources that may have an open run, or wait for one. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** How many runs are open, by controller. */
  get runs(): RunsState[] {
    const open = [...this.#pending.values()].filter(isOpen);
    return [...new Set(open.map(controllerOf))].map((controller) => {
      const runs = open.filter((pending) => controllerOf(pending) === controller);
      return { controller, open: runs.length, stalled: runs.filter(({ stalled }) => stalled).length };
    });
  }

  /** Whether runs are being started just now, so that a look at the open ones would soon be out of date. */
  get isBusy(): boolean {
    return this.#queue.isBusy || Date.now() - this.#lastDispatchMs < 1_000;
  }

  /** Whether there are runs of which nobody knows whether they are still open. */
  get hasUnknown(): boolean {
    return [...this.#pending.values()].some(({ listed, dirty }) => !listed && !dirty);
  }

  /** A resource, or something of it, has changed. */
  changed(evaluation: Evaluation): void {
    const id = workflowIdFor(evaluation.ref);
    if (evaluation.verdict.needsWork) this.#isNeeded(id, evaluation);
    else this.#isNotNeeded(id, evaluation.ref);
  }

  /** A resource is gone; so is the need for its run, if one is open. */
  gone(ref: ResourceRef): void {
    this.#isNotNeeded(workflowIdFor(ref), ref);
  }

  /**
   * A run has come to its end, as far as is known. A need that is still there a moment later is another one, though
   * it may have the same name: it came up while the run was about to end.
   */
  runEnded(ref: ResourceRef): void {
    const id = workflowIdFor(ref);
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    if (pending.told === NOT_NEEDED) {
      if (!pending.busy && !pending.dirty) this.#pending.delete(id);
      return;
    }
    pending.told = undefined;
    forgetRun(pending);
    if (this.#verdictOn(ref).needsWork) {
      pending.notBeforeMs = Date.now() + ENDED_AFTER_MS;
      this.#enqueue(id, pending);
    } else if (!pending.busy && !pending.dirty) this.#pending.delete(id);
  }

  async stop(): Promise<void> {
    await this.#queue.stop();
  }

  /**
   * Compares what is pending with the runs that are open: forgets those that have ended, starts again
   * those that ended without effect, and tells those that nobody needs any more, of resources that
   * vanished or converged while nobody watched.
   *
   * @param again tell even those that were told before
   */
  async sweep(again: boolean): Promise<void> {
    const askedAtMs = Date.now();
    const open = await this.#options.runs.listOpen();
    for (const [id, pending] of this.#pending) {
      if (!open.has(id)) this.#hasEnded(id, pending, askedAtMs);
    }
    for (const [id, run] of open) this.#isOpen(id, { ...run, askedAtMs, again });
  }

  #isNeeded(id: string, { ref, verdict, fingerprint }: Evaluation): void {
    const pending = this.#obtain(id, ref);
    pending.neededSinceMs ??= Date.now();
    if (pending.told === fingerprint) return;
    if (isUnderWay(verdict, pending)) {
      this.#needsNoTelling(id, pending, fingerprint);
      return;
    }
    if (pending.told === undefined) pending.notBeforeMs = 0;
    this.#enqueue(id, pending);
  }

  #isNotNeeded(id: string, ref: ResourceRef): void {
    this.#options.log.debug(ref, 'no update required');
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#needEnded(pending);
    if (pending.told === NOT_NEEDED) return;
    pending.told = undefined;
    pending.fruitless = 0;
    this.#awaited.get(id)?.();
    pending.notBeforeMs = Date.now() + TELL_AFTER_MS;
    if (pending.run === 'open') this.#enqueue(id, pending);
    else if (!pending.busy && pending.touchedAtMs === 0) this.#pending.delete(id);
  }

  #needEnded(pending: Pending): void {
    const { ref, neededSinceMs } = pending;
    if (neededSinceMs === undefined) return;
    const seconds = (Date.now() - neededSinceMs) / 1000;
    this.#telemetry.needEnded({ controller: ref.controller, seconds });
    pending.neededSinceMs = undefined;
  }

  /** The run that was started or told is at it by itself. */
  #needsNoTelling(id: string, pending: Pending, fingerprint: string): void {
    pending.told = fingerprint;
    // Most likely it is open, and need not be started before it is told of the next change.
    pending.run = 'open';
    pending.fruitless = 0;
    this.#awaited.get(id)?.();
  }

  /** Where a run is not in the list, it has ended, unless it is too young to be there. */
  #hasEnded(id: string, pending: Pending, askedAtMs: number): void {
    if (pending.busy || pending.dirty || pending.touchedAtMs > askedAtMs - VISIBILITY_LAG_MS) return;
    forgetRun(pending);
    if (!this.#verdictOn(pending.ref).needsWork) {
      this.#pending.delete(id);
      return;
    }
    pending.fruitless += 1;
    pending.notBeforeMs =
      Date.now() + backoffMs(pending.fruitless, AGAIN_FIRST_MS, this.#options.resyncMs) - AGAIN_FIRST_MS;
    this.#enqueue(id, pending);
  }

  #isOpen(id: string, { isStalled, askedAtMs, again }: Listed): void {
    const ref = parseWorkflowId(id);
    if (ref === undefined || !this.#options.known.covers(ref)) return;
    const wasKnown = this.#pending.has(id);
    const pending = this.#obtain(id, ref);
    if (pending.busy || pending.touchedAtMs > askedAtMs - YOUNG_MS) return;
    pending.run = 'open';
    pending.listed = true;
    pending.stalled = isStalled;
    const evaluation = this.#options.known.find(ref);
    if (evaluation?.verdict.needsWork) {
      if (!wasKnown) pending.told = evaluation.fingerprint;
      return;
    }
    if (pending.told !== NOT_NEEDED || again) this.#enqueue(id, pending);
  }

  #obtain(id: string, ref: ResourceRef): Pending {
    const known = this.#pending.get(id);
    if (known !== undefined) return known;
    const pending = pendingFor(ref);
    this.#pending.set(id, pending);
    return pending;
  }

  #enqueue(id: string, pending: Pending): void {
    pending.dirty = true;
    if (pending.busy) return;
    this.#queue.add(id, Math.max(pending.notBeforeMs, pending.touchedAtMs + SPACING_MS));
  }

  async #dispatch(id: string): Promise<void> {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    pending.dirty = false;
    pending.busy = true;
    try {
      await this.#startOrTell(id, pending);
      this.#succeeded(pending);
    } catch (error) {
      this.#failed(pending, error);
    } finally {
      pending.busy = false;
      this.#lastDispatchMs = Date.now();
    }
    if (isDirty(pending)) this.#enqueue(id, pending);
  }

  async #startOrTell(id: string, pending: Pending): Promise<void> {
    const evaluation = this.#options.known.find(pending.ref);
    if (evaluation?.verdict.needsWork) {
      if (isUnderWay(evaluation.verdict, pending)) this.#needsNoTelling(id, pending, evaluation.fingerprint);
      else await this.#startOrSignal(id, pending, evaluation);
      return;
    }
    // Whether a run of unknown state is open, the next sweep finds out.
    if (pending.run === 'unknown') return;
    const reason = evaluation === undefined ? 'the resource is gone' : 'the resource needs nothing any more';
    pending.told = NOT_NEEDED;
    const end = await this.#options.runs.signal(id, reason);
    this.#touched(pending, 'unknown');
    if (end === 'not-open' && !pending.dirty) this.#pending.delete(id);
  }

  async #startOrSignal(id: string, pending: Pending, evaluation: Evaluation): Promise<void> {
    const { ref, verdict, fingerprint } = evaluation;
    const controller = this.#options.known.controller(ref.controller);
    if (controller === undefined || !verdict.needsWork) return;
    const { reason, seen } = verdict;
    const { workflowType } = controller;
    const isNews = pending.told !== fingerprint;
    // Before the call, since the watch may show the effect, and the next change, before the call returns.
    pending.told = fingerprint;
    if (pending.run === 'open' && (await this.#options.runs.signal(id, reason)) === 'signalled') {
      this.#touched(pending, 'open');
      return;
    }
    const effect = this.#effectOf(id);
    const summary = controller.summary(ref);
    const { neededSinceMs = Date.now() } = pending;
    const end = await this.#options.runs.start({
      ref,
      workflowType,
      summary,
      reason,
      seen,
      neededSinceMs,
    });
    this.#options.log.debug({ ...ref, workflowId: id }, `${end}: ${displayName(ref)}: ${reason}`);
    if (end === 'started') {
      this.#touched(pending, 'unknown');
      await effect;
    } else if (isNews) await this.#tellOrStartAgain(id, pending, reason);
    else this.#touched(pending, 'open');
  }

  /** A run that was open a moment ago may end before it is told. */
  async #tellOrStartAgain(id: string, pending: Pending, reason: string): Promise<void> {
    const end = await this.#options.runs.signal(id, reason);
    this.#touched(pending, end === 'signalled' ? 'open' : 'unknown');
    if (end === 'signalled') return;
    pending.told = undefined;
    pending.dirty = true;
  }

  #effectOf(id: string): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#awaited.delete(id);
        resolve();
      };
      const timer = setTimeout(done, EFFECT_MS);
      this.#awaited.set(id, done);
    });
  }

  #touched(pending: Pending, run: Pending['run']): void {
    pending.run = run;
    pending.listed = false;
    pending.stalled = false;
    pending.touchedAtMs = Date.now();
  }

  #succeeded(pending: Pending): void {
    pending.failures = 0;
    if (this.#unavailableTimes > 0) this.#options.log.info({}, 'Temporal can be reached again');
    this.#unavailableTimes = 0;
  }

  #failed(pending: Pending, error: unknown): void {
    // Whoever leads looks at everything, this process too, should it lead again.
    if (error instanceof NotLeading) return;
    this.#telemetry.queue.retried(workflowIdFor(pending.ref));
    pending.dirty = true;
    pending.told = undefined;
    if (error instanceof RunsUnavailable) {
      this.#pauseAll(error);
      return;
    }
    pending.failures += 1;
    pending.notBeforeMs = Date.now() + backoffMs(pending.failures, RETRY_FIRST_MS, RETRY_MOST_MS);
    this.#options.log.error({ ...pending.ref, err: error }, 'could not start or tell the run');
  }

  /** All keys wait, for all of them would fail; those that failed together count once. */
  #pauseAll(error: RunsUnavailable): void {
    if (this.#queue.isPaused) return;
    this.#unavailableTimes += 1;
    this.#queue.pause(backoffMs(this.#unavailableTimes, PAUSE_FIRST_MS, PAUSE_MOST_MS));
    if (this.#unavailableTimes === 1) this.#options.log.warn({ err: error }, 'Temporal cannot be reached');
  }

  #verdictOn(ref: ResourceRef) {
    return this.#options.known.find(ref)?.verdict ?? NO_WORK;
  }
}

/** Whether a run that, as far as is known, is open awaits by itself what comes next. */
function isUnderWay(verdict: Evaluation['verdict'], { touchedAtMs }: Pending): boolean {
  return verdict.needsWork && verdict.underWay === true && touchedAtMs > 0;
}

function controllerOf({ ref }: Pending): string {
  return ref.controller;
}

/** Whether its run is open, as far as is known. */
function isOpen({ run, touchedAtMs }: Pending): boolean {
  return run === 'open' || touchedAtMs > 0;
}

/** It has ended, as far as is known. */
function forgetRun(pending: Pending): void {
  pending.run = 'unknown';
  pending.listed = false;
  pending.touchedAtMs = 0;
}

/** Asks anew: the compiler believes that nobody has set it since. */
function isDirty({ dirty }: Pending): boolean {
  return dirty;
}

/** What a run was told whose resource is gone or needs nothing; no fingerprint looks like it. */
const NOT_NEEDED = 'not needed';
