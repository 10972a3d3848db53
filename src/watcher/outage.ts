import type { Logger } from '../contract/logger.ts';
import { backoffMs } from './backoff.ts';
import type { ReadyQueue } from './ready-queue.ts';
import { PAUSE_FIRST_MS, PAUSE_MOST_MS } from './timing.ts';

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

  constructor(queue: ReadyQueue, log: Logger) {
    this.#queue = queue;
    this.#log = log;
  }

  /** What keeps runs from being started, in a sentence. */
  get problem(): string | undefined {
    if (!this.#isCertain) return undefined;
    const { depth } = this.#queue;
    return `Temporal cannot be reached; ${depth === 1 ? '1 resource is' : `${depth} resources are`} waiting`;
  }

  /** Calls that fail together count once. */
  failed(key: string, error: unknown): void {
    if (this.#queue.isPaused) return;
    const wasCertain = this.#isCertain;
    this.#failures += 1;
    this.#failedKeys.add(key);
    if (this.#isCertain && !wasCertain) this.#log.warn({ err: error }, 'Temporal cannot be reached');
    if (this.#isOfMany) this.#queue.pause(backoffMs(this.#failures, PAUSE_FIRST_MS, PAUSE_MOST_MS));
  }

  succeeded(): void {
    if (this.#isCertain) this.#log.info({}, 'Temporal can be reached again');
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
