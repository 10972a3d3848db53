import type { Logger } from '../contract/logger.ts';
import { backoffMs } from './pending.ts';
import type { ReadyQueue } from './ready-queue.ts';
import { PAUSE_FIRST_MS, PAUSE_MOST_MS } from './timing.ts';

/** While Temporal is away all keys wait, for all of them would fail. */
export class Outage {
  readonly #queue: ReadyQueue;
  readonly #log: Logger;
  #failures = 0;

  constructor(queue: ReadyQueue, log: Logger) {
    this.#queue = queue;
    this.#log = log;
  }

  /** What keeps runs from being started, in a sentence. */
  get problem(): string | undefined {
    if (this.#failures === 0) return undefined;
    const { depth } = this.#queue;
    return `Temporal cannot be reached; ${depth === 1 ? '1 resource is' : `${depth} resources are`} waiting`;
  }

  /** Calls that fail together count once. */
  failed(error: unknown): void {
    if (this.#queue.isPaused) return;
    this.#failures += 1;
    this.#queue.pause(backoffMs(this.#failures, PAUSE_FIRST_MS, PAUSE_MOST_MS));
    if (this.#failures === 1) this.#log.warn({ err: error }, 'Temporal cannot be reached');
  }

  succeeded(): void {
    if (this.#failures > 0) this.#log.info({}, 'Temporal can be reached again');
    this.#failures = 0;
  }
}
