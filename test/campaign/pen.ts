import { drawnCrash, drawnFault } from './drawn-faults.ts';
import type { ScheduledEvent, What } from './events.ts';
import type { Fault } from './faults.ts';
import { POLL_INTERVAL } from './operators.ts';
import type { Target } from './people.ts';
import type { Requests } from './requests.ts';
import type { Random } from './random.ts';

const LIFTED_AFTER_MS = 50;

/** Writes the events of a schedule, one after the other. */
export class Pen {
  readonly events: ScheduledEvent[] = [];
  #random: Random;
  #named = 0;
  #restMs = 0;
  readonly #paused = new Map<string, Target>();
  readonly #polled = new Map<string, Target>();

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

  /** Lifted in the end, if not before. */
  readonly pause = (on: Target, afterMs?: number): void => {
    this.#paused.set(`${on.kind} ${on.name}`, on);
    this.add({ change: 'pause', on, paused: true }, afterMs);
  };

  /** Lifted in the end. */
  readonly poll = (on: Target): void => {
    this.#polled.set(`${on.kind} ${on.name}`, on);
    this.add({ change: 'poll', on, interval: POLL_INTERVAL });
  };

  liftPausesAndPolls(): void {
    for (const on of this.#paused.values()) this.add({ change: 'pause', on, paused: false }, LIFTED_AFTER_MS);
    for (const on of this.#polled.values()) this.add({ change: 'poll', on, interval: null }, LIFTED_AFTER_MS);
  }

  #pauseMs(): number {
    return this.#random.chance(0.15) ? this.#random.between(2_000, 4_000) : this.#random.between(20, 700);
  }
}
