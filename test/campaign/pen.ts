import { drawnCrash, drawnFault } from './drawn-faults.ts';
import type { Fault, Requests, ScheduledEvent, What } from './events.ts';
import type { Random } from './random.ts';

/** Writes the events of a schedule, one after the other. */
export class Pen {
  readonly events: ScheduledEvent[] = [];
  #random: Random;
  #named = 0;
  #restMs = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  get random(): Random {
    return this.#random;
  }

  /** Draws from other numbers: what is drawn after it is what it would be without it. */
  drawingFrom(random: Random, write: () => void): void {
    const before = this.#random;
    this.#random = random;
    write();
    this.#random = before;
  }

  /** Mostly in quick succession, and now and then after everybody had time to settle. */
  readonly add = (what: What, afterMs = this.#pauseMs()): void => {
    this.events.push({ afterMs: afterMs + this.#restMs, what });
    this.#restMs = 0;
  };

  /** What is added next comes so much later. */
  readonly rest = (ms: number): void => {
    this.#restMs += ms;
  };

  /** One that nothing else has. */
  readonly name = (prefix: string): string => {
    this.#named += 1;
    return `${prefix}-${this.#named}`;
  };

  readonly fault = (): Fault => drawnFault(this.#random);
  readonly crash = (requests: Requests): Fault => drawnCrash(this.#random, requests);

  #pauseMs(): number {
    return this.#random.chance(0.15) ? this.#random.between(2_000, 4_000) : this.#random.between(20, 700);
  }
}
