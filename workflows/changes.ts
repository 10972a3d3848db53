import { CancellationScope, condition, defineSignal, setHandler, sleep } from '@temporalio/workflow';
import { CHANGED_SIGNAL, type ChangeCertainty } from '../src/contract/run.ts';
import { GRACE_TIMER } from '../src/contract/sentences.ts';

const changed = defineSignal<[reason: string, change?: ChangeCertainty]>(CHANGED_SIGNAL);

/**
 * How long a step may go on after a signal before it is dropped. Long enough that an
 * attempt in progress usually ends by itself, short enough that a change ends a backoff within a second.
 */
const GRACE_MS = 500;

/** The changes of its resource that a run was signalled. */
export interface SignalledChanges {
  /** How many so far: a step that began at n has seen all of them up to n. */
  readonly count: number;
  /** Resolves once there were more than `handled`. */
  after(handled: number): Promise<void>;
  /** Resolves once there were more than `handled`, or when so much time has passed. */
  afterAtMost(handled: number, time: TimeLimit): Promise<void>;
  /** Ends `work`, or drops it because of a change that was seen while it was going on. */
  interrupting<T>(handled: number, work: () => Promise<T>): Promise<T | Interrupted>;
  /** The same, but what `work` ends with counts, even if that comes after it was cancelled. */
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
}

export function listenForChanges(): SignalledChanges {
  let count = 0;
  /** The count at the last change that somebody saw. */
  let lastSeen = 0;
  setHandler(changed, (_reason, change = 'seen') => {
    count += 1;
    if (change === 'seen') lastSeen = count;
  });
  const after = (handled: number) => condition(() => count > handled);
  const interruption = (handled: number) => async () => {
    await condition(() => lastSeen > handled);
    await sleep(GRACE_MS, { summary: GRACE_TIMER });
    return { result: 'changed' } as const;
  };
  return {
    get count() {
      return count;
    },
    after,
    async afterAtMost(handled, { ms, summary }) {
      if (count > handled) return;
      await firstOf(
        () => after(handled),
        () => sleep(ms, { summary }),
      );
    },
    interrupting: (handled, work) => firstOf(interruption(handled), work),
    async finishing(handled, work) {
      let ended: PromiseSettledResult<Awaited<ReturnType<typeof work>>> | undefined;
      const noted = async () => {
        [ended] = await Promise.allSettled([work()]);
        if (ended.status === 'fulfilled') return ended.value;
        throw ended.reason;
      };
      const first = await firstOf(interruption(handled), noted);
      return ended?.status === 'fulfilled' ? ended.value : first;
    },
  };
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
