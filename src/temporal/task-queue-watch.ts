import type { Logger } from '../contract/logger.ts';
import type { TaskQueuePollers } from '../contract/telemetry.ts';

/** The worker of this process has begun to poll by then. */
const FIRST_AFTER_MS = 5_000;
const EVERY_MS = 60_000;
/** What Temporal said is still reported for so long where it cannot be asked again. */
const KEPT_MS = 5 * EVERY_MS;

/** While this process leads, asks Temporal once a minute who polls the task queue, and remembers the answer. */
export class TaskQueueWatch {
  readonly #ask: () => Promise<readonly TaskQueuePollers[]>;
  readonly #log: Logger;
  #term: { timer: NodeJS.Timeout; answer?: Answer } | undefined;

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
    this.#term = { timer: setTimeout(() => void this.#look(), FIRST_AFTER_MS) };
  }

  standBy(): void {
    clearTimeout(this.#term?.timer);
    this.#term = undefined;
  }

  async #look(): Promise<void> {
    const term = this.#term;
    if (term === undefined) return;
    term.timer = setTimeout(() => void this.#look(), EVERY_MS);
    try {
      term.answer = { pollers: await this.#ask(), atMs: performance.now() };
    } catch (error) {
      this.#log.debug({ err: error }, 'could not find out who polls the task queue');
    }
  }
}

interface Answer {
  readonly pollers: readonly TaskQueuePollers[];
  readonly atMs: number;
}
