import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { testStack } from '../support/stack.ts';
import {
  kindOf,
  WORKFLOW_TYPES,
  WorkflowWorld,
  type AnyWorkflow,
  type HistoryEvent,
} from '../support/workflow-world.ts';
import { CASES, followedBy, stepsOf, type CaseName } from './cases.ts';

jest.setTimeout(60_000);

let world: WorkflowWorld;

beforeAll(async () => {
  world = await WorkflowWorld.open(testStack().temporalAddress);
});

afterAll(async () => {
  await world.close();
});

const run = (name: CaseName, workflow: AnyWorkflow = 'gitBuild') => CASES[name](world, workflow);
const summaryOf = ({ userMetadata }: HistoryEvent): unknown =>
  JSON.parse(Buffer.from(userMetadata?.summary?.data ?? []).toString() || 'null');
const eventsOfKind = (events: readonly HistoryEvent[], kind: string) =>
  events.filter((event) => kindOf(event) === kind);

describe.each(WORKFLOW_TYPES)('%s', (workflow) => {
  it('calls the step that the one before named, and its result sums up both', async () => {
    const done = await run('several-steps', workflow);
    expect(await done.result()).toBe('created the first, created the second');
    const { first, second } = stepsOf(workflow);
    expect(done.steps).toEqual([`${first.do} locally`, `${second.do} locally`]);
  });

  it('says of each step what it is for, and why it is needed', async () => {
    const done = await run('local-step-fails', workflow);
    const [scheduled] = eventsOfKind(await done.events(), 'activityTaskScheduled');
    expect(scheduled && summaryOf(scheduled)).toMatch(/^\w.*: it is missing$/);
  });
});

describe('a run of many steps', () => {
  it('makes a durable one after four local ones, so that a signal need not wait for long', async () => {
    const done = await run('many-local-steps');
    const LOCAL = 'createJob locally';
    expect(done.steps).toEqual([LOCAL, LOCAL, LOCAL, LOCAL, 'createJob', LOCAL, LOCAL]);
  });

  it('adds up in its result what they did', async () => {
    const done = await run('many-local-steps');
    expect(await done.result()).toBe('created 7 Pods');
  });
});

describe('a run that waits', () => {
  it('says for what, in the name of its timer', async () => {
    const waiting = await run('wait-waits');
    const [timer] = eventsOfKind(await waiting.events(), 'timerStarted');
    expect(Number(timer?.timerStartedEventAttributes?.startToFireTimeout?.seconds)).toBe(3600);
    expect(timer && summaryOf(timer)).toBe('recheck: waiting for Job build-web to end');
    await waiting.terminate();
  });

  it('goes on at a change, long before its time', async () => {
    const done = await run('wait-is-signalled');
    expect(await done.result()).toBe('created Job build-web, created the status');
    expect(done.steps).toEqual(['createJob locally', 'observe locally']);
    const story = await done.story();
    expect(followedBy(story, 'timerStarted', 'timerCanceled')).toBe(true);
    expect(story).not.toContain('timerFired');
  });

  it('observes when its time is up, though nobody has signalled', async () => {
    const done = await run('waits-until-its-time');
    expect(done.steps).toEqual(['createJob locally', 'observe locally']);
    expect(followedBy(await done.story(), 'timerStarted', 'timerFired')).toBe(true);
  });

  it('does not wait where the change came during the step that said to wait', async () => {
    const done = await run('change-before-a-wait');
    expect(await done.result()).toBe('created the status');
    const timers = eventsOfKind(await done.events(), 'timerStarted').map(({ timerStartedEventAttributes }) =>
      Number(timerStartedEventAttributes?.startToFireTimeout?.seconds),
    );
    expect(timers).not.toContain(3600);
  });
});
