/** All in milliseconds. */
export interface HearingTimes {
  /** How long a watch may say nothing. Default: 90,000: the API server sends a bookmark about once a minute. */
  readonly silenceMs: number;
  /** Between two lists that show whether silent watches keep something back. Default: 600,000. */
  readonly compareEveryMs: number;
  /** By when a watch has to tell what such a list has shown. Default: 10,000. */
  readonly tellWithinMs: number;
  /** Between two lists of what no watch tells of. Default: 30,000. */
  readonly listEveryMs: number;
}

const TIMES: HearingTimes = {
  silenceMs: 90_000,
  compareEveryMs: 600_000,
  tellWithinMs: 10_000,
  listEveryMs: 30_000,
};

/** A type where nothing changes may be silent for as long as it likes, so one such watch says nothing. */
const WORDLESS_MAX = 2;

type State =
  | { readonly is: 'trusted' }
  /** A list has shown a change. */
  | { readonly is: 'to tell'; readonly untilMs: number }
  /** The version before that change is of no use any more, so it cannot be told: another list has to show one. */
  | { readonly is: 'doubted' }
  | { readonly is: 'blind' };

/**
 * Whether the watches of a type tell what changes. A proxy may accept each of them and deliver nothing, or end each at once, and
 * the API server itself says nothing of a type to which nothing ever happened: only a list shows the difference.
 */
export class Hearing {
  readonly #times: HearingTimes;
  readonly #now: () => number;
  #state: State = { is: 'trusted' };
  /** Watches in a row that were accepted and told nothing. */
  #wordless = 0;
  #nextListMs = -Infinity;
  #lastHeardMs: number;

  constructor(times: Partial<HearingTimes> = {}, now: () => number = () => performance.now()) {
    this.#times = { ...TIMES, ...times };
    this.#now = now;
    this.#lastHeardMs = now();
  }

  get isBlind(): boolean {
    return this.#state.is === 'blind';
  }

  /** Whether the next watch is to be a short one: the API server sends a bookmark right before its end. */
  get isInDoubt(): boolean {
    return this.#state.is !== 'trusted';
  }

  /** Since a watch last told something. */
  get silenceMs(): number {
    return this.#now() - this.#lastHeardMs;
  }

  /** How long the next watch may say nothing. */
  get patienceMs(): number {
    switch (this.#state.is) {
      case 'trusted':
        return this.#times.silenceMs;
      case 'to tell':
        return this.#times.tellWithinMs;
      case 'doubted':
      case 'blind':
        return this.#times.listEveryMs;
    }
  }

  /** Whether a list has to come before the next watch. */
  get needsList(): boolean {
    switch (this.#state.is) {
      case 'trusted':
        return this.#wordless >= WORDLESS_MAX && this.#now() >= this.#nextListMs;
      case 'to tell':
        return false;
      case 'doubted':
        return this.#wordless > 0;
      case 'blind':
        return true;
    }
  }

  /** How long that list has to wait. */
  get listAfterMs(): number {
    return this.isBlind ? Math.max(0, this.#nextListMs - this.#now()) : 0;
  }

  /** An event or a bookmark has come. */
  heard(): void {
    this.#lastHeardMs = this.#now();
    this.#state = { is: 'trusted' };
  }

  /** @param hasTold whether something came by it @returns whether that shows that the type is blind */
  watchEnded(hasTold: boolean): boolean {
    this.#wordless = hasTold ? 0 : this.#wordless + 1;
    if (hasTold || this.#state.is !== 'to tell' || this.#now() < this.#state.untilMs) return false;
    this.#state = { is: 'blind' };
    // The next comparison is minutes away, and no watch is open until then.
    this.#nextListMs = this.#now();
    return true;
  }

  /** The next watch begins with a list of its own. */
  begunAnew(): void {
    if (this.#state.is !== 'to tell') return;
    this.#wordless = 0;
    this.#state = { is: 'doubted' };
  }

  /** The list that was needed has come. @param isChanged whether it showed what the watches had not told, but have to now */
  listed(isChanged: boolean): void {
    const { compareEveryMs, tellWithinMs, listEveryMs } = this.#times;
    const nowMs = this.#now();
    this.#nextListMs = nowMs + (this.isBlind ? listEveryMs : compareEveryMs);
    if (this.isBlind) return;
    this.#wordless = 0;
    this.#state = isChanged ? { is: 'to tell', untilMs: nowMs + tellWithinMs } : { is: 'trusted' };
  }
}
