import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { PollerGauge, TaskQueueState, VersionStatus } from '../../src/runs/telemetry.ts';
import type { WorkflowService } from '@temporalio/client';
import {
  describeTaskQueue,
  pollersIn,
  TaskQueueWatch,
  whyNoNewRuns,
  type DescribedQueue,
} from '../../src/temporal/task-queue.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const SOON_MS = 5_000;
const MINUTE_MS = 60_000;
const pollers = (count: number): readonly PollerGauge[] => [
  { taskQueue: 'ours', taskType: 'workflow', version: '', status: 'current', count },
];
const state = (count: number): TaskQueueState => ({ pollers: pollers(count), left: [] });

let asked: number;
let answer: () => Promise<TaskQueueState>;
let watch: TaskQueueWatch;

beforeEach(() => {
  jest.useFakeTimers();
  asked = 0;
  // Each answer is another one.
  answer = () => Promise.resolve(state(asked));
  watch = new TaskQueueWatch(() => {
    asked += 1;
    return answer();
  }, aRecordingLogger());
});
afterEach(() => {
  watch.standBy();
  jest.useRealTimers();
});

it('asks soon, when the workers poll, then once a minute, as long as it leads', async () => {
  watch.lead();
  await jest.advanceTimersByTimeAsync(SOON_MS);
  expect(watch.state.pollers).toEqual(pollers(1));
  await jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(watch.state.pollers).toEqual(pollers(3));
  watch.standBy();
  await jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(asked).toBe(3);
  expect(watch.state.pollers).toEqual([]);
});

it('does not take the answer of an earlier term for one of this term', async () => {
  let reply: (late: TaskQueueState) => void = () => undefined;
  answer = () => new Promise((resolve) => (reply = resolve));
  watch.lead();
  await jest.advanceTimersByTimeAsync(SOON_MS);
  const late = reply;
  watch.lead();
  late(state(7));
  await jest.advanceTimersByTimeAsync(0);
  expect(watch.state.pollers).toEqual([]);
});

it('keeps what Temporal said for five minutes where Temporal does not answer', async () => {
  watch.lead();
  await jest.advanceTimersByTimeAsync(SOON_MS);
  answer = () => Promise.reject(new Error('unavailable'));
  await jest.advanceTimersByTimeAsync(5 * MINUTE_MS - 1);
  expect(watch.state.pollers).toEqual(pollers(1));
  await jest.advanceTimersByTimeAsync(1);
  expect(watch.state.pollers).toEqual([]);
});

describe('who polls a task queue', () => {
  const NOW_MS = 1_000_000_000;
  const described = (taskType: 'workflow' | 'activity', ...agesMs: readonly number[]) => {
    const pollers = agesMs.map((ageMs) => ({
      deploymentOptions: { deploymentName: 'op', buildId: `polled-${ageMs}-ms-ago` },
      lastAccessTime: { seconds: Math.floor((NOW_MS - ageMs) / 1_000) },
    }));
    const service = { describeTaskQueue: () => Promise.resolve({ pollers }) } as unknown as WorkflowService;
    const queue = { service, namespace: 'default', taskQueue: 'ours', taskType, now: () => NOW_MS };
    return describeTaskQueue(queue);
  };

  it('is not a worker that has let its last poll for workflow tasks end', async () => {
    expect(await described('workflow', 74_000, 75_000, 200_000)).toMatchObject({
      pollers: ['op:polled-74000-ms-ago'],
    });
  });

  it('is a worker whose slots for activities were taken for so long', async () => {
    expect((await described('activity', 200_000)).pollers).toEqual(['op:polled-200000-ms-ago']);
  });

  it('is nobody, since the last poll', async () => {
    expect(await described('workflow', 200_000, 80_000)).toMatchObject({
      ...{ pollers: [], lastPollMs: NOW_MS - 80_000 },
    });
    expect((await described('workflow')).lastPollMs).toBeUndefined();
  });
});

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

describe('a worker that starts', () => {
  const UNTIL_PROMOTED = 'op:v1 gets no new runs until it is promoted (website-operator promote)';

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
    expect(whyNoNewRuns('website-operator', version, current)).toBe(words);
  });
});
