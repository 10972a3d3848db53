import type { Logger } from '../api/logger.ts';
import type { NextInHistory } from '../runs/decision.ts';
import { displayName, workflowIdFor, type ResourceRef } from '../api/resource-ref.ts';
import { SILENT, type OldestRequest, type RunsState, type Telemetry } from '../runs/telemetry.ts';
import {
  calledFor,
  isNeeded,
  startRequestFor,
  type Evaluation,
  type ProjectionReader,
} from './evaluation.ts';
import { KeyTimers } from './timing.ts';
import { Outage, ReadyQueue } from './ready-queue.ts';
import { next } from './request-machine.ts';
import {
  isCalling,
  isInProgress,
  isRunUnknown,
  oldestByController,
  runsByController,
  wakeAtMs,
  type StartAnswer,
  type Effect,
  type RequestEvent,
  type RequestState,
} from './request-state.ts';
import { RunsUnavailable, type Runs } from './runs.ts';

export interface DispatcherOptions {
  readonly runs: Runs;
  /** Asked before each start and signal: a process that was stopped for a while may be late, and not know it yet. */
  readonly isLeading: () => boolean;
  readonly known: ProjectionReader;
  readonly log: Logger;
  /** Default: nobody observes. */
  readonly telemetry?: Telemetry | undefined;
  /** Called with the watcher's view before the run is started or signalled because of it. */
  readonly onRequest?: ((workflowId: string, observation: unknown) => void) | undefined;
  /** Called with the watcher's view once a run was started or signalled because of it. */
  readonly onRequested?: ((view: Evaluation) => void) | undefined;
  /** Called when a run has ended and left its resource as it was, as far as the view shows. */
  readonly onWithoutEffect?: ((ref: ResourceRef) => void) | undefined;
  /** Starts and signals in progress at a time; keep it under the worker's workflow slots, for eager starts. */
  readonly concurrency: number;
  /** The longest that a run without effect waits before it is started anew. */
  readonly resyncMs: number;
}

/** So long after the last start or signal, a list of the open runs would soon be out of date. */
const BUSY_MS = 1_000;

/**
 * Starts a run for each resource that needs one, or signals the one that is open; once a change. What to do is decided in
 * request-machine.ts, one resource at a time; here are the clock, the timers, the queue and the calls.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** By workflow id. */
  readonly #states = new Map<string, RequestState>();
  /** What each of them was decided from last. */
  readonly #views = new Map<string, Evaluation>();
  readonly #queue: ReadyQueue;
  readonly #telemetry: Telemetry;
  readonly #outage: Outage;
  readonly #timers = new KeyTimers();
  /** What gives the place back that a resource holds among the starts and signals in progress. */
  readonly #places = new Map<string, () => void>();
  #lastCallMs = -Infinity;
  #stopped: Promise<void> | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#telemetry = options.telemetry ?? SILENT;
    this.#queue = new ReadyQueue((id) => this.#turn(id), options.concurrency, this.#telemetry.queue);
    this.#outage = new Outage(this.#queue, options.log);
  }

  /** What keeps runs from being started, in a sentence. */
  get problem(): string | undefined {
    return this.#outage.problem;
  }

  /** Resources that may have an open run, or wait for one. */
  get pendingCount(): number {
    return this.#states.size;
  }

  /** How many runs are open, by controller. */
  get runs(): RunsState[] {
    return runsByController([...this.#states.values()]);
  }

  /** By controller. */
  get oldestRequests(): readonly OldestRequest[] {
    return oldestByController([...this.#states.values()], performance.now());
  }

  /** Whether runs are being started just now, so that a list of the open ones would soon be out of date. */
  get isBusy(): boolean {
    return this.#queue.isBusy || performance.now() - this.#lastCallMs < BUSY_MS;
  }

  /** Whether there are runs of which nobody knows whether they are still open. */
  get hasUnknown(): boolean {
    return [...this.#states.values()].some(isRunUnknown);
  }

  /** A resource is there as this process begins to lead: what happened to it before is not known. */
  firstSeen(view: Evaluation): void {
    this.#seen('first seen', view);
  }

  /** A resource, or something of it, has changed. */
  changed(view: Evaluation): void {
    this.#seen('changed', view);
  }

  /** Time has passed, and nothing else: a run that was signalled of this view is not signalled again. */
  resynced(view: Evaluation): void {
    this.#happened(view.ref, { type: 'resynced', view });
  }

  /** A resource is gone, and needs no run any more. */
  gone(ref: ResourceRef): void {
    this.#happened(ref, { type: 'changed', view: undefined });
  }

  /** A run has come to its end, as far as is known. */
  runEnded(ref: ResourceRef): void {
    this.#happened(ref, { type: 'ended', view: this.#latest(ref) });
  }

  /** Begins no call any more, and resolves when none is in progress. Safe to repeat. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const stopped = this.#queue.stop();
    // No start waits for its effect any more.
    for (const [id, state] of this.#states) if (!isCalling(state)) this.#giveUpPlace(id);
    this.#timers.cancelAll();
    await stopped;
  }

  /**
   * Compares what is known with the runs that are open: forgets those that have ended, starts again those that ended
   * without effect, and signals those that nobody needs any more.
   */
  async sweep(): Promise<void> {
    const askedAtMs = performance.now();
    const open = await this.#options.runs.listOpen();
    if (this.#stopped !== undefined) return;
    const listed = { type: 'listed', askedAtMs } as const;
    for (const [id, { ref }] of this.#states) {
      if (open.has(id)) continue;
      this.#happened(ref, { ...listed, isOpen: false, isStalled: false, view: this.#find(ref) });
    }
    for (const { ref, isStalled } of open.values()) {
      if (!this.#options.known.covers(ref)) continue;
      this.#happened(ref, { ...listed, isOpen: true, isStalled, view: this.#find(ref) });
    }
    // Where what has failed is not needed any more, no call would tell. Lists may work while starts fail.
    if (![...this.#states.values()].some(({ failures }) => failures > 0)) this.#outage.succeeded();
  }

  #seen(type: 'first seen' | 'changed', view: Evaluation): void {
    const { ref } = view;
    if (!isNeeded(view)) this.#options.log.debug(ref, 'no update required');
    this.#happened(ref, { type, view });
  }

  /** As of now: what is due may depend on the time. */
  #find(ref: ResourceRef): Evaluation | undefined {
    return this.#options.known.find(ref);
  }

  /** As of the last change, which is as good where the resource has just changed. */
  #latest(ref: ResourceRef): Evaluation | undefined {
    return this.#views.get(workflowIdFor(ref)) ?? this.#find(ref);
  }

  #happened(ref: ResourceRef, event: RequestEvent): void {
    const id = workflowIdFor(ref);
    const before = this.#states.get(id);
    const clock = { nowMs: performance.now(), longestMs: this.#options.resyncMs };
    const { state, effects } = next(before, ref, event, clock);
    if (state === undefined) {
      this.#states.delete(id);
      this.#views.delete(id);
    } else {
      this.#states.set(id, state);
      if ('view' in event) this.#keep(id, event.view);
    }
    if (state !== undefined && state.withoutEffect > (before?.withoutEffect ?? 0))
      this.#options.onWithoutEffect?.(ref);
    if (!this.#holdsPlace(state)) this.#giveUpPlace(id);
    this.#wakeAt(ref, wakeAtMs(state));
    for (const effect of effects) this.#do(id, ref, effect);
    // The last, since its turn may come at once.
    if (state?.phase.at === 'queued') this.#queue.add(id, state.phase.dueMs);
  }

  #keep(id: string, view: Evaluation | undefined): void {
    if (view === undefined) this.#views.delete(id);
    else this.#views.set(id, view);
  }

  /** One that stops waits for answers, and for the effect of no start: the timer that would end that is gone. */
  #holdsPlace(state: RequestState | undefined): boolean {
    return this.#stopped === undefined ? isInProgress(state) : isCalling(state);
  }

  #giveUpPlace(id: string): void {
    this.#places.get(id)?.();
    this.#places.delete(id);
  }

  #wakeAt(ref: ResourceRef, wakeMs: number | undefined): void {
    const id = workflowIdFor(ref);
    this.#timers.cancel(id);
    if (wakeMs === undefined || this.#stopped !== undefined) return;
    this.#timers.set(id, wakeMs - performance.now(), () => this.#happened(ref, { type: 'time' }));
  }

  /** @returns when the place among those in progress is free again */
  async #turn(id: string): Promise<void> {
    const state = this.#states.get(id);
    if (state === undefined) return;
    const isFree = new Promise<void>((resolve) => this.#places.set(id, resolve));
    this.#happened(state.ref, { type: 'turn', view: this.#latest(state.ref) });
    await isFree;
    this.#lastCallMs = performance.now();
  }

  #do(id: string, ref: ResourceRef, effect: Effect): void {
    switch (effect.do) {
      case 'report':
        this.#telemetry.requestEnded({ controller: ref.controller, seconds: effect.neededForMs / 1_000 });
        return;
      case 'start':
        void this.#call(id, effect.view, () => this.#start(id, effect.view));
        return;
      case 'signal':
        this.#announce(id, effect.view);
        void this.#call(id, effect.view ?? { ref }, () =>
          this.#options.runs.signal(id, { ...effect, first: this.#calledFor(effect.view) }),
        );
    }
  }

  /** @param about what the call was decided from; of a resource that is gone, its reference */
  async #call(
    id: string,
    about: Evaluation | Pick<Evaluation, 'ref'>,
    call: () => Promise<StartAnswer>,
  ): Promise<void> {
    const { ref } = about;
    if (!this.#options.isLeading()) {
      this.#telemetry.queue.retried(id);
      this.#happened(ref, { type: 'failed', because: 'not leading' });
      return;
    }
    try {
      const answer = await call();
      this.#outage.succeeded();
      this.#happened(ref, { type: 'answered', answer });
      const isTaken = answer !== 'already-open' && answer !== 'not-open';
      if (isTaken && 'decision' in about) this.#options.onRequested?.(about);
    } catch (error) {
      this.#failed(id, ref, error);
    }
  }

  async #start(id: string, view: Evaluation): Promise<StartAnswer> {
    const { ref } = view;
    const controller = this.#options.known.controller(ref.controller);
    if (controller === undefined) throw new Error(`no controller is called ${ref.controller}`);
    this.#announce(id, view);
    const request = startRequestFor(view, controller);
    const answer = await this.#options.runs.start(request);
    this.#options.log.debug(
      { ...ref, workflowId: id, answer },
      `${answer}: ${displayName(ref)}: ${request.reason}`,
    );
    return answer;
  }

  #calledFor(view: Evaluation | undefined): NextInHistory | undefined {
    const controller = view && this.#options.known.controller(view.ref.controller);
    return controller && calledFor(view, controller.steps);
  }

  #announce(id: string, view: Evaluation | undefined): void {
    if (view?.observation !== undefined) this.#options.onRequest?.(id, view.observation);
  }

  #failed(id: string, ref: ResourceRef, error: unknown): void {
    this.#telemetry.queue.retried(id);
    if (error instanceof RunsUnavailable) {
      this.#happened(ref, { type: 'failed', because: 'unavailable' });
      this.#outage.failed(id, error);
    } else {
      this.#happened(ref, { type: 'failed', because: 'refused' });
      this.#options.log.error({ ...ref, err: error }, 'cannot start or signal the run; retrying');
    }
  }
}
