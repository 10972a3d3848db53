import { activityInfo } from '@temporalio/activity';
import type { StepReport } from '../src/runs/decision.ts';
import type { StepInput } from '../src/runs/run.ts';
import { unknownSince, type UnknownAttempt } from '../src/api/unknown-attempt.ts';
import { lastHeartbeat } from './heartbeats.ts';

/** What one attempt of a durable step knows of itself and of those before it. */
export class Account {
  /** Attempts whose outcome is not known, and of which the run does not know yet. */
  unknown: readonly UnknownAttempt[];
  readonly #attempt: StepInput['attempt'];
  #begunMs: number | undefined;

  /** @param mayArrive the controller has steps that may take effect late */
  constructor({ attempt }: StepInput, mayArrive: boolean) {
    const { activityType: step, attempt: number, startToCloseTimeoutMs } = activityInfo();
    this.#attempt = attempt;
    // Temporal tries again only those that have ended without a known result.
    const isRepeated = number > 1 && step !== 'observe' && (attempt !== undefined || mayArrive);
    const begunMs = attempt === undefined ? Date.now() : (lastHeartbeat().begunMs ?? Date.now());
    this.unknown = isRepeated ? [unknownSince(attempt ?? { step }, begunMs, startToCloseTimeoutMs)] : [];
  }

  /** From now on it may take effect. @returns since when, in milliseconds since the epoch */
  begins(): number {
    return (this.#begunMs ??= Date.now());
  }

  /** Its run knows of each attempt, and tries it again itself once the result is known. */
  get isKeyed(): boolean {
    return this.#attempt !== undefined;
  }

  get isNotBegun(): boolean {
    return this.isKeyed && this.#begunMs === undefined;
  }

  get ofThisAttempt(): UnknownAttempt | undefined {
    return this.#attempt && this.#begunMs !== undefined
      ? unknownSince(this.#attempt, this.#begunMs, activityInfo().startToCloseTimeoutMs)
      : undefined;
  }

  get report(): Pick<StepReport, 'unknown'> {
    return this.unknown.length === 0 ? {} : { unknown: this.unknown };
  }
}
