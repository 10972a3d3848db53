import { FairSet } from '../runs/fair-set.ts';
import type { Logger } from '../api/logger.ts';
import { placeOfWorkflow } from '../api/resource-ref.ts';
import { SILENT, type QueueObserver } from '../runs/telemetry.ts';
import { backoffMs, PAUSE_FIRST_MS, PAUSE_MOST_MS } from './timing.ts';

/**
 * Keys that are to be worked on, each at most once however often it is added, in the order in which they
 * became due; at most `concurrency` at a time, and none while paused. The resources of one controller in one namespace
 * take turns with all others: a tenant that changes thousands of them delays nobody else.
 */
export class ReadyQueue {
  readonly #ready = new FairSet(placeOfWorkflow);
  readonly #timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly dueMs: number }>();
  readonly #work: (key: string) => Promise<void>;
  readonly #concurrency: number;
  readonly #observer: QueueObserver;
  #inFlight = 0;
  /** Set while paused. */
  #pauseTimer: NodeJS.Timeout | undefined;
  #stopped: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  /** @param work must not reject */
  constructor(work: (key: string) => Promise<void>, concurrency: number, observer = SILENT.queue) {
    this.#work = work;
    this.#concurrency = concurrency;
    this.#observer = observer;
  }

  /** Keys that are due, in progress, or waiting for their time. */
  get depth(): number {
    return this.#ready.size + this.#inFlight + this.#timers.size;
  }

  get isBusy(): boolean {
    return this.#ready.size + this.#inFlight > 0;
  }

  /** @param dueMs on the clock of `performance.now()`; the earliest of several wins */
  add(key: string, dueMs = 0): void {
    if (this.#stopped !== undefined || this.#ready.has(key)) return;
    // A timer cuts off what is less than a millisecond.
    const delayMs = Math.ceil(dueMs - performance.now());
    if (delayMs > 0) {
      this.#addLater(key, dueMs, delayMs);
      return;
    }
    this.#forgetTimer(key);
    this.#ready.add(key);
    this.#observer.added(key);
    this.#pump();
  }

  get isPaused(): boolean {
    return this.#pauseTimer !== undefined;
  }

  /** Nothing is begun for that long. Only while it is not paused. */
  pause(ms: number): void {
    if (this.#stopped !== undefined) return;
    // A timer may fire before the clock has come so far: it ends the pause by itself.
    this.#pauseTimer = setTimeout(() => {
      this.#pauseTimer = undefined;
      this.#pump();
    }, ms);
  }

  /** Begins nothing more, and resolves when nothing is in progress. Safe to repeat. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#pauseTimer);
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#ready.clear();
    this.#observer.emptied();
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  #addLater(key: string, dueMs: number, delayMs: number): void {
    if (dueMs >= (this.#timers.get(key)?.dueMs ?? Infinity)) return;
    this.#forgetTimer(key);
    const timer = setTimeout(() => this.add(key), delayMs);
    this.#timers.set(key, { timer, dueMs });
  }

  #forgetTimer(key: string): void {
    clearTimeout(this.#timers.get(key)?.timer);
    this.#timers.delete(key);
  }

  #pump(): void {
    if (this.isPaused) return;
    while (this.#stopped === undefined && this.#inFlight < this.#concurrency) {
      const key = this.#ready.take();
      if (key === undefined) return;
      this.#inFlight += 1;
      this.#observer.begun(key);
      void this.#work(key).finally(() => {
        this.#inFlight -= 1;
        this.#observer.done(key);
        if (this.#inFlight === 0) this.#idle?.();
        this.#pump();
      });
    }
  }
}

/** So often may a single key fail, in some seconds, before it is said that Temporal is away. */
const ALONE_MAX = 4;

/**
 * While Temporal is away all keys wait, for all of them would fail. They wait once several different keys have failed and
 * none has succeeded between: what a single key meets may be that key's own.
 */
export class Outage {
  readonly #queue: ReadyQueue;
  readonly #log: Logger;
  /** Since the last success. */
  readonly #failedKeys = new Set<string>();
  #failures = 0;
  #because = '';

  constructor(queue: ReadyQueue, log: Logger) {
    this.#queue = queue;
    this.#log = log;
  }

  /** What keeps runs from being started, in a sentence. */
  get problem(): string | undefined {
    if (!this.#isCertain) return undefined;
    const { depth } = this.#queue;
    const waiting = depth === 1 ? '1 resource is' : `${depth} resources are`;
    return `Temporal cannot be used: ${this.#because}; ${waiting} waiting`;
  }

  /** Calls that fail together count once. */
  failed(key: string, error: Error): void {
    if (this.#queue.isPaused) return;
    this.#because = error.message;
    const wasCertain = this.#isCertain;
    this.#failures += 1;
    this.#failedKeys.add(key);
    if (this.#isCertain && !wasCertain) this.#log.warn({ err: error }, 'Temporal cannot be used');
    if (this.#isOfMany) this.#queue.pause(backoffMs(this.#failures, PAUSE_FIRST_MS, PAUSE_MOST_MS));
  }

  succeeded(): void {
    if (this.#isCertain) this.#log.info({}, 'Temporal can be used again');
    this.#failures = 0;
    this.#failedKeys.clear();
  }

  get #isOfMany(): boolean {
    return this.#failedKeys.size > 1;
  }

  get #isCertain(): boolean {
    return this.#isOfMany || this.#failures > ALONE_MAX;
  }
}
