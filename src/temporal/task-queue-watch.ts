import type { Logger } from '../contract/logger.ts';
import type { TaskQueuePollers } from '../contract/telemetry.ts';

const EVERY_MS = 60_000;
/** What Temporal said is still reported for so long where it cannot be asked again. */
const KEPT_MS = 5 * EVERY_MS;

/** While this process leads, asks Temporal once a minute who polls the task queue, and remembers the answer. */
export class TaskQueueWatch {
  readonly #ask: () => Promise<readonly TaskQueuePollers[]>;
  readonly #log: Logger;
  #term: { readonly timer: NodeJS.Timeout; answer?: Answer } | undefined;

  constructor(ask: () => Promise<readonly TaskQueuePollers[]>, log: Logger) {
    this.#ask = ask;
    this.#log = log;
  }

  /** None where nobody leads here, or Temporal has not said for five minutes. */
  get pollers(): readonly TaskQueuePollers[] {
    const answer = this.#term?.answer;
    return answer !== undefined && performance.now() - answer.atMs < KEPT_MS ? answer.pollers : [];
  }

  lead(): void {
    this.standBy();
    this.#term = { timer: setInterval(() => void this.#look(), EVERY_MS) };
    void this.#look();
  }

  standBy(): void {
    clearInterval(this.#term?.timer);
    this.#term = undefined;
  }

  async #look(): Promise<void> {
    const term = this.#term;
    try {
      const pollers = await this.#ask();
      if (term !== undefined) term.answer = { pollers, atMs: performance.now() };
    } catch (error) {
      this.#log.debug({ err: error }, 'could not find out who polls the task queue');
    }
  }
}

interface Answer {
  readonly pollers: readonly TaskQueuePollers[];
  readonly atMs: number;
}
