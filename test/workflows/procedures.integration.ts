import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Worker } from '@temporalio/worker';
import { testStack } from '../support/stack.ts';
import { kindOf, WorkflowWorld, type HistoryEvent, type Procedure } from '../support/workflow-world.ts';
import { followedBy, PROCEDURE_CASE_NAMES, PROCEDURE_CASES, type ProcedureCaseName } from './cases.ts';

jest.setTimeout(60_000);

let world: WorkflowWorld;

beforeAll(async () => {
  world = await WorkflowWorld.open(testStack().temporalAddress);
});

afterAll(async () => {
  await world.close();
});

const run = (name: ProcedureCaseName, workflow: Procedure = 'build') =>
  PROCEDURE_CASES[name](world, workflow);
const summaryOf = ({ userMetadata }: HistoryEvent): unknown =>
  JSON.parse(Buffer.from(userMetadata?.summary?.data ?? []).toString() || 'null');
const eventsOfKind = (events: readonly HistoryEvent[], kind: string) =>
  events.filter((event) => kindOf(event) === kind);

describe.each(['podSet', 'build'] as const)('%s', (workflow) => {
  it('passes as often as there is more to do', async () => {
    const done = await run('several-passes', workflow);
    expect(await done.result()).toBe('created all 5');
    expect(done.passes.map(({ ref }) => ref)).toEqual([done.ref, done.ref, done.ref]);
  });

  it('calls a pass by what the one before said that it is for', async () => {
    const done = await run('several-passes', workflow);
    const scheduled = eventsOfKind(await done.events(), 'activityTaskScheduled');
    expect(scheduled.map(summaryOf).slice(1)).toEqual(['create the fifth', 'create the fifth']);
  });
});

describe('a run of several passes', () => {
  it('is told what was seen for its first pass alone', async () => {
    const { passes } = await run('several-passes');
    expect(passes.map(({ seen }) => seen)).toEqual([
      { step: 'create', resourceVersion: '7' },
      undefined,
      undefined,
    ]);
  });

  it('retries its first pass with what was seen, as a conditional write may rely on it', async () => {
    const done = await run('retries-with-what-was-seen');
    expect(await done.result()).toBe('done at last');
    expect(done.passes.map(({ seen }) => seen)).toEqual([done.passes[0]?.seen, done.passes[0]?.seen]);
    expect(done.passes[0]?.seen).toBeDefined();
  });
});

describe('a run that waits', () => {
  it('says for what, in the name of its timer', async () => {
    const waiting = await run('wait-waits');
    const [timer] = eventsOfKind(await waiting.events(), 'timerStarted');
    expect(Number(timer?.timerStartedEventAttributes?.startToFireTimeout?.seconds)).toBe(3600);
    expect(timer && summaryOf(timer)).toBe('in case nobody tells: Job build-web to end');
    await waiting.terminate();
  });

  it('goes on at a change, long before its time', async () => {
    const done = await run('waiting-until-told');
    expect(await done.result()).toBe('the Job has succeeded');
    const story = await done.story();
    expect(followedBy(story, 'timerCanceled', 'activityTaskScheduled')).toBe(true);
    expect(story).not.toContain('timerFired');
  });

  it('goes on when its time is up, though nobody has told of anything', async () => {
    const done = await run('waiting-until-its-time');
    expect(await done.result()).toBe('the Job has succeeded');
    expect(followedBy(await done.story(), 'timerFired', 'activityTaskScheduled')).toBe(true);
  });

  it('does not wait where the change came during the pass that said to wait', async () => {
    const done = await run('told-before-waiting');
    expect(await done.result()).toBe('the Job has succeeded');
    const timers = eventsOfKind(await done.events(), 'timerStarted').map(({ timerStartedEventAttributes }) =>
      Number(timerStartedEventAttributes?.startToFireTimeout?.seconds),
    );
    expect(timers).not.toContain(3600);
  });
});

describe('every history', () => {
  it.each(PROCEDURE_CASE_NAMES)('replays: %s', async (name) => {
    const each = await run(name);
    await Worker.runReplayHistory({ workflowBundle: world.bundle }, await each.history(), each.workflowId);
    if (name.endsWith('waits')) await each.terminate();
  });
});
