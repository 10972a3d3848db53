import { describe, expect, it } from '@jest/globals';
import type { VersionStatus } from '../../src/contract/telemetry.ts';
import { pollersIn, type DescribedQueue } from '../../src/temporal/task-queue-pollers.ts';

const unversioned = '';
const of = (buildId: string) => `op:${buildId}`;

/** `op:1 current 2`, an entry each. */
function reported(queue: Partial<DescribedQueue>, statuses: Readonly<Record<string, VersionStatus>> = {}) {
  const described = { taskQueue: 'ours', taskType: 'workflow', pollers: [], current: '', ...queue } as const;
  const entries = pollersIn(described, new Map(Object.entries(statuses)));
  expect(
    entries.filter(({ taskQueue, taskType }) => taskQueue !== 'ours' || taskType !== 'workflow'),
  ).toEqual([]);
  return entries.map(({ version, status, count }) => `${version} ${status} ${count}`);
}

describe('without versions', () => {
  it('the workers without one get the runs', () => {
    expect(reported({ pollers: [unversioned, unversioned] })).toEqual([' current 2']);
  });

  it('nobody polls where nobody does', () => {
    expect(reported({})).toEqual([' current 0']);
  });
});

describe('with versions', () => {
  it('those of the current one get new runs, and it is reported where none of them polls', () => {
    const current = of('2');
    expect(reported({ current, pollers: [of('2'), of('2')] }, { 'op:2': 'current' })).toEqual([
      'op:2 current 2',
    ]);
    expect(reported({ current }, { 'op:2': 'current' })).toEqual(['op:2 current 0']);
  });

  it('those of one that nobody has promoted get none', () => {
    expect(reported({ pollers: [of('1')] }, { 'op:1': 'inactive' })).toEqual([
      ' current 0',
      'op:1 inactive 1',
    ]);
  });

  it('one that Temporal has not registered yet is not promoted', () => {
    expect(reported({ pollers: [of('1')] })).toEqual([' current 0', 'op:1 inactive 1']);
  });

  it('one with open runs is reported even where nobody polls for it, one without only where somebody does', () => {
    const statuses = {
      'op:1': 'draining',
      'op:2': 'drained',
      'op:3': 'drained',
      'op:4': 'ramping',
      'op:5': 'current',
    } as const;
    expect(reported({ current: of('5'), pollers: [of('3'), of('5')] }, statuses)).toEqual([
      'op:5 current 1',
      'op:1 draining 0',
      'op:4 ramping 0',
      'op:3 drained 1',
    ]);
  });

  it('workers without a version get nothing beside a current one', () => {
    const pollers = [unversioned, of('2')];
    expect(reported({ current: of('2'), pollers }, { 'op:2': 'current' })).toEqual([
      'op:2 current 1',
      ' inactive 1',
    ]);
  });
});
