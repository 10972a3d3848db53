import { uuid4 } from '@temporalio/workflow';
import type { Observe, Step, StepReport } from '../src/runs/decision.ts';
import { ATTEMPT_MAX_MS, type KeyedAttempt, type RunInput, type StepInput } from '../src/runs/run.ts';
import {
  mergedUnknown,
  settled,
  stillUnknown,
  unknownSince,
  type UnknownAttempt,
} from '../src/api/unknown-attempt.ts';

/** Between two attempts whose results are known, after so long; twice as long each time. */
const BACKOFF_FIRST_MS = 5_000;
const BACKOFF_MOST_MS = 300_000;

/**
 * What a run knows of its attempts: the key of each, and which of them may have taken effect, or may yet do so. It is handed to each
 * step, and to the next run where a long history is left behind.
 */
export class Attempts {
  #unknown: readonly UnknownAttempt[];
  #last: KeyedAttempt | undefined;
  /** How often in a row a step has found other data than its decision before. */
  #otherData = 0;
  /** How often in a row its result was known, and no success. */
  #failures = 0;
  readonly #isContinued: boolean;

  constructor({ unknown, lastAttempt }: RunInput) {
    this.#unknown = unknown ?? [];
    this.#isContinued = unknown !== undefined;
    this.#last = lastAttempt;
  }

  /** The key stays as long as step and data do, and the result of the last attempt is not known. */
  begin({ do: step, digest }: Step): void {
    if (digest === undefined) return;
    const isSame = this.#last?.step === step && this.#last.digest === digest;
    if (!isSame) this.#last = { step, digest, idempotencyKey: uuid4() };
  }

  /** @param isFirst no step of the run has ended yet */
  inputFor(step: Step | Observe, isFirst: boolean): Pick<StepInput, 'unknown' | 'attempt' | 'otherData'> {
    const unknown = stillUnknown(this.#unknown, Date.now());
    const isTold = unknown.length > 0 || (isFirst && this.#isContinued);
    const attempt = 'digest' in step ? this.#last : undefined;
    return {
      ...(isTold && { unknown }),
      ...(attempt && { attempt }),
      ...(attempt && this.#otherData > 0 && { otherData: this.#otherData }),
    };
  }

  /** The step has come to its end. What it reports of earlier attempts is not known yet. */
  reported(step: Step | Observe, { did, refusal, next, unknown = [], isUnknown }: StepReport): void {
    this.learn(unknown);
    if (!('digest' in step)) return;
    const isDone = did.length > 0 || refusal !== undefined;
    const isRenamed = !isDone && next.do === step.do && 'digest' in next && next.digest !== step.digest;
    this.#otherData = isRenamed ? this.#otherData + 1 : isDone ? 0 : this.#otherData;
    if (did.length > 0) this.#failures = 0;
    if (isUnknown === true) return;
    if (isDone) this.#settle();
    else if (!this.#isLastUnknown) this.#last = undefined;
  }

  /** Whether an earlier attempt with the last key has no known result: then the step finds out with that key, however late. */
  get #isLastUnknown(): boolean {
    const key = this.#last?.idempotencyKey;
    return this.#unknown.some(
      ({ idempotencyKey, isSettled }) => idempotencyKey === key && isSettled !== true,
    );
  }

  learn(unknown: readonly UnknownAttempt[]): void {
    if (unknown.length > 0) this.#unknown = mergedUnknown(stillUnknown(this.#unknown, Date.now()), unknown);
  }

  /** The result of its last attempt is known. @returns when to try it again, in milliseconds */
  refused(): number {
    this.#settle();
    this.#failures += 1;
    return Math.min(BACKOFF_FIRST_MS * 2 ** (this.#failures - 1), BACKOFF_MOST_MS);
  }

  /** Its result is known, and says when to try it again. */
  putOff(unknown: readonly UnknownAttempt[]): void {
    this.learn(unknown);
    this.#settle();
  }

  /** The result of the last attempt is known. */
  #settle(): void {
    if (this.#last !== undefined) this.#unknown = settled(this.#unknown, this.#last.idempotencyKey);
    this.#last = undefined;
  }

  /** An attempt has no known result. @param end `isSeen`: it is over; `begunMs`: as it said itself */
  lost(
    step: Step,
    { isSeen, begunMs = Date.now() }: { isSeen: boolean; begunMs?: number | undefined },
  ): void {
    const its = this.#last?.step === step.do && 'digest' in step ? this.#last : undefined;
    const unknown = unknownSince(its ?? { step: step.do }, begunMs, step.attemptMaxMs ?? ATTEMPT_MAX_MS);
    this.learn([{ ...unknown, ...(!isSeen && its && { isEndUnseen: true }) }]);
  }

  /** For the run that goes on with an empty history. */
  get forNextRun(): Pick<RunInput, 'unknown' | 'lastAttempt'> {
    return { unknown: this.#unknown, ...(this.#last && { lastAttempt: this.#last }) };
  }
}
