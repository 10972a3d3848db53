import type { Advice, Cause } from './cause.ts';

/** What an answer of the API server means for whoever asked; see docs/build-your-own.md, "What `kube` throws". */
export const API_ERROR_CLASSES = [
  /** 404 whose Status names an object of the path: the resource itself, or the namespace it was to be created in. */
  'not-found',
  /** 404 whose Status names none: the API group or the CRD is away. */
  'api-missing',
  'already-exists',
  /** 409 otherwise, or 422 for a UID that differs: a failed precondition, or somebody wrote in between. */
  'conflict',
  /** 429 or 5xx with Retry-After: `retryAfterMs` says how long to wait. */
  'retry-after',
  /** 429 of an eviction: a PodDisruptionBudget does not allow it for now. Nothing was done. */
  'disruption-budget',
  /** 5xx or 429 without Retry-After, time-out, reset: nobody knows whether a write was made. */
  'unavailable',
  /** 401, or 403 by the authorizer. */
  'access-denied',
  'namespace-terminating',
  /**
   * Quota, PodSecurity, admission or schema refused the request, what it refers to does not exist, or another manager owns a field of an
   * apply: it stays refused until something changes.
   */
  'refused',
  /** The server accepted a write, but its answer calls for the same write again: something changes what is written. */
  'overridden',
  /** 410: the resourceVersion or the continue token is too old. */
  'expired',
] as const;
/** One of {@link API_ERROR_CLASSES}. */
export type ApiErrorClass = (typeof API_ERROR_CLASSES)[number];

/** Source: apimachinery, `metav1.StatusDetails`; `kind` is the plural for most errors, the Kind for 422. */
export interface StatusDetails {
  readonly name?: string | undefined;
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly uid?: string | undefined;
  readonly causes?: readonly StatusCause[] | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** Source: apimachinery, `metav1.StatusCause`. */
export interface StatusCause {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  /** `spec.replicas` */
  readonly field?: string | undefined;
}

export interface ApiErrorFields {
  /** Undefined where no answer came. */
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
  readonly details?: StatusDetails | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly continueToken?: string | undefined;
  readonly classification: ApiErrorClass;
  /** The server's part of the message. Default: the whole message. */
  readonly words?: string | undefined;
  /** What helps, where it is the error of an outside system. Default: what helps with the API server. */
  readonly advice?: readonly Advice[] | undefined;
  /** As the controller says it. Default: as the library does. */
  readonly said?: Cause | undefined;
  readonly cause?: unknown;
}

/**
 * What `kube` throws. Its message is one line: what was asked, and the server's words. `classification` says what that means; docs/build-your-own.md
 * has a table of the classes.
 *
 * @example
 * await kube.create(JOBS, job).catch((error: unknown) => {
 *   if (!(error instanceof ApiError && error.classification === 'already-exists')) throw error;
 * });
 */
export class ApiError extends Error {
  /** The HTTP status; undefined where no answer came. */
  readonly status: number | undefined;
  /** `reason` of the Status, such as `Forbidden`. */
  readonly reason: string | undefined;
  readonly details: StatusDetails | undefined;
  /** How long to wait as the server asked, in milliseconds; at most `RETRY_AFTER_MAX_MS`. */
  readonly retryAfterMs: number | undefined;
  /** Of an expired list: for the remaining pages, in their present state. */
  readonly continueToken: string | undefined;
  readonly classification: ApiErrorClass;
  /** The message without what was asked: the server's own words, on one line. */
  readonly words: string;
  /** Of an outside system. */
  readonly advice: readonly Advice[] | undefined;
  /** In the words of the controller whose write it was. */
  readonly said: Cause | undefined;

  constructor(message: string, fields: ApiErrorFields) {
    super(message, { cause: fields.cause });
    this.name = 'ApiError';
    this.status = fields.status;
    this.reason = fields.reason;
    this.details = fields.details;
    this.retryAfterMs = fields.retryAfterMs;
    this.continueToken = fields.continueToken;
    this.classification = fields.classification;
    this.words = fields.words ?? message;
    this.advice = fields.advice;
    this.said = fields.said;
  }

  /** The same error in the words of a controller. */
  as(said: Cause): ApiError {
    const { status, reason, details, retryAfterMs, continueToken, classification, words, advice, cause } =
      this;
    const fields = { status, reason, details, retryAfterMs, continueToken, classification, words, advice };
    return new ApiError(this.message, { ...fields, cause, said });
  }
}
