import { describe, expect, it } from '@jest/globals';
import { whyNoNewRuns } from '../../src/temporal/routing-notice.ts';

const V1 = { deploymentName: 'op', buildId: 'v1' };
const V2 = { deploymentName: 'op', buildId: 'v2' };

describe('a worker that starts', () => {
  it.each([
    ['without a version, where none is current,', undefined, undefined],
    ['of the version that is current', V1, V1],
  ])('%s says nothing', (_, version, current) => {
    expect(whyNoNewRuns(version, current)).toBeUndefined();
  });

  it('says that its version is to be promoted, where none is current', () => {
    expect(whyNoNewRuns(V1, undefined)).toBe(
      'no version is current: op:v1 gets no new runs until it is promoted (durable-operator promote)',
    );
  });

  it.each([
    [V2, 'op:v2'],
    [{ ...V1, deploymentName: 'other' }, 'other:v1'],
  ])('says that another version is current: %j', (current, name) => {
    expect(whyNoNewRuns(V1, current)).toBe(
      `${name} is the current version: op:v1 gets no new runs until it is promoted (durable-operator promote)`,
    );
  });

  it('without a version says that it gets nothing, where there is a current one', () => {
    expect(whyNoNewRuns(undefined, V1)).toBe(
      'op:v1 is the current version, and this worker has no version, so it gets no runs; set --worker-deployment',
    );
  });
});
