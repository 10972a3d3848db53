import { describe, expect, it } from '@jest/globals';
import { whyNoNewRuns } from '../../src/temporal/routing-notice.ts';

describe('a worker that starts', () => {
  it.each([
    ['without a version, where none is current,', undefined, ''],
    ['of the version that is current', 'op:v1', 'op:v1'],
  ])('%s says nothing', (_, version, current) => {
    expect(whyNoNewRuns(version, current)).toBeUndefined();
  });

  it('says that its version is to be promoted, where none is current', () => {
    expect(whyNoNewRuns('op:v1', '')).toBe(
      'no version is current: op:v1 gets no new runs until it is promoted (durable-operator promote)',
    );
  });

  it.each(['op:v2', 'other:v1'])('says that another version is current: %j', (current) => {
    expect(whyNoNewRuns('op:v1', current)).toBe(
      `${current} is the current version: op:v1 gets no new runs until it is promoted (durable-operator promote)`,
    );
  });

  it('without a version says that it gets nothing, where there is a current one', () => {
    expect(whyNoNewRuns(undefined, 'op:v1')).toBe(
      'op:v1 is the current version, and this worker has no version, so it gets no runs; set --worker-deployment',
    );
  });
});
