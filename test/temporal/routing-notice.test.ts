import { describe, expect, it } from '@jest/globals';
import { whyNoNewRuns } from '../../src/temporal/task-queue.ts';

describe('a worker that starts', () => {
  const UNTIL_PROMOTED = 'op:v1 gets no new runs until it is promoted (durable-operator promote)';

  it.each([
    [undefined, '', undefined],
    ['op:v1', 'op:v1', undefined],
    ['op:v1', '', `no version is current: ${UNTIL_PROMOTED}`],
    ['op:v1', 'op:v2', `op:v2 is the current version: ${UNTIL_PROMOTED}`],
    [
      undefined,
      'op:v1',
      'op:v1 is the current version, and this worker has no version, so it gets no runs; set --worker-deployment',
    ],
  ])('of version %s, where %j is current, says %s', (version, current, words) => {
    expect(whyNoNewRuns(version, current)).toBe(words);
  });
});
