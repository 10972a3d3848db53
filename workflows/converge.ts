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
import type { Outcome, RunInput, Waiting } from '../src/contract/run.ts';
import { unreachable } from '../src/contract/unreachable.ts';
import { listenForChanges, type Interrupted } from './changes.ts';
import { markedAsStalled } from './stalling.ts';

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

/** `Retry-After: 0` is no leave to ask without a pause. */
const LEAST_WAIT_MS = 1_000;

/** The ways a controller brings its resource to what is wanted. */
export interface Passes<Seen> {
  /** A single short write, on what the watcher saw. Tried first and only once. */
  readonly quick?: (seen: Seen) => Promise<Outcome>;
  /** Does whatever is left to do, with durable backoff. */
  readonly durable: (given: Given<Seen>) => Promise<Outcome>;
}

/** What a durable pass may go by. */
export interface Given<Seen> {
  /** What the watcher saw; only for the first pass of all, where there is no quick one. Absent: read first. */
  readonly seen?: Seen;
  /** What the pass before said that this one is for, for people. */
  readonly next?: string;
}

/**
 * The loop that every run is: pass over the resource until it is converged and no change is unhandled.
 *
 * A change ends any backoff and any waiting; a stalled resource waits for one without a timer.
 *
 * @returns what was done, for people: the run's result
 */
export async function converge<Seen>(run: RunInput<Seen>, passes: Passes<Seen>): Promise<string> {
  const changes = listenForChanges();
  let pass = firstPass(run, passes);
  for (;;) {
    const handled = changes.count;
    const end = await attempt(() => (pass.isQuick ? pass.work() : changes.interrupting(handled, pass.work)));
    switch (end.result) {
      case 'converged':
        if (changes.count === handled) return end.did;
        break;
      case 'failed':
        // What failed for good on its durable try would fail again: only a change of the resource helps.
        if (pass.isQuick) break;
        await stall(end.why, () => changes.after(handled));
        break;
      case 'stalled':
        await stall(end.why, () => changes.after(handled));
        break;
      case 'waiting':
        setCurrentDetails(waitingFor(end));
        await changes.afterAtMost(handled, { ms: end.atMostMs, summary: `in case nobody tells: ${end.on}` });
        break;
      case 'asked to wait':
        await waitUnshortened(end);
        break;
      case 'progressed':
      case 'changed':
        break;
      default:
        unreachable(end);
    }
    pass = nextPass(end, passes);
    if (workflowInfo().continueAsNewSuggested) await startAfresh(run);
  }
}

interface NextPass<E> {
  readonly isQuick: boolean;
  readonly work: () => Promise<E>;
}

/** The first of all passes may go by what the watcher saw. */
function firstPass<Seen>({ seen }: RunInput<Seen>, { quick, durable }: Passes<Seen>): NextPass<Outcome> {
  if (seen === undefined) return { isQuick: false, work: () => durable({}) };
  // A quick one is not interruptible: it is over within a second, and most runs are nothing else.
  if (quick !== undefined) return { isQuick: true, work: () => quick(seen) };
  return { isQuick: false, work: () => durable({ seen }) };
}

function nextPass<Seen>(end: End, { durable }: Passes<Seen>): NextPass<Outcome> {
  const next = 'next' in end ? end.next : undefined;
  setCurrentDetails(next === undefined ? 'Working on it.' : `Working on it: ${next}.`);
  return { isQuick: false, work: () => durable(next === undefined ? {} : { next }) };
}

type End = Outcome | Failed | AskedToWait | Interrupted;

interface Failed {
  readonly result: 'failed';
  readonly why: string;
}

/** The server named a time to wait. */
interface AskedToWait {
  readonly result: 'asked to wait';
  readonly because: string;
  readonly forMs: number;
}

async function stall(why: string, change: () => Promise<void>): Promise<void> {
  setCurrentDetails(`**Stalled**: ${why}\n\nWaits for a change of the resource.`);
  await markedAsStalled(change);
}

function waitingFor({ on, did }: Waiting): string {
  return `**Waiting** for ${on}.${did === undefined ? '' : `\n\nLast: ${did}.`}`;
}

async function attempt<E extends End>(pass: () => Promise<E>): Promise<E | Failed | AskedToWait> {
  try {
    return await pass();
  } catch (error) {
    return endOf(error);
  }
}

/**
 * A durable pass fails only with what Temporal does not retry; a quick one with anything.
 *
 * A local activity's failure comes wrapped in an ActivityFailure the first time, and bare when the run is
 * replayed from its marker: both must lead to the same commands.
 */
function endOf(error: unknown): Failed | AskedToWait {
  if (!(error instanceof TemporalFailure) || isCancellation(error)) throw error;
  const cause = error instanceof ActivityFailure ? (error.cause ?? error) : error;
  if (cause instanceof ApplicationFailure && cause.type === FAILURE.retryAfter) {
    return { result: 'asked to wait', because: cause.message, forMs: Number(cause.details?.[0] ?? 0) };
  }
  return { result: 'failed', why: cause.message };
}

/** Only a server's own Retry-After waits like this: a change does not shorten it. */
async function waitUnshortened({ because, forMs }: AskedToWait): Promise<void> {
  const waitMs = Math.max(forMs, LEAST_WAIT_MS);
  setCurrentDetails(`**Waiting** ${waitMs / 1000} s because the API server asked for it: ${because}`);
  await sleep(waitMs, { summary: 'the API server said when to come back' });
}

/** A long history is left behind; the next run reads the live resource. */
async function startAfresh<Seen>({ ref, reason }: RunInput<Seen>): Promise<never> {
  return continueAsNew<(input: RunInput<Seen>) => Promise<string>>({ ref, reason });
}
