import {
  isConverged,
  isRest,
  stalled,
  type Held,
  type NextInHistory,
  type Observe,
  type Stalled,
  type Wait,
} from '../../src/runs/decision.ts';
import {
  mergedUnknown,
  settled,
  stillUnknown,
  unknownSince,
  type UnknownAttempt,
} from '../../src/api/unknown-attempt.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { ATTEMPT_MAX_MS } from '../../src/runs/run.ts';
import { ApiError, isOf } from '../../src/kubernetes/errors.ts';
import type { StepEnd } from '../../activities/step-run.ts';
import type { ExploredAttempts, AttemptProgress, Received } from './attempt.ts';
import { START_MS } from './cluster.ts';
import { Violation } from './explorer.ts';
import type { Checkpoint, SimulatedRun, RunAttempt, WorldState } from './state.ts';
import { datumOf, valueOf, type Datum } from './values.ts';

/** workflows/reconcile.ts, whose SDK cannot be stopped and copied. */
const LOCAL_WRITES_MAX = 10;
const LOCAL_STEPS_MAX = 4;

const LOOK_AGAIN: Datum = datumOf({ do: 'observe', because: 'the resource changed' } satisfies Observe);

/** How runs go on: by the workflow's rules, or by some that are broken on purpose. */
export interface RunRules {
  /** A signal that came meanwhile calls for another look. */
  readonly looksAgain: boolean;
  /** A step whose worker was killed is called again; else its run waits for what it would have done. */
  readonly repeatsAfterCrash: boolean;
  /** What was known before a rest does not count after it. */
  readonly forgetsAtRest: boolean;
  /** One that a person holds looks by itself whether that is still so. */
  readonly rechecksWhileHeld: boolean;
  /** What became of an attempt that nobody waited for is noted as unknown. */
  readonly notesUnknown: boolean;
  /** An attempt without a known result is repeated with the same idempotency key. */
  readonly keepsKey: boolean;
}

export const RUN_RULES: RunRules = {
  looksAgain: true,
  repeatsAfterCrash: true,
  forgetsAtRest: true,
  rechecksWhileHeld: true,
  notesUnknown: true,
  keepsKey: true,
};

type Called = Pick<RunAttempt, 'step' | 'isDurable' | 'asksToBe' | 'key' | 'digest'>;

/** What runs are not, and what they concern. */
export interface RunSurroundings {
  /** A step has found its resource converged. */
  readonly onConverged: (state: WorldState, ref: ResourceRef) => void;
  /** Whether the controller asks what may still arrive. */
  readonly asksWhatArrives: boolean;
  /** As far as the process of the worker knows. */
  readonly isNamespacePaused: (state: WorldState) => boolean;
  /** What the process of the worker watches; undefined: nobody reads it, or it does not show the resource. */
  readonly watched: (state: WorldState) => unknown;
  /** The idempotency key of a new execution of a step; undefined: nobody uses it. */
  readonly freshKey: (state: WorldState) => string | undefined;
}

/** What Temporal and its worker do with the runs: `workflows/reconcile.ts` and `activities/memory.ts`. */
export class RunsModel {
  readonly #attempts: ExploredAttempts;
  readonly #rules: RunRules;
  readonly #around: RunSurroundings;

  constructor(attempts: ExploredAttempts, rules: RunRules, around: RunSurroundings) {
    this.#attempts = attempts;
    this.#rules = rules;
    this.#around = around;
  }

  get rechecksWhileHeld(): boolean {
    return this.#rules.rechecksWhileHeld;
  }

  async start(state: WorldState, ref: ResourceRef, first: NextInHistory): Promise<void> {
    const next = datumOf(first);
    const begun = {
      ...{ unseen: false, localSteps: 0, refused: null, hasResult: false },
      ...{ unknown: [], lastAttempt: null },
    };
    const task = { next, ...begun };
    state.runs[ref.uid] = {
      ref,
      next,
      ...begun,
      buffered: false,
      task,
      attempt: null,
      left: null,
      isRemembered: false,
      hasFailed: false,
      backoff: 'no',
    };
    await this.goOn(state, ref.uid);
  }

  /** A signal has reached the server. */
  async signal(state: WorldState, uid: string): Promise<void> {
    const run = state.runs[uid];
    if (run === undefined) return;
    if (run.task !== null) run.buffered = true;
    else deliverSignal(state, run);
    await this.goOn(state, uid);
  }

  /** Goes on until a request waits for its answer, or the run waits or ends. */
  async goOn(state: WorldState, uid: string): Promise<void> {
    for (let run = state.runs[uid]; run !== undefined; run = state.runs[uid]) {
      if (run.attempt !== null) {
        if (run.backoff !== 'no') return;
        const progress = await this.#attempts.progressOf(run.ref, run.attempt);
        if (progress.at === 'request') return;
        this.#ended(state, run, progress);
      } else if (!this.#goesOn(state, run)) return;
    }
  }

  /** @returns false where the run rests or has ended */
  #goesOn(state: WorldState, run: SimulatedRun): boolean {
    const next = valueOf<NextInHistory>(run.next);
    if (!isRest(next)) {
      this.#take(state, run, next);
      return true;
    }
    run.localSteps = 0;
    if (run.unseen && this.#rules.looksAgain) {
      run.next = LOOK_AGAIN;
      run.task ??= checkpointOf(run);
      return true;
    }
    if (isConverged(next)) return this.#complete(state, run);
    run.task = null;
    if (!run.buffered) return false;
    deliverSignal(state, run);
    return true;
  }

  /** The server refuses that a run completes while a signal waits for it: the workflow task is done again. */
  #complete(state: WorldState, run: SimulatedRun): boolean {
    if (!run.buffered || run.task === null) {
      Reflect.deleteProperty(state.runs, run.ref.uid);
      if (state.ghost?.ref.uid === run.ref.uid) state.ghost.isCurrent = false;
      return false;
    }
    Object.assign(run, run.task);
    deliverSignal(state, run);
    return true;
  }

  #take(
    state: WorldState,
    run: SimulatedRun,
    { do: step, ...next }: Exclude<NextInHistory, { readonly do: 'wait' | 'converged' | 'stalled' | 'held' }>,
  ) {
    const { writes = 1 } = 'writes' in next ? next : {};
    const asksToBe = 'isDurable' in next;
    const isDurable = asksToBe || writes > LOCAL_WRITES_MAX || run.localSteps >= LOCAL_STEPS_MAX;
    run.task ??= checkpointOf(run);
    run.unseen = false;
    const digest = 'digest' in next ? next.digest : undefined;
    this.#call(state, run, { step, isDurable, asksToBe, ...(digest !== undefined && { digest }) });
  }

  #call(state: WorldState, run: SimulatedRun, { step, isDurable, asksToBe, digest, ...again }: Called): void {
    const key = again.key ?? this.#around.freshKey(state);
    const keyed = digest === undefined ? undefined : this.#keyedBy(run, { step, digest, key: key ?? '' });
    run.attempt = {
      step,
      asksToBe,
      ...(digest !== undefined && { digest }),
      ...(keyed && { keyed }),
      known: takeKnown(state, run),
      answers: [],
      clockMs: state.clockMs,
      refusal: run.refused?.refusal ?? null,
      isDurable,
      isCurrent: true,
      ...(key !== undefined && keyed === undefined && { key }),
      ...this.#pauseIn(state),
      ...this.#viewIn(state),
      ...this.#unknownIn(state, run),
    };
    run.localSteps = isDurable ? 0 : run.localSteps + 1;
    if (!isDurable) return;
    // An activity is scheduled with the end of the workflow task.
    run.task = null;
    if (run.buffered) deliverSignal(state, run);
  }

  /** workflows/attempts.ts: the key stays as long as step and data do, and the result of the last attempt is not known. */
  #keyedBy(run: SimulatedRun, { step, digest, key }: { step: string; digest: string; key: string }) {
    const { lastAttempt } = run;
    const isSame = lastAttempt?.step === step && lastAttempt.digest === digest && this.#rules.keepsKey;
    run.lastAttempt = isSame ? lastAttempt : { step, digest, idempotencyKey: key };
    return run.lastAttempt;
  }

  #viewIn(state: WorldState): Pick<RunAttempt, 'watched'> {
    const view = this.#around.watched(state);
    return view === undefined ? {} : { watched: datumOf(view) };
  }

  #ended(
    state: WorldState,
    run: SimulatedRun,
    progress: Exclude<AttemptProgress, { readonly at: 'request' }>,
  ): void {
    const { attempt } = run;
    if (attempt === null) return;
    if (progress.at === 'failure') {
      this.failed(state, run, progress);
      return;
    }
    const { end, writes } = progress;
    if (writes > 0 && end.did.length === 0) throw new Violation(`${attempt.step} does not say what it did`);
    run.attempt = null;
    this.#keep(run, attempt, end);
    if (isConverged(end.next)) this.#around.onConverged(state, run.ref);
    noteRefusal(run, attempt.step, end);
    run.hasResult = true;
    const { unknown = [] } = end;
    this.#learn(state, run, unknown);
    if (attempt.keyed !== undefined && end.isUnknown !== true) {
      const isDone = end.did.length > 0 || end.refusal !== undefined;
      const { idempotencyKey } = attempt.keyed;
      if (isDone) settle(run);
      else if (!unknown.some((each) => each.idempotencyKey === idempotencyKey)) run.lastAttempt = null;
    }
    const looksAgain = run.unseen && this.#rules.looksAgain;
    if (looksAgain) run.refused = null;
    run.next = looksAgain ? LOOK_AGAIN : datumOf(end.next);
    if (attempt.isDurable) run.task = checkpointOf(run);
  }

  /** The attempt has failed, or was given up: what failed locally is tried durably, and that again and again. */
  failed(
    state: WorldState,
    run: SimulatedRun,
    { error, hasBegun = true }: { readonly error?: unknown; readonly hasBegun?: boolean } = {},
  ): void {
    const { attempt } = run;
    if (attempt === null) return;
    if (error !== undefined && !(error instanceof ApiError))
      throw new Violation(
        `${attempt.step} throws a plain error, which people read as a bug of the controller: throw a StepError for what another system says\n${stackOf(error)}`,
      );
    const isKnown = isOf(error, 'refused', 'access-denied', 'overridden', 'api-missing');
    if (attempt.keyed !== undefined) {
      if (error === undefined) {
        this.#lost(state, run, attempt);
        return;
      }
      this.#learn(state, run, attempt.unknownHere ?? []);
      if (isKnown) settle(run);
      else if (!hasBegun) {
        this.#observes(run);
        return;
      }
    }
    if (attempt.isDurable && run.unseen) {
      if (attempt.asksToBe && !(attempt.keyed !== undefined && isKnown))
        this.#learn(state, run, [unknownIn(state, attempt)]);
      run.refused = null;
      this.#observes(run);
      return;
    }
    const { step, asksToBe, key, digest } = attempt;
    const keyed = digest === undefined ? {} : { digest };
    // What failed locally is another activity from now on.
    const again = attempt.isDurable && key !== undefined ? { key } : {};
    this.#call(state, run, { step, asksToBe, isDurable: true, ...again, ...keyed });
    if (attempt.isDurable && !isKnown && run.attempt !== null) run.attempt = this.#again(state, run.attempt);
    if (!attempt.isDurable || !isAnswered(attempt, error)) return;
    if (run.hasFailed) run.backoff = 'same';
    run.hasFailed = true;
  }

  /** Nobody has seen the end of the attempt: what comes next is decided first. */
  #lost(state: WorldState, run: SimulatedRun, attempt: RunAttempt): void {
    const begun = unknownIn(state, attempt);
    this.#learn(state, run, [...(attempt.unknownHere ?? []), { ...begun, isEndUnseen: true }]);
    this.#observes(run);
  }

  #observes(run: SimulatedRun): void {
    run.attempt = null;
    run.next = LOOK_AGAIN;
    run.task = checkpointOf(run);
  }

  /** What an attempt that begins now, or goes on, knows of its Namespace. */
  #pauseIn(state: WorldState): { readonly isNamespacePaused?: true } {
    return this.#around.isNamespacePaused(state) ? { isNamespacePaused: true } : {};
  }

  /** What an attempt is given of its run, as far as anybody asks. */
  #unknownIn(state: WorldState, run: SimulatedRun): Pick<RunAttempt, 'isFirst' | 'unknown'> {
    if (!this.#around.asksWhatArrives) return {};
    // Once its time is over, it makes no difference any more.
    run.unknown = stillUnknown(run.unknown, START_MS + state.clockMs);
    const { hasResult, unknown } = run;
    return { ...(!hasResult && { isFirst: true }), ...(unknown.length > 0 && { unknown }) };
  }

  /** The activity is tried again: what became of the attempt before is not known. */
  #again(state: WorldState, attempt: RunAttempt): RunAttempt {
    if (!this.#around.asksWhatArrives || !this.#rules.notesUnknown) return attempt;
    return { ...attempt, unknownHere: [unknownIn(state, attempt)] };
  }

  #learn(state: WorldState, run: SimulatedRun, unknown: readonly UnknownAttempt[]): void {
    if (this.#rules.notesUnknown && unknown.length > 0)
      run.unknown = mergedUnknown(stillUnknown(run.unknown, START_MS + state.clockMs), unknown);
  }

  /** What is received now, and what its process knows besides. */
  received(state: WorldState, received: Received): Received {
    return { ...received, ...this.#pauseIn(state) };
  }

  /** A wait is over without a signal. */
  async waited(state: WorldState, run: SimulatedRun, rest: Wait | Held | Stalled): Promise<void> {
    const because = rest.do === 'wait' ? `waited for ${rest.for}` : `${rest.do} for a while`;
    const next: Observe = { do: 'observe', because };
    run.next = datumOf(next);
    run.task = checkpointOf(run);
    // Nothing is remembered for so long.
    Reflect.deleteProperty(state.seeds, run.ref.uid);
    await this.goOn(state, run.ref.uid);
  }

  /** The step that has just begun does so in another process. */
  async forget(state: WorldState, uid: string): Promise<void> {
    const run = state.runs[uid];
    if (run?.attempt == null) return;
    run.attempt = this.#begunAgain(state, run.attempt);
    await this.goOn(state, uid);
  }

  /** An attempt that was given up has come to its end after all. */
  ghostEnded(state: WorldState, progress: Exclude<AttemptProgress, { readonly at: 'request' }>): void {
    const { ghost } = state;
    state.ghost = null;
    if (ghost === null || progress.at === 'failure') return;
    const run = state.runs[ghost.ref.uid];
    const { end } = progress;
    // A run that has gone on since may know more, which is lost then.
    if (run !== undefined) this.#keep(run, ghost, end);
    if (isConverged(end.next)) this.#around.onConverged(state, ghost.ref);
  }

  /** `Memory.keep` and `Memory.rest`. */
  #keep(
    run: SimulatedRun,
    { isCurrent }: { readonly isCurrent: boolean },
    { known, next }: StepEnd<unknown>,
  ): void {
    if (isRest(next) && this.#rules.forgetsAtRest) {
      run.left = null;
      run.isRemembered = false;
    } else if (known !== undefined) {
      run.left = isCurrent ? datumOf(known) : null;
      run.isRemembered = true;
    }
  }

  /** In another process. */
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- left out of the rest
  #begunAgain(state: WorldState, { isNamespacePaused: _, ...attempt }: RunAttempt): RunAttempt {
    return { ...attempt, known: null, answers: [], ...this.#pauseIn(state) };
  }

  /** The worker is killed, and another one goes on. */
  async crash(state: WorldState): Promise<void> {
    state.seeds = {};
    state.ghost = null;
    for (const run of Object.values(state.runs)) {
      run.left = null;
      run.isRemembered = false;
      if (!this.#rules.repeatsAfterCrash) {
        run.attempt = null;
        run.next = datumOf(stalled({ reason: 'Broken', message: 'nobody calls the step again', advice: [] }));
      } else if (run.task === null) {
        if (run.attempt?.keyed !== undefined && run.backoff === 'no') this.#lost(state, run, run.attempt);
        else if (run.attempt !== null) run.attempt = this.#again(state, this.#begunAgain(state, run.attempt));
      } else {
        Object.assign(run, run.task, { attempt: null });
        if (run.buffered) run.unseen = true;
        run.buffered = false;
      }
      await this.goOn(state, run.ref.uid);
    }
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** It failed by what it was answered: where nothing changes, so does the next one. */
function isAnswered({ answers }: RunAttempt, error: unknown): boolean {
  return error !== undefined && answers.every((datum) => valueOf<Received>(datum).answer !== 'lost');
}

/** Something has changed: what has failed may succeed. */
export function noteChange(run: SimulatedRun): void {
  run.hasFailed = false;
  if (run.backoff === 'same') run.backoff = 'changed';
}

function checkpointOf({
  next,
  unseen,
  localSteps,
  refused,
  hasResult,
  unknown,
  lastAttempt,
}: SimulatedRun): Checkpoint {
  return { next, unseen, localSteps, refused, hasResult, unknown, lastAttempt };
}

/** The attempt, as nobody knows what became of it. */
function unknownIn({ clockMs }: WorldState, { step, keyed }: RunAttempt): UnknownAttempt {
  return unknownSince(keyed ?? { step }, START_MS + clockMs, ATTEMPT_MAX_MS);
}

/** The result of the last attempt is known. */
function settle(run: SimulatedRun): void {
  if (run.lastAttempt !== null) run.unknown = settled(run.unknown, run.lastAttempt.idempotencyKey);
  run.lastAttempt = null;
}

/** The workflow gets the signal: what was known before it does not count any more. */
function deliverSignal(state: WorldState, run: SimulatedRun): void {
  run.buffered = false;
  run.unseen = true;
  run.left = null;
  if (state.ghost?.ref.uid === run.ref.uid) state.ghost.isCurrent = false;
  if (run.attempt === null) return;
  run.attempt = { ...run.attempt, isCurrent: false };
  if (run.backoff === 'no') return;
  // A signal ends a backoff.
  const { asksToBe, keyed, unknownHere = [] } = run.attempt;
  const nowMs = START_MS + state.clockMs;
  if (asksToBe) {
    const unknown = keyed === undefined ? [unknownIn(state, run.attempt)] : unknownHere;
    run.unknown = mergedUnknown(stillUnknown(run.unknown, nowMs), unknown);
  }
  run.backoff = 'no';
  run.attempt = null;
  run.refused = null;
  run.next = LOOK_AGAIN;
}

function noteRefusal(run: SimulatedRun, step: string, { did, refusal }: StepEnd<unknown>): void {
  if (refusal !== undefined) run.refused = { step, refusal };
  else if (run.refused?.step === step && did.length > 0) run.refused = null;
}

/** `Memory.take`: the view is not for a run that works, since it may lack what the run has written. */
function takeKnown(state: WorldState, run: SimulatedRun): Datum | null {
  const { left, isRemembered, ref } = run;
  const view = state.seeds[ref.uid];
  run.left = null;
  run.isRemembered = true;
  Reflect.deleteProperty(state.seeds, ref.uid);
  if (isRemembered) return left;
  return view === undefined ? null : datumOf({ observation: valueOf(view), source: 'watch' });
}
