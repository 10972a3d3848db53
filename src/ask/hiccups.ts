import type { Ask } from './ask.ts';
import { TemporalProblem } from './connection/temporal-problem.ts';
import { harmless } from './output.ts';

/** What goes on for ever outlives a Temporal that does not answer for a while. */
export class Hiccups {
  readonly #ask: Pick<Ask, 'stderr'>;
  #said: string | undefined;

  constructor(ask: Pick<Ask, 'stderr'>) {
    this.#ask = ask;
  }

  /** @returns undefined where Temporal has a problem, which is said once */
  async outlive<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await work();
      this.#said = undefined;
      return done;
    } catch (error) {
      if (!(error instanceof TemporalProblem)) throw error;
      if (this.#said !== error.message)
        this.#ask.stderr.write(`kubectl durable: ${harmless(error.message)}; trying on\n`);
      this.#said = error.message;
      return undefined;
    }
  }
}
