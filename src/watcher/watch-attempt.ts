import { BrokenWatch, SilentWatch } from './watch-failures.ts';

/** A watch that ends sooner than this is not let try again at once: a server may do nothing but end them. */
const SHORT_MS = 1000;

/** One connection of a watch: how long it lives, and whether it still speaks. */
export class WatchAttempt {
  readonly #silenceMs: number;
  readonly #abort = new AbortController();
  readonly #stopping: AbortSignal;
  readonly #startedAt = performance.now();
  #silence: NodeJS.Timeout | undefined;
  #accepted = false;
  #hasTold = false;
  #fellSilent = false;

  constructor(silenceMs: number, stopping: AbortSignal) {
    this.#silenceMs = silenceMs;
    this.#stopping = stopping;
    stopping.addEventListener('abort', this.#drop);
    if (stopping.aborted) this.#drop();
  }

  /** Ends the connection, on stop and after silence. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get accepted(): boolean {
    return this.#accepted;
  }

  /** Whether an event or a bookmark came. */
  get hasTold(): boolean {
    return this.#hasTold;
  }

  livedMs(): number {
    return this.#accepted ? performance.now() - this.#startedAt : 0;
  }

  open(): void {
    this.#accepted = true;
    this.#silence = setTimeout(() => {
      this.#fellSilent = true;
      this.#drop();
    }, this.#silenceMs);
  }

  heard(): void {
    this.#hasTold = true;
    this.#silence?.refresh();
  }

  over(): void {
    clearTimeout(this.#silence);
    this.#stopping.removeEventListener('abort', this.#drop);
  }

  /** @throws BrokenWatch where the watch has not simply reached its end */
  checkEnd(): void {
    if (this.#stopping.aborted) return;
    if (this.#fellSilent) {
      throw new SilentWatch(`the watch received nothing for ${this.#silenceMs / 1000} s; reconnecting`);
    }
    if (this.livedMs() < SHORT_MS) throw new BrokenWatch('the watch ended right after it began');
  }

  readonly #drop = (): void => this.#abort.abort();
}
