import {
  CancellationScope,
  condition,
  defineSignal,
  patched,
  proxySinks,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { NextInHistory } from '../src/runs/decision.ts';
import { CHANGED_SIGNAL, type AttemptSinks, type ChangeCertainty } from '../src/runs/run.ts';
import { GRACE_TIMER, LAST_WORDS_TIMER } from '../src/runs/sentences.ts';

const changed =
  defineSignal<[reason: string, change?: ChangeCertainty, first?: NextInHistory]>(CHANGED_SIGNAL);

/**
 * How long a step may go on after a signal before it is asked to end. Long enough that an
 * attempt in progress usually ends by itself, short enough that a change ends a backoff within a second.
 */
const GRACE_MS = 500;
/** How long it then has to do so: what it returns by then counts. */
const LAST_WORDS_MS = 2_000;

const { attempts } = proxySinks<AttemptSinks>();

/** The changes of its resource that a run was signalled. */
export interface SignalledChanges {
  /** How many so far: a step that began at n has seen all of them up to n. */
  readonly count: number;
  /** The step that the last change calls for. Undefined: nobody knows. */
  readonly first: NextInHistory | undefined;
  /** Resolves once there were more than `handled`. */
  after(handled: number): Promise<void>;
  /** Resolves once there were more than `handled`, or when so much time has passed. */
  afterAtMost(handled: number, time: TimeLimit): Promise<void>;
  /** What `work` ends with; or it is asked to end, because of a change that was seen while it was going on, and dropped if it does not. */
  interrupting<T>(handled: number, work: () => Promise<T>): Promise<T | Interrupted>;
  /** The same, but it may take as long as it takes, unless it is in its backoff. */
  finishing<T>(handled: number, work: () => Promise<T>): Promise<T | Interrupted>;
}

export interface TimeLimit {
  readonly ms: number;
  /** What the Temporal UI calls the timer. */
  readonly summary: string;
}

/** Work that was dropped because of a change. */
export interface Interrupted {
  readonly result: 'changed';
  /** It has ended: it had no attempt in progress, or that has ended without a result. Else it was dropped. */
  readonly isOver: boolean;
}

export function listenForChanges(): SignalledChanges {
  let count = 0;
  /** The count at the last change that somebody saw. */
  let lastSeen = 0;
  let last: NextInHistory | undefined;
  setHandler(changed, (_reason, change = 'seen', first) => {
    count += 1;
    last = first;
    if (change === 'seen') lastSeen = count;
  });
  const after = (handled: number) => condition(() => count > handled);
  const interruption = (handled: number) => async () => {
    await condition(() => lastSeen > handled);
    await sleep(GRACE_MS, { summary: GRACE_TIMER });
    return true as const;
  };
  return {
    get count() {
      return count;
    },
    get first() {
      return last;
    },
    after,
    async afterAtMost(handled, { ms, summary }) {
      if (count > handled) return;
      await firstOf(
        () => after(handled),
        () => sleep(ms, { summary }),
      );
    },
    interrupting: (handled, work) => unless(interruption(handled), work, askedToEnd),
    finishing: (handled, work) => unless(interruption(handled), work, (isOver) => condition(isOver)),
  };
}

/**
 * What `work` ends with; after an interruption, too, which cancels it.
 *
 * @param untilDropped how long it then has
 */
async function unless<T>(
  interruption: () => Promise<true>,
  work: () => Promise<T>,
  untilDropped: (isOver: () => boolean) => Promise<unknown>,
): Promise<T | Interrupted> {
  const scope = new CancellationScope();
  const its: { end?: { readonly value: T } | { readonly error: unknown } } = {};
  scope.run(work).then(
    (value) => (its.end = { value }),
    (error: unknown) => (its.end = { error }),
  );
  const isOver = () => its.end !== undefined;
  const interrupted = await firstOf(interruption, () => condition(isOver));
  if (interrupted !== undefined) {
    scope.cancel();
    await untilDropped(isOver);
  }
  if (its.end !== undefined && 'value' in its.end) return its.end.value;
  if (interrupted !== undefined) return { result: 'changed', isOver: isOver() };
  throw its.end?.error;
}

/** In this process at once, in any other by the answer to its next heartbeat. */
async function askedToEnd(isOver: () => boolean): Promise<void> {
  if (!patched('asked-to-end')) return;
  if (!workflowInfo().unsafe.isReplaying) attempts.end();
  await firstOf(
    () => condition(isOver),
    () => sleep(LAST_WORDS_MS, { summary: LAST_WORDS_TIMER }),
  );
}

/** What ends first; the other is cancelled. */
async function firstOf<A, B>(one: () => Promise<A>, other: () => Promise<B>): Promise<A | B> {
  const scopes = [new CancellationScope(), new CancellationScope()] as const;
  const racing = [scopes[0].run(one), scopes[1].run(other)] as const;
  try {
    return await Promise.race(racing);
  } finally {
    for (const scope of scopes) scope.cancel();
    // The loser of the race ends too; what it ends with is of no interest.
    await Promise.allSettled(racing);
  }
}
