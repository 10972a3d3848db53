/*
 * The loop that every run is, for all controllers. In: the resource, a reason, the first step; later, signals with reasons. Out: what all
 * steps did. It calls the step that the last result named, waits, and backs off. It never decides, reads or writes: whatever changes its
 * commands must replay the histories in test/histories.
 */

import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  continueAsNew,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  sleep,
  TemporalFailure,
  TimeoutFailure,
  workflowInfo,
  type ActivityOptions,
  type LocalActivityOptions,
  type RetryPolicy,
} from '@temporalio/workflow';
import {
  addedUp,
  type Action,
  type Held,
  isConverged,
  isRest,
  type NextInHistory,
  type Observe,
  type Refusal,
  type Rest,
  sentenceOf,
  stalled,
  type Stalled,
  type Step,
  type StepReport,
  waitFor,
} from '../src/runs/decision.ts';
import {
  FAILURE,
  RETRY_AFTER_MAX_MS,
  type FailureDetails,
  type RetryAfterDetails,
} from '../src/runs/failures.ts';
import type { UnknownAttempt } from '../src/api/unknown-attempt.ts';
import { ATTEMPT_MAX_MS, type Heartbeat, type RunInput, type StepInput } from '../src/runs/run.ts';
import { AWAITING_APPROVAL, PAUSED, RETRYING, STALLED } from '../src/runs/search-attributes.ts';
import { backoffTimer, recheckTimer, RETRY_AFTER_TIMER, waitingFor } from '../src/runs/sentences.ts';
import { unreachable } from '../src/api/unreachable.ts';
import { Attempts } from './attempts.ts';
import { listenForChanges, type Interrupted, type SignalledChanges } from './changes.ts';
import { markedAs } from './marking.ts';
import { asSummary } from '../src/api/text.ts';

/**
 * Temporal retries a step for as long as it takes. The longest wait is well under a minute, so that a resource
 * converges within one once a fault is over.
 */
const RETRY: RetryPolicy = { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s' };
/** Whether such an attempt still goes on, nobody knows: what comes next is decided first. */
const UNSEEN_ENDS = ['TemporalTimeout:Heartbeat', 'TemporalTimeout:StartToClose'];
/**
 * A worker that was killed or frozen is noticed so soon. The polls of a frozen one go on taking tasks until the server closes
 * its connection: each costs a run so much.
 */
const HEARTBEAT_TIMEOUT = '5s';

/** A brief step is first tried once within the workflow task itself; whatever fails is tried again durably. */
const LOCAL: LocalActivityOptions = { scheduleToCloseTimeout: '1s', retry: { maximumAttempts: 1 } };
/** Steps of more writes are durable from the start. */
const LOCAL_WRITES_MAX = 10;
/** A signal waits until the workflow task ends: no more local steps than these in a row. */
const LOCAL_STEPS_MAX = 4;

/** A person has limited the attempts of a step in Temporal, and they are used up: that is how long until the next. */
const GIVEN_UP_MS = 30_000;

/** `Retry-After: 0` does not mean to ask again without a pause. */
const RETRY_AFTER_MIN_MS = 1_000;

/** A held run can be released without a signal. Check again, at growing intervals. */
const HELD_LOOK_FIRST_MS = 30_000;
const HELD_LOOK_MOST_MS = 3_600_000;

const OBSERVE = 'read the live state';

/**
 * The loop that every run is: call the step that the last result named, until the resource is converged and every
 * signal was considered.
 *
 * A signal ends any backoff and any wait; a stalled resource waits for one without a timer.
 *
 * @returns what all steps did, for people: the run's result
 */
export function reconcile(run: RunInput): Promise<string> {
  return new Reconcile(run).run();
}

/** How a step ended, or what kept it from ending. */
type End = StepReport | Failed | RetryAfter | Interrupted;

interface Failed {
  readonly failed: string;
  /** The step itself has said that Temporal is not to try it again. */
  readonly isFinal: boolean;
  /** Earlier attempts whose outcome is not known. */
  readonly unknown: readonly UnknownAttempt[];
  /** Nobody has seen the end of the attempt; `begunMs`: as its last heartbeat says it. */
  readonly lost?: { readonly begunMs?: number | undefined };
}

/** The server said when to come back. */
interface RetryAfter {
  readonly retryAfterMs: number;
  readonly because: string;
  /** What the step did before. */
  readonly did: readonly Action[];
  /** Earlier attempts whose outcome is not known. */
  readonly unknown: readonly UnknownAttempt[];
}

const LOOK_AGAIN: Observe = { do: 'observe', because: 'the resource changed' };

class Reconcile {
  readonly #run: RunInput;
  readonly #changes: SignalledChanges = listenForChanges();
  #did: readonly Action[];
  #localSteps = 0;
  /** Why the step was refused that was refused last, and has not succeeded since. */
  #refused: Refusal | undefined;
  /** How many signals had come when the last step began: it has seen all of them up to here. */
  #seen = 0;
  /** How many results of steps have come. */
  #results = 0;
  readonly #attempts: Attempts;
  /** The hold it is in, and how often it has looked in vain whether it still is. */
  #hold: { readonly why: string; looks: number } | undefined;

  constructor(run: RunInput) {
    this.#run = run;
    this.#did = run.did ?? [];
    this.#attempts = new Attempts(run);
  }

  async run(): Promise<string> {
    let next: NextInHistory = this.#run.first;
    for (;;) {
      if (isConverged(next) && this.#changes.count === this.#seen) return this.#result(next.because);
      const isHeld = isRest(next) && next.do === 'held';
      if (!isHeld && next.do !== 'observe') this.#hold = undefined;
      next = isRest(next) ? await this.#rest(next) : await this.#take(next);
      if (workflowInfo().continueAsNewSuggested) await this.#continueAsNew();
    }
  }

  async #take(step: Step | Observe): Promise<NextInHistory> {
    this.#seen = this.#changes.count;
    setCurrentDetails(this.#details(`**${step.do}**: ${step.because}`));
    if (this.#isBrief(step)) {
      const end = await this.#tryLocally(step);
      // Whatever failed locally is tried durably, under the same name.
      if (!('failed' in end)) return this.#after(step, end);
    }
    this.#localSteps = 0;
    if ('isDurable' in step) this.#attempts.begin(step);
    const end = await this.#callDurably(step);
    if ('isDurable' in step) this.#account(step, end);
    if ('digest' in step && 'failed' in end && end.isFinal) return this.#backOff(step, end);
    return this.#after(step, end);
  }

  /** The attempt goes on wherever it is, and its write may come late. */
  #account(step: Step, end: End): void {
    if ('failed' in end) {
      this.#attempts.learn(end.unknown);
      // One whose result is known is not retried by Temporal.
      if (!('digest' in step && end.isFinal))
        this.#attempts.lost(step, { isSeen: end.lost === undefined, ...end.lost });
    } else if ('retryAfterMs' in end) this.#attempts.putOff(end.unknown);
    else if ('result' in end) this.#attempts.lost(step, { isSeen: end.isOver });
  }

  /** Where the result of an attempt is known, the backoff is the run's own: so nothing is in doubt when a change ends it. */
  async #backOff(step: Step, { failed }: Failed): Promise<NextInHistory> {
    const ms = this.#attempts.refused();
    setCurrentDetails(this.#details(`**Waiting** ${ms / 1000} s to try ${step.do} again: ${failed}`));
    const timer = { ms, summary: asSummary(backoffTimer(step.do)) };
    await markedAs(RETRYING, () => this.#changes.afterAtMost(this.#seen, timer));
    return this.#isNews() ? LOOK_AGAIN : step;
  }

  /** What comes after a step; a signal that it has not seen calls for another look. */
  async #after(step: Step | Observe, end: End): Promise<NextInHistory> {
    if ('failed' in end && end.isFinal)
      return stalled({ reason: 'StepFailed', message: end.failed, advice: [] });
    if ('failed' in end && end.lost !== undefined && 'digest' in step)
      return { do: 'observe', because: `an attempt of ${step.do} was lost: ${end.failed}` };
    if ('failed' in end) return waitFor(`the next attempt of ${step.do}: ${end.failed}`, GIVEN_UP_MS);
    if ('retryAfterMs' in end) return this.#waitUnshortened(end);
    if (!('result' in end)) {
      this.#note(step, end);
      if (!this.#isNews()) return end.next;
    }
    // What changes a write stays until a dry run shows that it is gone: else each signal would cost another write.
    if (this.#refused?.because !== 'overridden') this.#refused = undefined;
    return LOOK_AGAIN;
  }

  #note(called: Step | Observe, report: StepReport): void {
    const { do: step } = called;
    const { did, refusal } = report;
    if (report.hasNotLooked !== true) this.#results += 1;
    this.#attempts.reported(called, report);
    this.#did = addedUp([...this.#did, ...did]);
    if (refusal !== undefined) this.#refused = { step, ...refusal };
    else if (this.#refused?.step === step && did.length > 0) this.#refused = undefined;
  }

  async #rest(rest: Rest): Promise<NextInHistory> {
    this.#localSteps = 0;
    switch (rest.do) {
      case 'converged':
        return LOOK_AGAIN;
      case 'wait':
        setCurrentDetails(this.#details(`**Waiting** for ${rest.for}.`));
        await this.#changes.afterAtMost(this.#seen, {
          ms: rest.recheckMs,
          summary: asSummary(recheckTimer(waitingFor(rest.for))),
        });
        return this.#isNews() ? this.#calledFor : { do: 'observe', because: `waited for ${rest.for}` };
      case 'stalled':
        return this.#stall(rest);
      case 'held':
        return this.#waitWhileHeld(rest);
      default:
        return unreachable(rest);
    }
  }

  async #stall({ message, recheckMs }: Stalled): Promise<Observe> {
    setCurrentDetails(this.#details(`**Stalled**: ${message}\n\nWaiting for a change of the resource.`));
    await markedAs(STALLED, () =>
      recheckMs === undefined
        ? this.#changes.after(this.#seen)
        : this.#changes.afterAtMost(this.#seen, { ms: recheckMs, summary: asSummary(recheckTimer(message)) }),
    );
    if (this.#isNews()) return LOOK_AGAIN;
    return { do: 'observe', because: `stalled for ${(recheckMs ?? 0) / 1000} s` };
  }

  /** It also looks by itself: a pause that came and went between two looks of the watcher is no news. */
  async #waitWhileHeld({ by, message, would }: Held): Promise<Observe> {
    setCurrentDetails(this.#details(`**On hold**: ${message}\n\nThe step: ${would}.`));
    const why = `${by} ${message}`;
    if (this.#hold?.why !== why) this.#hold = { why, looks: 0 };
    const ms = Math.min(HELD_LOOK_FIRST_MS * 2 ** this.#hold.looks, HELD_LOOK_MOST_MS);
    this.#hold.looks += 1;
    await markedAs(by === 'pause' ? PAUSED : AWAITING_APPROVAL, () =>
      this.#changes.afterAtMost(this.#seen, { ms, summary: asSummary(recheckTimer(message)) }),
    );
    if (!this.#isNews()) return { do: 'observe', because: `held for ${ms / 1000} s` };
    this.#hold = undefined;
    return LOOK_AGAIN;
  }

  /** A step decides again. One that was refused would be held back, where only a look tries it again. */
  get #calledFor(): NextInHistory {
    return (this.#refused === undefined ? this.#changes.first : undefined) ?? LOOK_AGAIN;
  }

  #isNews(): boolean {
    return this.#changes.count > this.#seen;
  }

  #isBrief({ do: name, writes = 1, isDurable }: Step): boolean {
    const isSlow = isDurable === true || (name === 'observe' && this.#run.observesOutside === true);
    return !isSlow && writes <= LOCAL_WRITES_MAX && this.#localSteps < LOCAL_STEPS_MAX;
  }

  #tryLocally(step: Step | Observe): Promise<Exclude<End, Interrupted>> {
    this.#localSteps += 1;
    const options = { ...LOCAL, summary: summaryOf(step) };
    return endOf(named(step, proxyLocalActivities<Activities>(options))(this.#input(step)));
  }

  #callDurably(step: Step | Observe): Promise<End> {
    const finishes = 'onChange' in step;
    const options: ActivityOptions = {
      startToCloseTimeout: attemptMaxOf(step),
      heartbeatTimeout: HEARTBEAT_TIMEOUT,
      retry: {
        ...RETRY,
        ...('retry' in step && step.retry),
        ...('digest' in step && { nonRetryableErrorTypes: UNSEEN_ENDS }),
      },
      summary: summaryOf(step),
      // What it did counts, although a change has made it obsolete.
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    };
    const work = () => endOf(named(step, proxyActivities<Activities>(options))(this.#input(step)));
    return finishes
      ? this.#changes.finishing(this.#seen, work)
      : this.#changes.interrupting(this.#seen, work);
  }

  #input(step: Step | Observe): StepInput {
    const { ref, cluster } = this.#run;
    const refusal = this.#refused;
    const counts = { changes: this.#seen, results: this.#results };
    return {
      ...{ ref, ...(cluster && { cluster }), ...counts },
      ...this.#attempts.inputFor(step, this.#results === 0),
      ...(refusal && { refusal }),
      ...('onChange' in step && { onChange: step.onChange }),
    };
  }

  /** Only a server's own Retry-After waits like this: a signal does not shorten it. */
  async #waitUnshortened({ because, retryAfterMs, did }: RetryAfter): Promise<Observe> {
    this.#did = addedUp([...this.#did, ...did]);
    // An activity of an older version hands on any length.
    const waitMs = Math.min(Math.max(retryAfterMs, RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);
    setCurrentDetails(
      this.#details(`**Waiting** ${waitMs / 1000} s because the server asked for it: ${because}`),
    );
    await sleep(waitMs, { summary: RETRY_AFTER_TIMER });
    return { do: 'observe', because: 'the Retry-After of the server has passed' };
  }

  #details(now: string): string {
    const did = sentenceOf(this.#did);
    return did === '' ? now : `${now}\n\nDone so far: ${did}.`;
  }

  #result(found: string): string {
    const did = sentenceOf(this.#did);
    return did === '' ? found : did;
  }

  /** A long history is left behind; the next run observes the live resource. */
  #continueAsNew(): Promise<never> {
    const { ref, cluster, reason, observesOutside } = this.#run;
    const first: Observe = { do: 'observe', because: 'the run continued as new with an empty history' };
    return continueAsNew<(input: RunInput) => Promise<string>>({
      ...{ ref, reason, first, did: this.#did, ...this.#attempts.forNextRun },
      ...(cluster && { cluster }),
      ...(observesOutside && { observesOutside }),
    });
  }
}

type Activity = (input: StepInput) => Promise<StepReport>;
type Activities = Readonly<Record<string, Activity>>;

/** The SDK makes an activity of any name. */
function named({ do: name }: Step | Observe, activities: Activities): Activity {
  const activity = activities[name];
  if (activity === undefined) throw new Error(`there is no activity ${name}`);
  return activity;
}

function attemptMaxOf(step: Step | Observe): number {
  return ('attemptMaxMs' in step ? step.attemptMaxMs : undefined) ?? ATTEMPT_MAX_MS;
}

function summaryOf(step: Step | Observe): string {
  const summary = 'summary' in step ? step.summary : undefined;
  return asSummary(`${summary ?? (step.do === 'observe' ? OBSERVE : step.do)}: ${step.because}`);
}

/**
 * A durable step fails only with what Temporal does not retry; a local one with anything.
 *
 * A local activity's failure comes wrapped in an ActivityFailure the first time, and bare when the run is
 * replayed from its marker: both must lead to the same commands.
 */
async function endOf(step: Promise<StepReport>): Promise<Exclude<End, Interrupted>> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof TemporalFailure) || isCancellation(error)) throw error;
    const cause = error instanceof ActivityFailure ? (error.cause ?? error) : error;
    if (cause instanceof ApplicationFailure && cause.type === FAILURE.retryAfter) {
      // What edge.ts put there; Temporal's types do not know.
      const [retryAfterMs = 0, did = [], unknown = []] = (cause.details ??
        []) as unknown as RetryAfterDetails;
      return { because: cause.message, retryAfterMs, did, unknown };
    }
    const isFinal = cause instanceof ApplicationFailure && cause.nonRetryable === true;
    // Likewise.
    const [, unknown = []] = (isFinal ? (cause.details ?? []) : []) as unknown as FailureDetails;
    const lost = cause instanceof TimeoutFailure ? { lost: begunIn(cause.lastHeartbeatDetails) } : {};
    return { failed: cause.message, isFinal, unknown, ...lost };
  }
}

/** An attempt of an older version says only what it did. */
function begunIn(heartbeat: unknown): NonNullable<Failed['lost']> {
  const { begunMs } = (heartbeat ?? {}) as Partial<Heartbeat>;
  return begunMs === undefined ? {} : { begunMs };
}
