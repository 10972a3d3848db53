import { isRest, reasonOf } from '../contract/decision.ts';
import type { Logger } from '../contract/logger.ts';
import { displayName, workflowIdFor, type ResourceRef } from '../contract/resource.ts';
import { SILENT, type RunsState, type Telemetry } from '../contract/telemetry.ts';
import { fingerprintOf, isNeeded, startRequestFor, type Evaluation, type Known } from './evaluation.ts';
import { KeyTimers } from './key-timers.ts';
import { afterChange, newsIn, reportedWith } from './news.ts';
import { Outage } from './outage.ts';
import {
  earliestStart,
  forgetRun,
  hasRun,
  pauseAfterEnd,
  pauseAfterFailure,
  pauseAfterLoss,
  pendingFor,
  standingMs,
  runsByController,
  touched,
  type Pending,
} from './pending.ts';
import { ReadyQueue } from './ready-queue.ts';
import * as timing from './timing.ts';
import { NotLeading, RunsUnavailable, type OpenRun, type Runs } from './runs.ts';

export interface DispatcherOptions {
  readonly runs: Runs;
  readonly known: Known;
  readonly log: Logger;
  /** Default: nobody observes. */
  readonly telemetry?: Telemetry | undefined;
  /** Called with the watcher's view before the run is started or signalled because of it. */
  readonly onRequest?: ((workflowId: string, observation: unknown) => void) | undefined;
  /** Starts and signals under way at a time; keep it under the worker's workflow slots, for eager starts. */
  readonly concurrency: number;
  /** The longest that a run without effect waits before it is started anew. */
  readonly resyncMs: number;
}

/** What a list of the open runs says of one. */
interface Listed extends OpenRun {
  readonly askedAtMs: number;
  /** Signal even one that was signalled before. */
  readonly again: boolean;
}

/** Starts a run for each resource that needs one, or signals the one that is open; once a change. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #queue: ReadyQueue;
  readonly #telemetry: Telemetry;
  readonly #outage: Outage;
  /** Timers of steps that stand in the view, by workflow id. */
  readonly #standing = new KeyTimers();
  /** Runs whose effect the watch has yet to show. */
  readonly #effects = new KeyTimers();
  #lastDispatchMs = -Infinity;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#telemetry = options.telemetry ?? SILENT;
    this.#queue = new ReadyQueue((id) => this.#dispatch(id), options.concurrency, this.#telemetry.queue);
    this.#outage = new Outage(this.#queue, options.log);
  }

  /** What keeps runs from being started, in a sentence. */
  get problem(): string | undefined {
    return this.#outage.problem;
  }

  /** Resources that may have an open run, or wait for one. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** How many runs are open, by controller. */
  get runs(): RunsState[] {
    return runsByController([...this.#pending.values()]);
  }

  /** Whether runs are being started just now, so that a look at the open ones would soon be out of date. */
  get isBusy(): boolean {
    return this.#queue.isBusy || performance.now() - this.#lastDispatchMs < 1_000;
  }

  /** Whether there are runs of which nobody knows whether they are still open. */
  get hasUnknown(): boolean {
    return [...this.#pending.values()].some(({ listed, dirty }) => !listed && !dirty);
  }

  /** A resource, or something of it, has changed. */
  changed(evaluation: Evaluation): void {
    const id = workflowIdFor(evaluation.ref);
    const { ref } = evaluation;
    if (isNeeded(evaluation)) this.#isNeeded(id, evaluation);
    else this.#isNotNeeded(id, ref);
  }

  /** Time has passed, and nothing else: a run that was signalled of this view is not signalled again. */
  resynced(evaluation: Evaluation): void {
    const pending = this.#pending.get(workflowIdFor(evaluation.ref));
    if (isNeeded(evaluation) && newsIn(evaluation, pending?.reported) === 'now') this.changed(evaluation);
  }

  /** A resource is gone, and needs no run any more. */
  gone(ref: ResourceRef): void {
    this.#isNotNeeded(workflowIdFor(ref), ref);
  }

  /**
   * A run has come to its end, as far as is known. What is still needed a moment later is needed anew: it came up while
   * the run was about to end, or the run saw something else than the watcher does.
   */
  runEnded(ref: ResourceRef): void {
    const id = workflowIdFor(ref);
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    if (!pending.notNeeded) forgetRun(pending);
    const evaluation = this.#options.known.find(ref);
    if (pending.notNeeded || !isNeeded(evaluation)) {
      if (!pending.busy && !pending.dirty) this.#forget(id);
      return;
    }
    pauseAfterEnd(pending, evaluation, this.#options.resyncMs);
    this.#enqueue(id, pending);
  }

  #forget(id: string): void {
    this.#pending.delete(id);
    this.#standing.cancel(id);
  }

  async stop(): Promise<void> {
    this.#standing.cancelAll();
    await this.#queue.stop();
  }

  /**
   * Compares what is pending with the runs that are open: forgets those that have ended, starts again
   * those that ended without effect, and signals those that nobody needs any more, of resources that
   * vanished or converged while nobody watched.
   *
   * @param again signal even those that were signalled before
   */
  async sweep(again: boolean): Promise<void> {
    const askedAtMs = performance.now();
    const open = await this.#options.runs.listOpen();
    for (const [id, pending] of this.#pending) {
      if (!open.has(id)) this.#hasEnded(id, pending, askedAtMs);
    }
    for (const [id, run] of open) this.#isOpen(id, { ...run, askedAtMs, again });
  }

  #isNeeded(id: string, evaluation: Evaluation): void {
    const pending = this.#obtain(id, evaluation.ref);
    pending.requestedAtMs ??= performance.now();
    pending.notNeeded = false;
    this.#standing.cancel(id);
    if (pending.reported !== undefined) pending.reported = afterChange(pending.reported, evaluation);
    if (isRest(evaluation.decision)) this.#rests(id, pending);
    switch (newsIn(evaluation, pending.reported)) {
      case 'none':
        return;
      case 'now':
        if (pending.reported === undefined && pending.failures === 0)
          pending.notBeforeMs = earliestStart(pending, evaluation);
        this.#enqueue(id, pending);
        return;
      case 'if it stands':
        this.#standing.set(id, standingMs(pending), () => {
          pending.reported = undefined;
          this.#enqueue(id, pending);
        });
    }
  }

  /** The run that was started has come to a rest, too: most likely it is open. */
  #rests(id: string, pending: Pending): void {
    if (hasRun(pending)) pending.run = 'open';
    this.#effects.fire(id);
  }

  #isNotNeeded(id: string, ref: ResourceRef): void {
    this.#options.log.debug(ref, 'no update required');
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#standing.cancel(id);
    this.#requestEnded(pending);
    if (pending.notNeeded) return;
    pending.reported = undefined;
    pending.requestedFor = undefined;
    pending.withoutEffect = 0;
    this.#effects.fire(id);
    pending.notBeforeMs = performance.now() + timing.NOT_NEEDED_AFTER_MS;
    if (pending.run === 'open') this.#enqueue(id, pending);
    else if (!pending.busy && !hasRun(pending)) this.#forget(id);
  }

  #requestEnded(pending: Pending): void {
    const { ref, requestedAtMs } = pending;
    if (requestedAtMs === undefined) return;
    const seconds = (performance.now() - requestedAtMs) / 1000;
    this.#telemetry.requestEnded({ controller: ref.controller, seconds });
    pending.requestedAtMs = undefined;
  }

  /** Where a run is not in the list, it has ended, unless it is too young to be there. */
  #hasEnded(id: string, pending: Pending, askedAtMs: number): void {
    if (pending.busy || pending.dirty || pending.touchedAtMs > askedAtMs - timing.VISIBILITY_LAG_MS) return;
    forgetRun(pending);
    if (!isNeeded(this.#options.known.find(pending.ref))) {
      this.#forget(id);
      return;
    }
    pauseAfterLoss(pending, this.#options.resyncMs);
    this.#enqueue(id, pending);
  }

  #isOpen(id: string, { ref, isStalled, askedAtMs, again }: Listed): void {
    if (!this.#options.known.covers(ref)) return;
    const wasKnown = this.#pending.has(id);
    const pending = this.#obtain(id, ref);
    if (pending.busy || pending.touchedAtMs > askedAtMs - timing.YOUNG_MS) return;
    pending.run = 'open';
    pending.listed = true;
    pending.stalled = isStalled;
    const evaluation = this.#options.known.find(ref);
    if (isNeeded(evaluation)) {
      if (!wasKnown) pending.reported = reportedWith(evaluation);
      return;
    }
    if (!pending.notNeeded || again) this.#enqueue(id, pending);
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
    this.#queue.add(id, Math.max(pending.notBeforeMs, pending.touchedAtMs + timing.SPACING_MS));
  }

  async #dispatch(id: string): Promise<void> {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    pending.dirty = false;
    pending.busy = true;
    try {
      await this.#request(id, pending);
      pending.failures = 0;
      this.#outage.succeeded();
    } catch (error) {
      this.#failed(id, pending, error);
    } finally {
      pending.busy = false;
      this.#lastDispatchMs = performance.now();
    }
    if (isDirty(pending)) this.#enqueue(id, pending);
  }

  /** Starts the run, or signals it, or finds that there is nothing to signal any more. */
  async #request(id: string, pending: Pending): Promise<void> {
    const evaluation = this.#options.known.find(pending.ref);
    if (!isNeeded(evaluation)) return this.#signalNotNeeded(id, pending, evaluation);
    if (newsIn(evaluation, pending.reported) === 'now') await this.#startOrSignal(id, pending, evaluation);
  }

  async #signalNotNeeded(id: string, pending: Pending, evaluation: Evaluation | undefined): Promise<void> {
    if (pending.run === 'unknown') {
      // Whether a run of unknown state is open, the next sweep finds out.
      if (!hasRun(pending)) this.#forget(id);
      return;
    }
    pending.notNeeded = true;
    const reason = evaluation === undefined ? 'the resource is gone' : 'the resource is in its desired state';
    if (evaluation !== undefined) this.#announce(id, evaluation);
    const end = await this.#options.runs.signal(id, reason);
    touched(pending, 'unknown');
    if (end === 'not-open' && !pending.dirty) this.#forget(id);
  }

  async #startOrSignal(id: string, pending: Pending, evaluation: Evaluation): Promise<void> {
    const reason = reasonOf(evaluation.decision);
    // Before the call, since the watch may show the effect, and the next change, before the call returns.
    pending.reported = reportedWith(evaluation);
    pending.requestedFor = { fingerprint: fingerprintOf(evaluation), inputs: evaluation.inputs };
    this.#announce(id, evaluation);
    if (pending.run === 'open' && (await this.#options.runs.signal(id, reason)) === 'signalled') {
      touched(pending, 'open');
      return;
    }
    await this.#start(id, pending, evaluation);
  }

  #announce(id: string, { observation }: Evaluation): void {
    if (observation !== undefined) this.#options.onRequest?.(id, observation);
  }

  async #start(id: string, pending: Pending, evaluation: Evaluation): Promise<void> {
    const { ref } = evaluation;
    const controller = this.#options.known.controller(ref.controller);
    if (controller === undefined) return;
    const effect = new Promise<void>((resolve) => this.#effects.set(id, timing.EFFECT_MS, resolve));
    const request = startRequestFor(evaluation, controller);
    const waitedMs = performance.now() - (pending.requestedAtMs ?? performance.now());
    const end = await this.#options.runs.start({ ...request, requestedAtMs: Date.now() - waitedMs });
    this.#options.log.debug({ ...ref, workflowId: id }, `${end}: ${displayName(ref)}: ${request.reason}`);
    if (end === 'started') {
      touched(pending, 'unknown');
      await effect;
    } else await this.#signalOrStartAgain(id, pending, request.reason);
  }

  /** A run that was open a moment ago may end before it is signalled. */
  async #signalOrStartAgain(id: string, pending: Pending, reason: string): Promise<void> {
    const end = await this.#options.runs.signal(id, reason);
    touched(pending, end === 'signalled' ? 'open' : 'unknown');
    if (end === 'signalled') return;
    pending.reported = undefined;
    pending.dirty = true;
  }

  #failed(id: string, pending: Pending, error: unknown): void {
    // Whoever leads looks at everything, this process too, should it lead again.
    if (error instanceof NotLeading) return;
    this.#telemetry.queue.retried(id);
    pending.dirty = true;
    pending.reported = undefined;
    pending.notNeeded = false;
    if (error instanceof RunsUnavailable) {
      pauseAfterFailure(pending, timing.PAUSE_FIRST_MS, timing.PAUSE_MOST_MS);
      this.#outage.failed(id, error);
      return;
    }
    pauseAfterFailure(pending, timing.RETRY_FIRST_MS, timing.RETRY_MOST_MS);
    this.#options.log.error({ ...pending.ref, err: error }, 'cannot start or signal the run; retrying');
  }
}

/** Asks anew: the compiler believes that nobody has set it since. */
function isDirty({ dirty }: Pending): boolean {
  return dirty;
}
