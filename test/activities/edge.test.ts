import { describe, expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import { asFailure } from '../../activities/edge.ts';
import { ApiError, type ApiErrorClass } from '../../src/kubernetes/errors.ts';

const MESSAGE = 'PATCH /api/v1/namespaces/shop/pods/web: the words of the server';

function failureFor(classification: ApiErrorClass, attempt = 1, retryAfterMs?: number): ApplicationFailure {
  const failure = asFailure(new ApiError(MESSAGE, { classification, retryAfterMs }), { attempt });
  if (!(failure instanceof ApplicationFailure)) throw new Error('it is not a failure of Temporal');
  return failure;
}

describe('what the API server said, as a failure', () => {
  it.each<[ApiErrorClass, type: string]>([
    ['retry-after', 'RetryAfter'],
    ['access-denied', 'AccessDenied'],
    ['refused', 'Refused'],
    ['api-missing', 'ApiMissing'],
    ['conflict', 'Conflict'],
    ['already-exists', 'Conflict'],
    ['unavailable', 'Unavailable'],
    ['expired', 'Unavailable'],
    ['not-found', 'Unavailable'],
    ['namespace-terminating', 'Unavailable'],
  ])('%s is told as %s, with the words of the server', (classification, type) => {
    expect(failureFor(classification)).toMatchObject({ type, message: MESSAGE });
  });

  it('names the wait that the server asked for, and is not retried by Temporal', () => {
    expect(failureFor('retry-after', 1, 3_600_000)).toMatchObject({
      nonRetryable: true,
      details: [3_600_000, []],
    });
  });

  it.each(['conflict', 'unavailable', 'refused', 'access-denied', 'api-missing'] as const)(
    'is retried for as long as it takes after %s',
    (classification) => {
      expect(failureFor(classification).nonRetryable).toBeFalsy();
    },
  );

  it.each(['access-denied', 'refused', 'api-missing'] as const)(
    'waits longer each time after %s, but less than a minute',
    (classification) => {
      expect([1, 2, 3, 4, 5, 100].map((attempt) => failureFor(classification, attempt))).toMatchObject(
        [5_000, 10_000, 20_000, 40_000, 45_000, 45_000].map((nextRetryDelay) => ({ nextRetryDelay })),
      );
    },
  );

  it.each(['conflict', 'unavailable'] as const)('leaves the wait after %s to the retry policy', (kind) => {
    expect(failureFor(kind).nextRetryDelay).toBeUndefined();
  });
});

describe('an error that is not the API server’s', () => {
  it('is passed on as it is', () => {
    const bug = new TypeError('a bug of ours');
    expect(asFailure(bug, { attempt: 1 })).toBe(bug);
  });
});
