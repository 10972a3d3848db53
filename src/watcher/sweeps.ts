import type { Logger } from '../api/logger.ts';
import type { Dispatcher } from './dispatcher.ts';
import { RunsUnavailable } from './runs.ts';

const FIRST_MS = 3_000;
const MOST_MS = 30_000;

export type Sweepable = Pick<Dispatcher, 'sweep' | 'isBusy' | 'hasUnknown' | 'pendingCount'>;

/** Says when the open runs are listed, in one term of the leader: one list at a time. */
export class Sweeps {
  readonly #dispatcher: Sweepable;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #afterMs = FIRST_MS;
  /** On the clock of `performance.now()`, as the other times. */
  #lastMs = 0;
  #nextMs = Infinity;
  /** Until then they are listed again although none is known. */
  #untilMs = 0;
  #isListing = false;
  /** The last one has failed: nothing shortens the wait for the next. */
  #isFailing = false;
  #isStopped = false;

  constructor(dispatcher: Sweepable, log: Logger) {
    this.#dispatcher = dispatcher;
    this.#log = log;
  }

  /** Resources were looked at for the first time. Where nothing needs work, too: runs may be open whose resources vanished. */
  begin(): void {
    this.#afterMs = FIRST_MS;
    this.#lastMs = performance.now();
    // And once more, for what a process that led before has started at the last moment.
    this.#untilMs = performance.now() + MOST_MS;
    this.#schedule(FIRST_MS);
  }

  /** A resource needs a run, whose end is to be noticed. */
  soon(): void {
    if (this.#isFailing) return;
    this.#afterMs = FIRST_MS;
    this.#scheduleBy(FIRST_MS);
  }

  /** A resync period is over. Runs may be open of which nobody knows: somebody has put an old database of Temporal back. */
  resynced(): void {
    this.#scheduleBy(MOST_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Unless it is due sooner. */
  #scheduleBy(afterMs: number): void {
    if (this.#nextMs - performance.now() > afterMs) this.#schedule(afterMs);
  }

  #schedule(afterMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#nextMs = performance.now() + afterMs;
    this.#timer = setTimeout(() => void this.#due(), afterMs);
  }

  async #due(): Promise<void> {
    this.#nextMs = Infinity;
    // At its end, the next one is scheduled.
    if (this.#isListing) return;
    if (this.#isTooEarly) this.#schedule(this.#afterMs);
    else if (await this.#list()) this.#listed();
    else this.#failed();
  }

  /** While runs are started a list would soon be out of date; yet one that was terminated by hand must not wait for long. */
  get #isTooEarly(): boolean {
    const isOverdue = performance.now() - this.#lastMs >= MOST_MS;
    return this.#dispatcher.isBusy && !isOverdue;
  }

  #listed(): void {
    this.#isFailing = false;
    this.#lastMs = performance.now();
    this.#afterMs = this.#dispatcher.hasUnknown ? Math.min(this.#afterMs * 2, MOST_MS) : MOST_MS;
    const isWanted = this.#dispatcher.pendingCount > 0 || performance.now() < this.#untilMs;
    if (isWanted) this.#scheduleBy(this.#afterMs);
  }

  #failed(): void {
    this.#isFailing = true;
    this.#afterMs = Math.min(this.#afterMs * 2, MOST_MS);
    this.#schedule(this.#afterMs);
  }

  async #list(): Promise<boolean> {
    this.#isListing = true;
    try {
      await this.#dispatcher.sweep();
      return true;
    } catch (error) {
      const why =
        error instanceof RunsUnavailable ? 'Temporal cannot be used' : 'the open runs cannot be listed';
      this.#log[this.#isFailing ? 'debug' : 'warn']({ err: error }, why);
      return false;
    } finally {
      this.#isListing = false;
    }
  }
}
