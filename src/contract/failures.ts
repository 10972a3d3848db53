/**
 * The `type` of the ApplicationFailures that activities throw: the words by which the Temporal UI and
 * the workflows tell one kind of failure from another.
 */
export const FAILURE = {
  /** Somebody else wrote in between, again and again: read again. */
  conflict: 'Conflict',
  /** The server said how long to wait (Retry-After); `details[0]` is that time in milliseconds. */
  retryAfter: 'RetryAfter',
  /** 5xx, time-out or reset: nobody knows whether the write was made. */
  unavailable: 'Unavailable',
  /** 401 or 403: somebody must fix access. */
  accessDenied: 'AccessDenied',
  /** Quota, PodSecurity, admission or schema refused the write. */
  refused: 'Refused',
  /** The API itself is away: a CRD or an API group is missing. */
  apiMissing: 'ApiMissing',
} as const;

export type FailureType = (typeof FAILURE)[keyof typeof FAILURE];
