import { OVERRIDDEN, REFUSED } from '../api/refusal.ts';
import type { Cause } from '../api/cause.ts';
import type { Action } from './decision.ts';
import type { UnknownAttempt } from '../api/unknown-attempt.ts';

/**
 * The `type` of the ApplicationFailures that activities throw: the words by which the Temporal UI and
 * the workflows tell one kind of failure from another.
 */
export const FAILURE = {
  /** Somebody else wrote in between, again and again: read again. */
  conflict: 'Conflict',
  /** The server said how long to wait (Retry-After); the details are {@link RetryAfterDetails}. */
  retryAfter: 'RetryAfter',
  /** 5xx, time-out or reset: nobody knows whether the write was made. */
  unavailable: 'Unavailable',
  /** 401 or 403: somebody must fix access. */
  accessDenied: 'AccessDenied',
  /** Quota, PodSecurity, admission or schema refused the write. */
  refused: REFUSED,
  /** The server accepted the write, and something changed it, so that the same write is needed again. */
  overridden: OVERRIDDEN,
  /** The API itself is away: a CRD or an API group is missing. */
  apiMissing: 'ApiMissing',
  /** A function of the controller has thrown what is no StepError: somebody must correct it. */
  controllerFailed: 'ControllerFailed',
  /** The worker is one of another cluster than the run: one of its own takes the next attempt, or the one after. */
  otherCluster: 'OtherCluster',
} as const;

export type FailureType = (typeof FAILURE)[keyof typeof FAILURE];

/**
 * The details of a failure: its cause, whose `message` is that of the failure from that character on. Temporal keeps 4 KiB of a
 * failure that it retries, so the words are in it once.
 */
export interface CauseInFailure extends Omit<Cause, 'message'> {
  readonly messageFrom: number;
}

/** No Retry-After counts for longer: the header may say a day, or be a date that a wrong clock reads. */
export const RETRY_AFTER_MAX_MS = 300_000;

/** How long to wait, in milliseconds, what the step did before, and which earlier attempts have no known outcome. */
export type RetryAfterDetails = readonly [
  retryAfterMs?: number,
  did?: readonly Action[],
  unknown?: readonly UnknownAttempt[],
];

/** Of an attempt whose result is known, although it has failed: its cause, and which earlier attempts have no known outcome. */
export type FailureDetails = readonly [cause?: CauseInFailure, unknown?: readonly UnknownAttempt[]];
