import type { Logger } from '../contract/logger.ts';
import type { TaskQueuePollers } from '../contract/telemetry.ts';

/** By then, the worker of this process polls. */
const FIRST_AFTER_MS = 5_000;
const EVERY_MS = 60_000;
/** An answer counts for so long if Temporal cannot be asked again. */
const KEPT_MS = 5 * EVERY_MS;

/** While this process leads, asks Temporal once a minute who polls the task queue. */
export class TaskQueueWatch {
  readonly #ask: () => Promise<readonly TaskQueuePollers[]>;
  readonly #log: Logger;
  #term: { timer: NodeJS.Timeout; answer?: Answer } | undefined;

  constructor(ask: () => Promise<readonly TaskQueuePollers[]>, log: Logger) {
    this.#ask = ask;
    this.#log = log;
  }

  /** Empty: this process does not lead, or Temporal has not answered for five minutes. */
  get pollers(): readonly TaskQueuePollers[] {
    const answer = this.#term?.answer;
    return answer !== undefined && performance.now() - answer.atMs < KEPT_MS ? answer.pollers : [];
  }

  lead(): void {
    this.standBy();
    this.#term = { timer: setTimeout(() => void this.#read(), FIRST_AFTER_MS) };
  }

  standBy(): void {
    clearTimeout(this.#term?.timer);
    this.#term = undefined;
  }

  async #read(): Promise<void> {
    const term = this.#term;
    if (term === undefined) return;
    term.timer = setTimeout(() => void this.#read(), EVERY_MS);
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
