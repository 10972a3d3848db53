import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { testStack } from '../support/stack.ts';
import {
  kindOf,
  WORKFLOW_TYPES,
  WorkflowWorld,
  type AnyWorkflow,
  type HistoryEvent,
} from '../support/workflow-world.ts';
import { CASE_NAMES, CASES, finishes, followedBy, OBSERVE, stepsOf, type CaseName } from './cases.ts';

jest.setTimeout(60_000);

let world: WorkflowWorld;

beforeAll(async () => {
  world = await WorkflowWorld.open(testStack().temporalAddress);
});

afterAll(async () => {
  await world.close();
});

const run = (name: CaseName, workflow: AnyWorkflow = 'podLabel') => CASES[name](world, workflow);
const secondsOf = ({ timerStartedEventAttributes: timer }: HistoryEvent) =>
  Number(timer?.startToFireTimeout?.seconds);

describe.each(WORKFLOW_TYPES)('%s', (workflow) => {
  const { do: name } = stepsOf(workflow).first;

  it('is one local activity where the first step succeeds at once, and its result says what was done', async () => {
    const done = await run('local-step', workflow);
    expect(await done.result()).toBe('created it');
    expect(await done.story()).toEqual([
      'workflowExecutionStarted',
      'workflowTaskScheduled',
      'workflowTaskStarted',
      'workflowTaskCompleted',
      'markerRecorded',
      'workflowExecutionCompleted',
    ]);
    expect(done.calls).toEqual([
      { step: name, input: { ref: done.ref, changes: 0, results: 0 }, isLocal: true },
    ]);
  });
});

describe('a change', () => {
  it.each(['change-while-hanging', 'change-in-backoff'] as const)(
    'drops the step that is in progress, and looks again: %s',
    async (name) => {
      const done = await run(name);
      expect(await done.result()).toBe('created it after the change');
      expect(done.steps).toEqual(['addLabel', 'observe locally']);
      const story = await done.story();
      expect(followedBy(story, 'activityTaskCancelRequested', 'workflowExecutionCompleted')).toBe(true);
    },
  );
});

describe('a change that asks an attempt to end', () => {
  it('has what the attempt then returns counted', async () => {
    const done = await run('change-asks-to-end');
    expect(await done.result()).toBe('created the first, created the second');
    expect(done.steps).toEqual(['addLabel', 'observe locally']);
  });
});

describe('a Retry-After', () => {
  it('is waited for by a durable timer of exactly that time, before the next look', async () => {
    const done = await run('retry-after');
    expect(await done.result()).toBe('created it');
    const events = await done.events();
    expect(events.filter((event) => kindOf(event) === 'timerStarted').map(secondsOf)).toEqual([1]);
    expect(events.map(kindOf)).toContain('timerFired');
    expect(done.steps).toEqual(['addLabel locally', 'observe locally', 'addLabel locally']);
  });
});

describe('a run that is signalled all the time', () => {
  it('never completes with a signal unhandled: a step begins after the last of them', async () => {
    const runs = await Promise.all(
      Array.from({ length: 10 }, () => world.start('podLabel', OBSERVE, [finishes()])),
    );
    await Promise.all(runs.map((each) => signalUntilItEnds(each)));
    for (const each of runs) {
      const story = await each.story();
      expect(story.at(-1)).toBe('workflowExecutionCompleted');
      const signals = story.filter((kind) => kind === 'workflowExecutionSignaled').length;
      expect(each.calls.at(-1)?.input.changes).toBe(signals);
    }
  });

  async function signalUntilItEnds(each: Awaited<ReturnType<WorkflowWorld['start']>>): Promise<void> {
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
