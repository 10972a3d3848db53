import type { Advice } from './cause.ts';

/**
 * Why an outside system did not do what a step or `observe` asked for.
 *
 * - `refused`: it stays so until somebody changes something. A durable step is tried again after 5 s to 5 min, `observe` and other steps
 *   after 5 to 45 s; each at once where the resource changes.
 * - `access-denied`: a credential or a right is missing. Likewise.
 * - `unavailable`: nobody knows whether it was done. Tried again after 0.5 to 30 s, with the same `idempotencyKey`.
 * - `never`: it will not work as long as the resource is as it is. Not tried again until the resource, or what it owns or refers to,
 *   changes: `Stalled` is `True`, with the reason `PermanentFailure`.
 * - `retry-after`: the system says when to come back. Fewer than 1 s count as 1 s, more than 5 min as 5 min.
 */
export type StepErrorClass = 'refused' | 'access-denied' | 'unavailable' | 'retry-after' | 'never';

/**
 * Thrown by `run` and `observe`; `never` by any function of a controller. Any other error counts as a mistake of the controller: the
 * status, an Event, the history and `why` name the function, and it is tried again, with backoff.
 *
 * @example
 * throw new StepError('retry-after', 'the store limits requests', { retryAfterMs: 30_000 });
 */
export class StepError extends Error {
  override readonly name = 'StepError';
  readonly classification: StepErrorClass;
  /** In milliseconds; only of `retry-after`. */
  readonly retryAfterMs: number | undefined;
  readonly advice: readonly Advice[];
  readonly reason: string | undefined;

  /**
   * @param message for people, without a full stop. It enters the history, so it must hold nothing secret
   * @param more `advice`: what a person can do about it; `reason`: of the condition, in CamelCase, in place of one that follows from the class;
   *   not of `never`
   */
  constructor(
    classification: StepErrorClass,
    message: string,
    {
      retryAfterMs,
      advice = [],
      reason,
    }: {
      readonly retryAfterMs?: number;
      readonly advice?: readonly Advice[];
      readonly reason?: string;
    } = {},
  ) {
    super(message);
    this.classification = classification;
    this.retryAfterMs = retryAfterMs;
    this.advice = advice;
    this.reason = reason;
  }
}
