import type { Control } from '../engine/holds/control.ts';
import type { NextStep } from '../runs/decision.ts';
import { KeyTimers } from './timing.ts';

/** The last leader may not have come to what was asked so shortly before it was last heard of. */
const UNANSWERED_MS = 15_000;
/** A timer of Node cannot be longer. */
const MOST_MS = 2 ** 31 - 1;

/** What is asked of one resource. */
interface Asked {
  readonly requestedAt: string | undefined;
  readonly problems: string;
  /** How many looks were asked for. */
  readonly count: number;
  /** Up to which of them a run was started or signalled. */
  readonly done: number;
  /** Why the last one is asked for. */
  readonly because: string;
  /** When it was, on the clock of `performance.now()`. */
  readonly atMs: number;
}

const NOTHING: Asked = {
  requestedAt: undefined,
  problems: '',
  count: 0,
  done: 0,
  because: '',
  atMs: -Infinity,
};

/**
 * Resources that are to be looked at although the watch shows nothing to do: because an annotation asks for it, or a poll has found
 * something. Nothing of it is remembered across restarts, since a list looks at everything.
 */
export class Rechecks {
  readonly #asked = new Map<string, Asked>();
  readonly #rechecks = new KeyTimers();
  readonly #onDue: (key: string) => void;

  /** @param onDue called when the time of a decision is over */
  constructor(onDue: (key: string) => void) {
    this.#onDue = onDue;
  }

  /**
   * The resource as the watch shows it now.
   *
   * @param isNew the watch has not shown it before: whatever was requested by then is met by that
   */
  seen(key: string, control: Control | undefined, { isNew }: { readonly isNew: boolean }): void {
    const before = this.#asked.get(key) ?? NOTHING;
    const { requestedAt, problems = [] } = control ?? {};
    const asked = { ...before, requestedAt, problems: problems.join('; ') };
    if (requestedAt === undefined && problems.length === 0 && before.count === 0) {
      this.forget(key);
      return;
    }
    this.#asked.set(key, asked);
    if (requestedAt !== undefined && requestedAt !== before.requestedAt && !isNew)
      this.ask(key, `a reconcile was requested: ${requestedAt}`);
    else if (asked.problems !== '' && asked.problems !== before.problems) this.ask(key, asked.problems);
  }

  /** Why the resource is to be looked at; undefined where it is not. */
  due(key: string): string | undefined {
    const asked = this.#asked.get(key);
    return asked !== undefined && asked.done < asked.count ? asked.because : undefined;
  }

  /** How many looks were asked for, so far. */
  count(key: string): number {
    return this.#asked.get(key)?.count ?? 0;
  }

  /** A run was started or signalled when so many looks were asked for. */
  done(key: string, count: number): void {
    const asked = this.#asked.get(key);
    if (asked === undefined || asked.done >= count) return;
    this.#asked.set(key, { ...asked, done: count });
  }

  /**
   * This process begins to lead: most of what was asked while it stood by was the last leader's to do.
   *
   * @param ledUntilMs when that was last heard of; -Infinity: there was none
   */
  lead(ledUntilMs: number): void {
    for (const [key, { atMs, count }] of this.#asked)
      if (atMs < ledUntilMs - UNANSWERED_MS) this.done(key, count);
  }

  /** The resource was evaluated: some decisions hold only for so long. */
  decided(key: string, decision: NextStep): void {
    const ms = 'recheckMs' in decision ? decision.recheckMs : undefined;
    if (ms === undefined) this.#rechecks.cancel(key);
    else this.#rechecks.set(key, Math.min(ms, MOST_MS), () => this.#onDue(key));
  }

  forget(key: string): void {
    this.#asked.delete(key);
    this.#rechecks.cancel(key);
  }

  stop(): void {
    this.#rechecks.cancelAll();
  }

  /** A run is to look at the resource. */
  ask(key: string, because: string): void {
    const asked = this.#asked.get(key) ?? NOTHING;
    this.#asked.set(key, { ...asked, count: asked.count + 1, because, atMs: performance.now() });
  }
}
