import { expect, it } from '@jest/globals';
import type { VersionStatus } from '../../src/contract/telemetry.ts';
import { pollersIn, type DescribedQueue } from '../../src/temporal/task-queue.ts';

const UNVERSIONED = '';
type Statuses = Readonly<Record<string, VersionStatus>>;

it.each<[string, Pick<DescribedQueue, 'current' | 'pollers'>, Statuses, string[]]>([
  [
    'counts workers without a version',
    { current: '', pollers: [UNVERSIONED, UNVERSIONED] },
    {},
    [' current 2'],
  ],
  ['reports 0 where nobody gets new runs', { current: '', pollers: [] }, {}, [' current 0']],
  ['reports the current version without a poller', { current: 'op:2', pollers: [] }, {}, ['op:2 current 0']],
  [
    'reports a version that Temporal does not know yet as inactive',
    { current: '', pollers: ['op:1'] },
    {},
    [' current 0', 'op:1 inactive 1'],
  ],
  [
    'reports a version with open runs without a poller, and one without open runs only with a poller',
    { current: 'op:5', pollers: ['op:3', 'op:5'] },
    { 'op:1': 'draining', 'op:2': 'drained', 'op:3': 'drained', 'op:4': 'ramping', 'op:5': 'current' },
    ['op:5 current 1', 'op:1 draining 0', 'op:4 ramping 0', 'op:3 drained 1'],
  ],
  [
    'reports workers without a version as inactive beside a current one',
    { current: 'op:2', pollers: [UNVERSIONED, 'op:2'] },
    { 'op:2': 'current' },
    ['op:2 current 1', ' inactive 1'],
  ],
])('%s', (_rule, queue, statuses, expected) => {
  const described = { taskQueue: 'ours', taskType: 'workflow', ...queue } as const;
  const entries = pollersIn(described, new Map(Object.entries(statuses)));
  expect(entries.map(({ version, status, count }) => `${version} ${status} ${count}`)).toEqual(expected);
});
