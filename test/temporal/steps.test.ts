import { describe, expect, it } from '@jest/globals';
import type { StepResult } from '../../src/contract/decision.ts';
import type { StepInput } from '../../src/contract/run.ts';
import { ofOwnCluster } from '../../src/temporal/steps.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const INPUT: StepInput = {
  ref: { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'u' },
  changes: 0,
  results: 0,
};
const DONE: StepResult = { did: [], next: { do: 'converged', because: 'done' } };
const OWN = { name: 'prod', uid: 'uid-1' };

function aStep() {
  const calls: StepInput[] = [];
  const log = aRecordingLogger();
  const addLabel = (input: StepInput) => Promise.resolve(calls.push(input)).then(() => DONE);
  const { addLabel: step } = ofOwnCluster({ addLabel }, OWN, log);
  if (step === undefined) throw new Error('the step is gone');
  return { calls, log, step };
}

describe('a step', () => {
  it.each([
    ['of its own cluster', { cluster: OWN }],
    ['of a run from before runs said of which cluster they are', {}],
  ])('is done for a run %s', async (_, of) => {
    const { calls, log, step } = aStep();
    const input = { ...INPUT, ...of };
    expect(await step(input)).toEqual(DONE);
    expect(calls).toEqual([input]);
    expect(log.lines).toEqual([]);
  });

  it('is not begun for a run of another cluster, so that a worker of that one gets the next attempt', async () => {
    const { calls, log, step } = aStep();
    const failing = step({ ...INPUT, cluster: { uid: 'uid-2' } });
    await expect(failing).rejects.toMatchObject({
      type: 'OtherCluster',
      nonRetryable: false,
      message:
        'the run is of cluster uid-2, and this worker is of cluster prod: one of its own cluster has to take it; give each cluster a task queue of its own (--task-queue)',
    });
    expect(calls).toEqual([]);
    expect(log.lines).toMatchObject([
      { level: 'warn', fields: { controller: 'pod-label', namespace: 'shop', name: 'web' } },
    ]);
  });
});
