import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../testing/eventually.ts';
import { testStack } from '../support/stack.ts';
import { TestTemporal } from '../support/temporal.ts';
import { WorkflowWorld, type Attempt, type WorkflowRun } from '../support/workflow-world.ts';
import { finishes, OBSERVE, stalls, stepsOf } from './cases.ts';

jest.setTimeout(180_000);
/**
 * The SDK sometimes fails a workflow task that was refused because a signal came while it continued as new. Temporal gives
 * the task out again after its time-out, more than once on a busy machine.
 */
const WITHIN_MS = 60_000;
/**
 * The server suggests to continue as new at 4 MiB of history, or 4,096 events: a few long reasons do what
 * a thousand short ones do. Source: temporal/common/dynamicconfig/constants.go, `suggestContinueAsNew`.
 */
const LONG_REASON = 'because '.repeat(125_000);
const LONG_REASONS = 5;
const SHORT_REASONS = 20;

let world: WorkflowWorld;
let temporal: TestTemporal;

beforeAll(async () => {
  const { temporalAddress } = testStack();
  world = await WorkflowWorld.open(temporalAddress);
  temporal = new TestTemporal(temporalAddress);
});

afterAll(async () => {
  await world.close();
  await temporal.close();
});

const statusesOf = async ({ ref }: WorkflowRun) => (await temporal.runsOf(ref)).map(({ status }) => status);

const hasContinued = async (run: WorkflowRun) => (await statusesOf(run)).includes('CONTINUED_AS_NEW');

describe('a run with a long history', () => {
  it('continues as new, observes first, and goes on when its resource changes', async () => {
    let isFixed = false;
    const attempt: Attempt = () => (isFixed ? finishes('it at last')() : stalls());
    const run = await world.start('podLabel', stepsOf('podLabel').first, [attempt]);
    await eventually(() => run.calls.length === 1, WITHIN_MS);
    // A list may lag behind, so that more is signals than it takes.
    for (let signals = 1; !(await hasContinued(run)); signals += 1) {
      await run.change(LONG_REASON);
      await eventually(() => run.calls.length > signals, WITHIN_MS);
    }
    isFixed = true;
    await run.change();
    expect(await run.result()).toBe('created it at last');
    expect(new Set(run.calls.slice(1).map(({ step }) => step))).toEqual(new Set(['observe']));
    await eventually(async () => (await statusesOf(run)).at(-1) === 'COMPLETED', WITHIN_MS);
  });

  it('loses no change that comes while it continues as new: a step begins after the last of them', async () => {
    const run = await world.start('podLabel', OBSERVE, [stalls]);
    for (let signals = 0; signals < LONG_REASONS; signals += 1) await run.change(LONG_REASON);
    // Not for as long as it takes: what continues as new is refused while signals keep coming in.
    for (let signals = 0; signals < SHORT_REASONS; signals += 1) await run.change();
    // The server may find only with the next signal that the history has become long.
    while (!(await hasContinued(run))) {
      const before = run.calls.length;
      await run.change();
      await eventually(() => run.calls.length > before, WITHIN_MS);
    }
    await eventually(async () => {
      const story = await run.story();
      return story.lastIndexOf('markerRecorded') > story.lastIndexOf('workflowExecutionSignaled');
    }, WITHIN_MS);
    await run.terminate();
  });
});
