import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { converged } from '../../src/contract/run.ts';
import { eventually } from '../support/eventually.ts';
import { testStack } from '../support/stack.ts';
import { TestTemporal } from '../support/temporal.ts';
import {
  anAttemptUnderWay,
  WorkflowWorld,
  type Attempt,
  type WorkflowRun,
} from '../support/workflow-world.ts';
import { stalls, succeeds } from './cases.ts';

jest.setTimeout(60_000);
const WITHIN_MS = 20_000;
/**
 * The server suggests to continue as new at 4 MiB of history, or 4,096 events: a few long reasons do what
 * a thousand short ones do. Source: temporal/common/dynamicconfig/constants.go, `suggestContinueAsNew`.
 */
const LONG_REASON = 'because '.repeat(125_000);
const LONG_REASONS = 5;

let world: WorkflowWorld;
let temporal: TestTemporal;

beforeAll(async () => {
  const { temporalAddress } = testStack();
  world = await WorkflowWorld.open(temporalAddress);
  temporal = await TestTemporal.connect(temporalAddress);
});

afterAll(async () => {
  await world.close();
  await temporal.close();
});

const statusesOf = async ({ ref }: WorkflowRun) => (await temporal.runsOf(ref)).map(({ status }) => status);

const hasContinued = async (run: WorkflowRun) => (await statusesOf(run)).includes('CONTINUED_AS_NEW');

describe('a run with a long history', () => {
  it('continues as new, reads first, and goes on when its resource changes', async () => {
    let isMended = false;
    const attempt: Attempt = () => (isMended ? succeeds('done at last')() : stalls());
    const run = await world.start('podLabel', { step: 'refuse' }, [attempt]);
    await eventually(() => run.passes.length === 1, WITHIN_MS);
    // A list may lag behind, so that more is told than it takes.
    for (let told = 1; !(await hasContinued(run)); told += 1) {
      await run.change(LONG_REASON);
      await eventually(() => run.passes.length > told, WITHIN_MS);
    }
    isMended = true;
    await run.change();
    expect(await run.result()).toBe('done at last');
    expect(run.passes.slice(1)).toEqual(run.passes.slice(1).map(() => ({ ref: run.ref })));
    await eventually(async () => (await statusesOf(run)).at(-1) === 'COMPLETED', WITHIN_MS);
  });

  it('passes again where it continues as new with changes that it has not handled', async () => {
    const underWay = anAttemptUnderWay();
    const run = await world.start('podLabel', undefined, [underWay.attempt]);
    for (let told = 0; told < LONG_REASONS; told += 1) await run.change(LONG_REASON);
    await eventually(() => hasContinued(run), WITHIN_MS);
    underWay.end(converged('done after the changes'));
    expect(await run.result()).toBe('done after the changes');
  });

  it('loses no change that comes while it continues as new: a pass begins after the last of them', async () => {
    const run = await world.start('podLabel', undefined, [stalls]);
    for (let told = 0; told < LONG_REASONS; told += 1) await run.change(LONG_REASON);
    do await run.change();
    while ((await statusesOf(run)).length === 1);
    await eventually(async () => {
      const story = await run.story();
      return story.lastIndexOf('activityTaskScheduled') > story.lastIndexOf('workflowExecutionSignaled');
    }, WITHIN_MS);
    await run.terminate();
  });
});
