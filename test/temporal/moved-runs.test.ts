import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { MovedRuns } from '../../src/temporal/moved-runs.ts';
import type { Run } from '../../src/temporal/run-reader.ts';
import { RUN } from '../support/findings.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const NOW_MS = 1_000_000_000;
const STALLED: Run = { ...RUN, taskQueue: 'old', runState: 'Stalled', workflowTaskAttempt: 1 };
const step = { step: 'createJob', attempt: 1, failure: undefined, nextTryAtMs: undefined };

let run: Run | undefined;
/** How long ago somebody polled for tasks of type 1, workflows, and 2, activities. Undefined: nobody is known. */
let polledMsAgo: readonly [workflow: number | undefined, activity: number | undefined];
let described: number;
let queuesAsked: readonly string[];
let terminated: readonly object[];
let moved: MovedRuns;

beforeEach(() => {
  run = STALLED;
  polledMsAgo = [91_000, 100_000];
  described = 0;
  [queuesAsked, terminated] = [[], []];
  const workflowService = {
    describeTaskQueue: ({
      taskQueue,
      taskQueueType,
    }: {
      taskQueue: { name: string };
      taskQueueType: number;
    }) => {
      queuesAsked = [...queuesAsked, taskQueue.name];
      const ageMs = polledMsAgo[taskQueueType - 1];
      const pollers = ageMs === undefined ? [] : [{ lastAccessTime: { seconds: (NOW_MS - ageMs) / 1_000 } }];
      return Promise.resolve({ pollers });
    },
    terminateWorkflowExecution: (request: object) => {
      terminated = [...terminated, request];
      return Promise.resolve({});
    },
  };
  moved = new MovedRuns({
    reader: {
      describe: () => {
        described += 1;
        return Promise.resolve(run);
      },
    },
    // Nothing else of a client is used.
    call: (work) => work({ workflowService } as unknown as Client),
    ...{ namespace: 'default', taskQueue: 'new', log: aRecordingLogger(), now: () => NOW_MS },
  });
});

const look = () => moved.look(RUN.ref);

describe('a run on a task queue that nobody has polled for 90 s', () => {
  it.each(['Stalled', 'Paused', 'AwaitingApproval'] as const)(
    'is terminated by its run ID while it is %s',
    async (runState) => {
      run = { ...STALLED, runState };
      expect(await look()).toBe('ended');
      expect(terminated).toEqual([
        {
          namespace: 'default',
          workflowExecution: { workflowId: RUN.workflowId, runId: 'r' },
          reason: 'nobody polls task queue "old"; the operator has moved to task queue "new"',
        },
      ]);
    },
  );

  it.each<[string, Partial<Run>]>([
    ['has a pending activity', { pending: [step] }],
    ['has a workflow task that a worker has started', { isTaskStarted: true }],
    ['is in a backoff', { runState: 'Retrying' }],
    ['says nothing of why it waits', { runState: undefined }],
  ])('is left alone where it %s, and is signaled once', async (_, its) => {
    run = { ...STALLED, ...its, workflowTaskAttempt: undefined };
    expect(await look()).toBe('open');
    run = { ...run, workflowTaskAttempt: 1 };
    expect(await look()).toBe('left');
    expect(terminated).toEqual([]);
  });

  it('is terminated where the server does not remember any poller', async () => {
    polledMsAgo = [undefined, undefined];
    expect(await look()).toBe('ended');
  });

  it('is asked about once where many runs have moved', async () => {
    await Promise.all([look(), look(), look()]);
    expect(queuesAsked).toEqual(['old', 'old']);
    expect(terminated).toHaveLength(3);
  });
});

it.each([
  ['workflow tasks', [90_000, undefined]],
  ['activities', [undefined, 89_000]],
] as const)('a run is signaled where somebody has polled its task queue for %s', async (_, polled) => {
  polledMsAgo = polled;
  expect(await look()).toBe('open');
  expect(terminated).toEqual([]);
});

it('a run that has ended meanwhile is begun anew', async () => {
  run = undefined;
  expect(await look()).toBe('ended');
  run = { ...STALLED, isOpen: false };
  expect(await look()).toBe('ended');
  expect(terminated).toEqual([]);
});

describe("a run on the operator's own task queue", () => {
  it('is looked at once', async () => {
    run = { ...STALLED, taskQueue: 'new' };
    expect([await look(), await look()]).toEqual(['open', 'open']);
    expect(described).toBe(1);
    expect(queuesAsked).toEqual([]);
  });

  it('is not looked at where it was started here', async () => {
    moved.isHere(RUN.ref);
    expect(await look()).toBe('open');
    expect(described).toBe(0);
  });
});
