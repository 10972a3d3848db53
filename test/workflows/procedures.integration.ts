import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { testStack } from '../support/stack.ts';
import {
  kindOf,
  WORKFLOW_TYPES,
  WorkflowWorld,
  type AnyWorkflow,
  type HistoryEvent,
} from '../support/workflow-world.ts';
import { CASES, stepsOf, type CaseName } from './cases.ts';

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

describe('a run that waits', () => {
  it('says for what, in the name of its timer', async () => {
    const waiting = await run('wait-waits');
    const [timer] = eventsOfKind(await waiting.events(), 'timerStarted');
    expect(Number(timer?.timerStartedEventAttributes?.startToFireTimeout?.seconds)).toBe(3600);
    expect(timer && summaryOf(timer)).toBe('recheck: waiting for Job build-web to end');
    await waiting.terminate();
  });
});
