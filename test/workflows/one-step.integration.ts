import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Worker } from '@temporalio/worker';
import { WorkflowNotFoundError } from '@temporalio/client';
import { testStack } from '../support/stack.ts';
import { kindOf, WorkflowWorld, type HistoryEvent, type OneStepWorkflow } from '../support/workflow-world.ts';
import { CASE_NAMES, CASES, followedBy, succeeds, type CaseName } from './cases.ts';

jest.setTimeout(60_000);

let world: WorkflowWorld;

beforeAll(async () => {
  world = await WorkflowWorld.open(testStack().temporalAddress);
});

afterAll(async () => {
  await world.close();
});

const run = (name: CaseName, workflow: OneStepWorkflow = 'podLabel') => CASES[name](world, workflow);
const without = (story: readonly string[], ...kinds: readonly string[]) =>
  kinds.filter((kind) => story.includes(kind));
const secondsOf = ({ timerStartedEventAttributes: timer }: HistoryEvent) =>
  Number(timer?.startToFireTimeout?.seconds);

describe.each(['podLabel', 'namespaceRoleBinding'] as const)('%s', (workflow) => {
  it('is one local activity where the write succeeds at once, and its result says what was done', async () => {
    const done = await run('quick-success', workflow);
    expect(await done.result()).toBe('done');
    expect(await done.story()).toEqual([
      'workflowExecutionStarted',
      'workflowTaskScheduled',
      'workflowTaskStarted',
      'workflowTaskCompleted',
      'markerRecorded',
      'workflowExecutionCompleted',
    ]);
    expect(done.passes).toEqual([{ ref: done.ref, seen: { step: 'create', resourceVersion: '7' } }]);
  });

  it.each(['quick-failure', 'quick-time-out'] as const)(
    'is tried durably after a %s, by an activity that reads first',
    async (name) => {
      const done = await run(name, workflow);
      expect(await done.result()).toBe('done durably');
      expect(await done.story()).toContain('activityTaskScheduled');
      expect(done.passes.at(0)).toHaveProperty('seen');
      expect(done.passes.slice(1)).toEqual([{ ref: done.ref }]);
    },
  );

  it('reads first where the watcher told nothing', async () => {
    const done = await run('durable-success', workflow);
    expect(await done.result()).toBe('done');
    expect(done.passes).toEqual([{ ref: done.ref }]);
  });
});

describe('a change', () => {
  it('while an attempt is under way leads to another pass', async () => {
    const done = await run('change-while-working');
    expect(await done.result()).toBe('done after the change');
    expect(done.passes).toHaveLength(2);
    expect(without(await done.story(), 'activityTaskCancelRequested')).toEqual([]);
  });

  it.each(['change-while-hanging', 'change-in-backoff'] as const)(
    'drops what is under way and passes again: %s',
    async (name) => {
      const done = await run(name);
      expect(await done.result()).toBe('done after the change');
      const story = await done.story();
      expect(story.filter((kind) => kind === 'activityTaskScheduled')).toHaveLength(2);
      expect(followedBy(story, 'activityTaskCancelRequested', 'activityTaskScheduled')).toBe(true);
    },
  );

  it('does not shorten what the server asked to wait', async () => {
    const waiting = await run('retry-after-an-hour-waits');
    const events = await waiting.events();
    const timers = events.filter((event) => kindOf(event) === 'timerStarted');
    expect(timers.map(secondsOf)).toEqual([3600]);
    const story = events.map(kindOf);
    expect(without(story, 'timerCanceled', 'timerFired')).toEqual([]);
    expect(story.lastIndexOf('activityTaskScheduled')).toBeLessThan(
      story.indexOf('workflowExecutionSignaled'),
    );
    expect(waiting.passes).toHaveLength(1);
    await waiting.terminate();
  });

  it('wakes a run that failed for good', async () => {
    expect(await (await run('failed-for-good-then-changed')).result()).toBe('done after the change');
  });
});

describe('a Retry-After', () => {
  it('is waited for by a durable timer of exactly that time, before the next pass', async () => {
    const done = await run('quick-retry-after');
    expect(await done.result()).toBe('done durably');
    const events = await done.events();
    expect(events.filter((event) => kindOf(event) === 'timerStarted').map(secondsOf)).toEqual([1]);
    const story = events.map(kindOf);
    expect(story.indexOf('timerFired')).toBeLessThan(story.indexOf('activityTaskScheduled'));
    expect(story).toContain('timerFired');
  });
});

describe('a stalled run', () => {
  it('waits without a timer and without an activity', async () => {
    const waiting = await run('stalled-waits');
    expect(await waiting.story()).toEqual([
      'workflowExecutionStarted',
      'workflowTaskScheduled',
      'workflowTaskStarted',
      'workflowTaskCompleted',
      'markerRecorded',
      // It says that it is stalled, and that it is a run that says so.
      'markerRecorded',
      'upsertWorkflowSearchAttributes',
      'upsertWorkflowSearchAttributes',
    ]);
    await waiting.terminate();
  });

  it('goes on when its resource changes, and reads it first', async () => {
    const done = await run('stalled-then-changed');
    expect(await done.result()).toBe('done after the change');
    expect(done.passes.at(-1)).toEqual({ ref: done.ref });
  });
});

describe('a run that is told of changes all the time', () => {
  it('never completes with one unhandled: a pass begins after the last of them', async () => {
    const runs = await Promise.all(
      Array.from({ length: 10 }, () => world.start('podLabel', undefined, [succeeds()])),
    );
    await Promise.all(runs.map((each) => tellUntilItEnds(each)));
    for (const each of runs) {
      const story = (await each.events()).map(kindOf);
      expect(story.at(-1)).toBe('workflowExecutionCompleted');
      expect(story.lastIndexOf('activityTaskScheduled')).toBeGreaterThan(
        story.lastIndexOf('workflowExecutionSignaled'),
      );
    }
  });

  async function tellUntilItEnds(each: Awaited<ReturnType<WorkflowWorld['start']>>): Promise<void> {
    try {
      for (let i = 0; i < 20; i += 1) await each.change();
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
    await each.result();
  }
});

describe('every history', () => {
  it.each(CASE_NAMES)('replays, and holds only small things: %s', async (name) => {
    const each = await run(name);
    const history = await each.history();
    await Worker.runReplayHistory({ workflowBundle: world.bundle }, history, each.workflowId);
    for (const event of history.events ?? []) {
      expect(JSON.stringify(event).length).toBeLessThan(4_000);
    }
    if (name.endsWith('waits')) await each.terminate();
  });
});
