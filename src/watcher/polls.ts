import { isConverged, isRest, reasonOf, type NextStep } from '../runs/decision.ts';
import type { Logger } from '../api/logger.ts';
import { workflowIdFor, type ResourceRef } from '../api/resource-ref.ts';
import { ATTEMPT_MAX_MS } from '../runs/run.ts';
import { withinLimit } from '../kubernetes/limit.ts';
import { DOOMED, type Evaluation } from './evaluation.ts';
import { ReadyQueue } from './ready-queue.ts';

export interface PollsOptions {
  /** Undefined: this process has no clients. */
  readonly reader: PollReader | undefined;
  /** As the watch shows it now; undefined: it is gone. */
  readonly find: (ref: ResourceRef) => Evaluation | undefined;
  readonly log: Pick<Logger, 'debug'>;
  /** A run is to look at the resource. */
  readonly onNeeded: (ref: ResourceRef, because: string) => void;
}

/** Reads a resource, and what else its decision needs. */
export interface PollReader {
  /** A turn among the attempts of its controller in this process; undefined: there is none now. */
  takeTurn(ref: ResourceRef): { readonly end: () => void } | undefined;
  /** What is decided from a live observation. Nothing is written. */
  look(ref: ResourceRef, signal: AbortSignal): Promise<NextStep>;
}

/** What hangs, or is slow, holds up no more than the polls of its own controller. */
const AT_A_TIME = 8;
const EVERY_MS = 40;
/** Between two tries for a turn. */
const AGAIN_MS = 500;
/** A run that was asked for holds its place until it is started, so that few of them wait beside what has changed. */
const UNTIL_STARTED_MS = 60_000;

/** The polls of one controller while this process leads. They have a queue of their own, so that they delay no change. */
export class Polls {
  readonly #options: PollsOptions;
  readonly #queue = new ReadyQueue((id) => this.#poll(id), AT_A_TIME);
  readonly #due = new Map<string, { readonly ref: ResourceRef; readonly because: string }>();
  /** What gives the places back of those for which a run was asked. */
  readonly #asked = new Map<string, () => void>();
  readonly #stopping = new AbortController();
  /** No read begins before, on the clock of `performance.now()`. */
  #nextMs = -Infinity;

  constructor(options: PollsOptions) {
    this.#options = options;
  }

  /** @param because for people */
  due(ref: ResourceRef, because: string): void {
    const id = workflowIdFor(ref);
    this.#due.set(id, { ref, because });
    this.#queue.add(id);
  }

  /** A run was started or signaled for the resource, or it is gone. */
  requested(ref: ResourceRef): void {
    this.#asked.get(workflowIdFor(ref))?.();
  }

  /** Resolves when nothing is in progress; what ignores its signal is not waited for. */
  stop(): Promise<void> {
    this.#stopping.abort();
    for (const giveBack of this.#asked.values()) giveBack();
    return this.#queue.stop();
  }

  async #poll(id: string): Promise<void> {
    const due = this.#due.get(id);
    this.#due.delete(id);
    if (due === undefined || !this.#isPolled(due.ref)) return;
    await this.#turn();
    const { reader } = this.#options;
    const found = reader && (await this.#whyNeeded(due.ref, reader));
    if (this.#stopping.signal.aborted || (reader !== undefined && found === undefined)) return;
    await this.#ask(id, due.ref, found === undefined ? due.because : `${due.because}: ${found}`);
  }

  /** Not where a run is at work, since that looks by itself. */
  #isPolled(ref: ResourceRef): boolean {
    const { decision } = this.#options.find(ref) ?? {};
    return decision !== undefined && decision !== DOOMED && isRest(decision);
  }

  /** Begins of reads are so far apart, whoever has asked for how many. */
  async #turn(): Promise<void> {
    const waitMs = Math.max(0, this.#nextMs - performance.now());
    this.#nextMs = performance.now() + waitMs + EVERY_MS;
    if (waitMs > 0) await delay(waitMs);
  }

  /** Why a run has to look; undefined: nothing is to be done. */
  async #whyNeeded(ref: ResourceRef, reader: PollReader): Promise<string | undefined> {
    let turn = reader.takeTurn(ref);
    while (turn === undefined) {
      await delay(AGAIN_MS);
      if (this.#stopping.signal.aborted) return undefined;
      turn = reader.takeTurn(ref);
    }
    try {
      const decision = await withinLimit(
        { timeoutMs: ATTEMPT_MAX_MS, signal: this.#stopping.signal },
        (signal) => reader.look(ref, signal),
      );
      const view = this.#options.find(ref);
      return view !== undefined && isNeededAfter(decision, view.decision) ? reasonOf(decision) : undefined;
    } catch (err) {
      // The run meets it, too, and says it where it may: what an author's code throws has no place in a history.
      this.#options.log.debug({ ...ref, err }, 'a poll has failed');
      return 'it could not be observed';
    } finally {
      turn.end();
    }
  }

  #ask(id: string, ref: ResourceRef, because: string): Promise<void> {
    return new Promise((resolve) => {
      const giveBack = () => {
        clearTimeout(timer);
        this.#asked.delete(id);
        resolve();
      };
      const timer = setTimeout(giveBack, UNTIL_STARTED_MS);
      this.#asked.set(id, giveBack);
      this.#options.onNeeded(ref, because);
    });
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A run that rests is told only of what does not let it rest. */
function isNeededAfter(live: NextStep, shown: NextStep): boolean {
  return isConverged(shown) ? !isConverged(live) : !isRest(live) || isConverged(live);
}
