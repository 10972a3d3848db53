import { CancellationScope, condition, defineSignal, setHandler, sleep } from '@temporalio/workflow';
import { CHANGED_SIGNAL } from '../src/contract/run.ts';

const changed = defineSignal<[reason: string]>(CHANGED_SIGNAL);

/**
 * How long work in hand may go on after a change before it is dropped and begun anew. Long enough that an
 * attempt under way usually ends by itself, short enough that a change ends a backoff within a second.
 */
const GRACE_MS = 500;

/** The changes of its resource that a run has been told of. */
export interface Changes {
  /** How many so far: a pass that began at n has seen all of them up to n. */
  readonly count: number;
  /** Resolves once there were more than `handled`. */
  after(handled: number): Promise<void>;
  /** Ends `work`, or drops it because of a change that came while it was going on. */
  interrupting<T>(handled: number, work: () => Promise<T>): Promise<T | Interrupted>;
}

/** Work that was dropped because of a change. */
export interface Interrupted {
  readonly result: 'changed';
}

export function listenForChanges(): Changes {
  let count = 0;
  setHandler(changed, () => {
    count += 1;
  });
  const after = (handled: number) => condition(() => count > handled);
  return {
    get count() {
      return count;
    },
    after,
    async interrupting(handled, work) {
      const working = new CancellationScope();
      const watching = new CancellationScope();
      const interruption = watching.run(async () => {
        await after(handled);
        await sleep(GRACE_MS, { summary: 'the resource changed: let the attempt in hand end' });
        return { result: 'changed' } as const;
      });
      const completion = working.run(work);
      try {
        return await Promise.race([completion, interruption]);
      } finally {
        watching.cancel();
        working.cancel();
        // The loser of the race ends too; what it ends with is of no interest.
        await Promise.allSettled([interruption, completion]);
      }
    },
  };
}
