import {
  type NextStep,
  type DecisionEvent,
  type Action,
  isObserve,
  isRest,
  isStep,
  nextInHistory,
  type Observe,
  type Refusal,
  type Step,
  type StepReport,
} from '../src/runs/decision.ts';
import { ATTEMPT_MAX_MS } from '../src/runs/run.ts';
import { mergedUnknown, unknownSince, type UnknownAttempt } from '../src/api/unknown-attempt.ts';
import { ApiError, isOf } from '../src/kubernetes/errors.ts';
import type { KnownObservation } from './run-memory.ts';
import { isInVain, isSameStep, overridden } from './overridden.ts';
import {
  PartlyDone,
  type AttemptContext,
  type Confirmation,
  type Performed,
  type Reconciler,
} from './reconciler.ts';

/** How often a step observes again at once after a conflict; then Temporal's backoff takes over. */
const CONFLICTS_MAX = 4;
/** More than any controller asks to observe one after the other. */
const LOOKS_MAX = 20;

/** What came of one step activity. */
export interface StepEnd<O> extends StepReport {
  /** For the step that follows; undefined: it has to observe. */
  readonly known: KnownObservation<O> | undefined;
  readonly events: readonly DecisionEvent[];
}

/** A step that did not bring about what it was for. */
interface FailedEnd<O> {
  readonly step: Step;
  readonly error: ApiError;
  readonly did: readonly Action[];
  readonly events: readonly DecisionEvent[];
  readonly decided: Decided<O>;
}

interface Decided<O> {
  readonly known: KnownObservation<O>;
  readonly decision: NextStep;
}

/** What a step is decided from. */
interface Seen<O> {
  /** Undefined: it is observed. */
  readonly known: KnownObservation<O> | undefined;
  /** Of the watcher: the latest helps to observe. */
  readonly view: O | undefined;
  /** At once, after a conflict. */
  readonly mayObserve: boolean;
}

/** The end; a conflict; or what it is decided on again: undefined where everything has to be observed. */
type Outcome<O> = StepEnd<O> | ApiError | { readonly again: KnownObservation<O> | undefined };

/**
 * One step activity of any controller: observes, unless that is known; decides; performs the step that it is named
 * after, if that is what was decided; decides again, to say what comes next.
 */
export class StepRun<O> {
  readonly #reconciler: Reconciler<O>;
  readonly #context: AttemptContext<O>;
  /** Of which the run does not know. */
  #unknown: readonly UnknownAttempt[];
  #isUnknown = false;
  #isPastKnown = false;

  constructor(reconciler: Reconciler<O>, context: AttemptContext<O>) {
    this.#reconciler = reconciler;
    this.#context = context;
    this.#unknown = context.unknownHere ?? [];
  }

  /** Attempts whose outcome is not known, and of which the run does not know. */
  get unknown(): readonly UnknownAttempt[] {
    return this.#unknown;
  }

  /**
   * @param name of the step, or `observe`: then nothing is written
   * @throws ApiError
   */
  async perform(name: string, from: KnownObservation<O> | undefined): Promise<StepEnd<O>> {
    // A view that cannot be confirmed only says that a run is needed. The latest one helps to observe.
    const isUsable = from?.source === 'live' || this.#reconciler.confirm !== undefined;
    let known = isUsable ? from : undefined;
    let view = isUsable ? undefined : this.#context.watched?.();
    for (let conflicts = 0; ;) {
      const seen = { known, view, mayObserve: conflicts < CONFLICTS_MAX };
      const outcome = await this.#once(name, seen).catch(staleOrFailed);
      if ('next' in outcome) return outcome;
      const isConflict = outcome instanceof ApiError;
      if (isConflict && (conflicts += 1) > CONFLICTS_MAX) throw outcome;
      known = isConflict ? undefined : outcome.again;
      view = undefined;
    }
  }

  async #once(name: string, { known, view, mayObserve }: Seen<O>): Promise<Outcome<O>> {
    const seen = known ?? (await this.#observe(name, view));
    this.#askWhatMayArrive(seen);
    const decided = await this.#decide(seen);
    const { decision } = decided;
    if (!isStep(decision) || decision.do !== name || this.#isOtherData(decision))
      return this.#endWith(decided, []);
    const confirmation = await this.#confirm(decision, decided.known);
    if (confirmation === 'as shown') return this.#perform(decision, decided.known.observation, mayObserve);
    return { again: confirmation === 'unknown' ? undefined : { ...confirmation, source: 'live' } };
  }

  async #observe(name?: string, view?: O): Promise<KnownObservation<O>> {
    const { refusal } = this.#context;
    const observation = await this.#reconciler.observe(this.#context, view);
    const seen = refusal ? this.#withRefusal(observation, refusal, name) : observation;
    return { observation: seen, source: 'live' };
  }

  /** Of the attempts of an earlier run, this run knows nothing. */
  #askWhatMayArrive({ observation, source }: KnownObservation<O>): void {
    const { isFirst, begunAnew, now } = this.#context;
    if (this.#isPastKnown || isFirst?.() !== true) return;
    const { mayStillArrive, attemptMaxMs = ATTEMPT_MAX_MS } = this.#reconciler.controller;
    const step = mayStillArrive?.(observation);
    // The watch may lag: then a write that is decided from it fails, and it is asked again.
    if (step === undefined && source === 'watch') return;
    this.#isPastKnown = true;
    if (step === undefined) begunAnew?.();
    else {
      const unknown = unknownSince({ step }, now(), attemptMaxMs);
      this.#unknown = [...this.#unknown, { ...unknown, isEndUnseen: true }];
    }
  }

  /** Observes what the decision asks for until it is a step or a rest. */
  async #decide(from: KnownObservation<O>): Promise<Decided<O>> {
    const { controller } = this.#reconciler;
    let known = from;
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const decision = controller.decide(known.observation, this.#context.now(), {
        isLive: known.source === 'live',
        isNamespacePaused: (await this.#context.isNamespacePaused?.()) ?? false,
        unknown: [...(this.#context.unknown ?? []), ...this.#unknown],
        ...(this.#context.asking && { asking: this.#context.asking }),
      });
      if (!isObserve(decision)) return { known, decision };
      known = await this.#look(decision, known);
    }
    throw new Error(`no decision after ${LOOKS_MAX} observations; this is a bug in the controller`);
  }

  /** What was decided then is not what is to be done now: the run has to know what is. */
  #isOtherData({ digest }: Step): boolean {
    const { asking } = this.#context;
    return asking !== undefined && digest !== undefined && digest !== asking.digest;
  }

  async #look(asked: Observe, { observation, source }: KnownObservation<O>): Promise<KnownObservation<O>> {
    if (asked.isOfEverything) return this.#observe();
    const seen = await this.#reconciler.look?.(asked, observation, this.#context);
    return seen === undefined ? this.#observe() : { observation: seen, source };
  }

  /** Makes a view of the watcher as good as live. */
  async #confirm(step: Step, { observation, source }: KnownObservation<O>): Promise<Confirmation<O>> {
    if (source === 'live') return 'as shown';
    return (await this.#reconciler.confirm?.(step, observation, this.#context)) ?? 'unknown';
  }

  /** @param mayObserve again at once, after a conflict. @returns that conflict, where it was in vain */
  async #perform(step: Step, observation: O, mayObserve: boolean): Promise<StepEnd<O> | ApiError> {
    const performed = await this.#carryOut(step, observation);
    const { approval, event } = step;
    const events = [approval?.event, event, performed.event].filter((each) => each !== undefined);
    const { refusal, observation: after, isUnknown } = performed;
    const unknown = isUnknown && this.#context.unknownNow?.();
    if (unknown) {
      this.#unknown = mergedUnknown(this.#unknown, [unknown]);
      this.#isUnknown = true;
    }
    const isOutdated = isStale(refusal) && performed.did.length > 0;
    if (mayObserve && isStale(refusal) && !isOutdated) return refusal;
    const did = approval && performed.did.length > 0 ? [...performed.did, approval.action] : performed.did;
    if (this.#context.superseded.aborted && did.length > 0)
      return { ...{ did, next: ASKED_TO_END, known: undefined, events }, ...this.#learned() };
    let decided: Decided<O>;
    try {
      // An earlier refusal is left out: with it, other steps are held, and each status would say the opposite of the last.
      const seen = isOutdated
        ? await this.#reconciler.observe(this.#context)
        : (after ?? (await this.#reconciler.observe(this.#context, performed.view)));
      const isShown = after !== undefined && this.#reconciler.isShown?.(after) === true;
      decided = await this.#decide({ observation: seen, source: isShown ? 'watch' : 'live' });
    } catch (error) {
      if (did.length === 0) throw refusal ?? error;
      // The write is made: that it failed to look around afterwards must not hide it. Yet a Retry-After is kept.
      if (isOf(error, 'retry-after')) throw new PartlyDone(error, did, events);
      return { ...{ did, next: lookAgain(error), known: undefined, events }, ...this.#learned() };
    }
    // What is there by then decides what comes next.
    if (isOutdated) return this.#endWith(decided, did, events);
    if (isOf(refusal, 'retry-after') && did.length > 0) throw new PartlyDone(refusal, did, events);
    if (refusal !== undefined) return this.#failed({ step, error: refusal, did, events, decided });
    if (isInVain(step, performed.changed, decided.decision))
      return this.#failed({ step, error: overridden(step, performed.changed), did, events: [], decided });
    if (did.length === 0 && isSameStep(step, decided.decision)) return nothingDone(step);
    return this.#endWith(decided, did, events);
  }

  async #failed(failed: FailedEnd<O>): Promise<StepEnd<O>> {
    const { step, error, did, events, decided: before } = failed;
    const refusal = withOthers(refusalIn(step.do, error), this.#context.refusal);
    const decided = isOf(error, 'overridden')
      ? await this.#decide({
          ...before.known,
          observation: this.#withRefusal(before.known.observation, refusal),
        })
      : before;
    const { decision } = decided;
    if (isLeftToBackoff(failed, decision, this.#context.refusal !== undefined)) {
      const reported = await this.#report(decided);
      throw reported.length === 0 ? error : new PartlyDone(error, reported);
    }
    return { ...this.#endWith(decided, did, events), refusal };
  }

  /** After a step in vain, it is tried by a dry run first. */
  async #carryOut(step: Step, observation: O): Promise<Performed<O>> {
    const { refusal } = this.#context;
    if (refusal?.because === 'overridden' && refusal.step === step.do) {
      const { changed, ...rehearsed } = await this.#rehearse(step, observation);
      if (rehearsed.refusal !== undefined) return { observation, did: [], refusal: rehearsed.refusal };
      // What is observed anew knows nothing of a dry run: then the answer decides.
      const seen = rehearsed.observation ?? observation;
      const { decision } = await this.#decide({ observation: seen, source: 'live' });
      if (isInVain(step, changed, decision))
        return { observation, did: [], refusal: overridden(step, changed) };
    }
    return this.#reconciler.perform(step, observation, this.#context);
  }

  async #rehearse(step: Step, observation: O): Promise<Performed<O>> {
    const context = { ...this.#context, progress: undefined };
    const rehearsed = await this.#reconciler.rehearse?.(step, observation, context);
    return rehearsed ?? { observation: undefined, did: [] };
  }

  #withRefusal(observation: O, refusal: Refusal, name?: string): O {
    return this.#reconciler.withRefusal?.(observation, refusal, name) ?? observation;
  }

  #endWith(
    { known, decision }: Decided<O>,
    did: readonly Action[],
    events: readonly DecisionEvent[] = [],
  ): StepEnd<O> {
    // Record the event of a rest now, and that of a step after the step is done.
    const ofRest = isRest(decision) && decision.event !== undefined ? [decision.event] : [];
    const next = nextInHistory(decision, this.#reconciler.controller.steps);
    return { ...{ did, next, known, events: [...events, ...ofRest] }, ...this.#learned() };
  }

  #learned(): Pick<StepReport, 'unknown' | 'isUnknown'> {
    if (this.#unknown.length === 0) return {};
    return { unknown: this.#unknown, ...(this.#isUnknown && { isUnknown: true }) };
  }

  /** Who waits sees why, at most once an attempt. Where it does not succeed, the next attempt tries it again. */
  async #report({ decision, known: { observation } }: Decided<O>): Promise<readonly Action[]> {
    if (!isStep(decision) || decision.do !== 'updateStatus') return [];
    const performing = this.#reconciler.perform(decision, observation, this.#context);
    return performing.then(
      ({ did }) => did,
      () => [],
    );
  }
}

/** What is known was out of date. It is read again, and then Temporal's backoff keeps the step from being repeated at once. */
function nothingDone({ do: step, because }: Step): ApiError {
  return new ApiError(`${step} had nothing to do, and is still needed: ${because}`, {
    classification: 'conflict',
  });
}

/** The run looks again anyway, and does not wait for long. */
const ASKED_TO_END: Observe = { do: 'observe', because: 'the attempt was asked to end' };

function lookAgain(error: unknown): Observe {
  const why = error instanceof Error ? error.message : String(error);
  return { do: 'observe', because: `the next step could not be determined: ${why}` };
}

/** @throws whatever is no conflict */
function staleOrFailed(error: unknown): ApiError {
  if (isStale(error)) return error;
  throw error;
}

/** A target that is not there is as much a changed world as one that somebody else wrote. */
function isStale(error: unknown): error is ApiError {
  return isOf(error, 'conflict', 'already-exists', 'not-found');
}

export function refusalIn(step: string, { classification, words: message }: ApiError): Refusal {
  const because = REASONS.find((each) => each === classification) ?? 'refused';
  return { because, message, step };
}

function withOthers(refusal: Refusal, before: Refusal | undefined): Refusal {
  if (before === undefined || refusal.because === 'overridden' || before.because === 'overridden')
    return refusal;
  const { others = [], ...last } = before;
  const all = [...others, last].filter(({ step }) => step !== refusal.step);
  return all.length === 0 ? refusal : { ...refusal, others: all };
}

const REASONS = ['overridden', 'access-denied', 'namespace-terminating'] as const;

/**
 * Whether Temporal is to try the step again, with backoff. What it has done by then is a step forward; and the status that
 * says for the first time that the server refuses is a step of its own. If each later one was, too, a server that refuses in
 * other words each time would be asked without a pause.
 */
function isLeftToBackoff(
  { step, error, did }: Pick<FailedEnd<unknown>, 'step' | 'error' | 'did'>,
  decision: NextStep,
  wasRefusedBefore: boolean,
): boolean {
  if (did.length > 0) return false;
  if (!isOf(error, 'refused', 'overridden', 'access-denied', 'namespace-terminating')) return true;
  return (
    (isStep(decision) && decision.do === step.do) || (decision.do === 'updateStatus' && wasRefusedBefore)
  );
}
