import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  sleep,
  TemporalFailure,
  workflowInfo,
  type ActivityOptions,
  type LocalActivityOptions,
} from '@temporalio/workflow';
import { FAILURE } from '../src/contract/failures.ts';
import type { Outcome, RunInput } from '../src/contract/run.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import { listenForChanges, type Changes } from './changes.ts';

/** A single short write, tried once within the workflow task itself; whatever fails is tried durably. */
export const QUICK: LocalActivityOptions = {
  scheduleToCloseTimeout: '1s',
  retry: { maximumAttempts: 1 },
};

/**
 * An activity that Temporal retries for as long as it takes. The longest wait is well under a minute, so
 * that a resource converges within one once a fault is over.
 */
export const DURABLE: ActivityOptions = {
  startToCloseTimeout: '15s',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' },
  // An attempt that hangs must not hold up the change that made it obsolete.
  cancellationType: ActivityCancellationType.TRY_CANCEL,
};

/** The ways a controller brings its resource to what is wanted. */
export interface Passes<Seen> {
  /** Acts at once on what the watcher saw. Tried first and only once. */
  readonly quick: (seen: Seen) => Promise<Outcome>;
  /** Reads the live resource and does whatever is left to do, with durable backoff. */
  readonly durable: () => Promise<Outcome>;
}

/**
 * The loop that every run is: pass over the resource until it is converged and no change is unhandled.
 *
 * A change ends any backoff; a stalled resource waits for one without a timer.
 *
 * @returns what was done, for people: the run's result
 */
export async function converge<Seen>(run: RunInput<Seen>, passes: Passes<Seen>): Promise<string> {
  const changes = listenForChanges();
  const { seen } = run;
  let next = seen === undefined ? passes.durable : () => passes.quick(seen);
  for (;;) {
    const handled = changes.count;
    const end = await attempt(changes, handled, next);
    next = passes.durable;
    switch (end.result) {
      case 'converged':
        if (changes.count === handled) return end.did;
        break;
      case 'stalled':
        setCurrentDetails(`**Stalled**: ${end.why}\n\nWaits for a change of the resource.`);
        await changes.after(handled);
        break;
      case 'changed':
        break;
      case 'again':
        await waitUnshortened(end);
        break;
      default:
        unreachable(end);
    }
    setCurrentDetails('Working on it.');
    if (workflowInfo().continueAsNewSuggested) await startAfresh(run);
  }
}

type End = Outcome | { readonly result: 'changed' } | Again;

/** A quick try that failed, or a server that named a time to wait. */
interface Again {
  readonly result: 'again';
  readonly because: string;
  readonly afterMs: number;
}

async function attempt(changes: Changes, handled: number, pass: () => Promise<Outcome>): Promise<End> {
  try {
    const end = await changes.interrupting(handled, pass);
    return end.done ? end.value : { result: 'changed' };
  } catch (error) {
    return againAfter(error);
  }
}

/**
 * Durable passes fail only with what Temporal does not retry; quick ones with anything.
 *
 * A local activity's failure comes wrapped in an ActivityFailure the first time, and bare when the run is
 * replayed from its marker: both must lead to the same commands.
 */
function againAfter(error: unknown): Again {
  if (!(error instanceof TemporalFailure) || isCancellation(error)) throw error;
  const cause = error instanceof ActivityFailure ? (error.cause ?? error) : error;
  const askedToWait = cause instanceof ApplicationFailure && cause.type === FAILURE.retryAfter;
  const afterMs = askedToWait ? Number(cause.details?.[0] ?? 0) : 0;
  return { result: 'again', because: cause.message, afterMs };
}

/** Only a server's own Retry-After waits like this: a change does not shorten it. */
async function waitUnshortened({ because, afterMs }: Again): Promise<void> {
  if (afterMs <= 0) return;
  setCurrentDetails(`**Waiting** ${afterMs / 1000} s because the API server asked for it: ${because}`);
  await sleep(afterMs, { summary: 'the API server said when to come back' });
}

/** A long history is left behind; the next run reads the live resource. */
async function startAfresh<Seen>({ ref, reason }: RunInput<Seen>): Promise<never> {
  return continueAsNew<(input: RunInput<Seen>) => Promise<string>>({ ref, reason });
}
