import { NamespaceNotFoundError } from '@temporalio/common';
import { describe, expect, it } from '@jest/globals';
import { unlessNotFound } from '../../src/temporal/grpc-status.ts';
import { unavailableOr } from '../../src/temporal/runs.ts';
import { RunsUnavailable } from '../../src/watcher/runs.ts';

/** As grpc-js makes it. */
const serviceError = (code: number, details: string) =>
  Object.assign(new Error(details), { code, details, metadata: {} });

const DELETED = 'Namespace has invalid state: Deleted. Must be Registered.';
const GONE = "Namespace not found: 'shop'";

describe('a Temporal namespace that is gone', () => {
  it.each([
    ['the client', new NamespaceNotFoundError('shop'), GONE],
    ['the server', serviceError(5, 'Namespace shop is not found.'), 'Namespace shop is not found'],
    ['the server at first', serviceError(9, DELETED), 'Namespace has invalid state: Deleted'],
  ])('is an outage, in the words of %s', async (_, error, words) => {
    const problem = unavailableOr(error);
    expect(problem).toBeInstanceOf(RunsUnavailable);
    expect(problem).toMatchObject({
      message: expect.stringMatching(`^${words}.*; create it, or set TEMPORAL_NAMESPACE$`),
    });
    await expect(unlessNotFound(Promise.reject(error))).rejects.toBe(error);
  });
});

it('anything else that is missing is no outage', async () => {
  const error = serviceError(5, 'workflow not found for ID: x');
  expect(unavailableOr(error)).toBe(error);
  expect(await unlessNotFound(Promise.reject<string>(error))).toBeUndefined();
});
