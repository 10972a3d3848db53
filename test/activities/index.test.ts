import { describe, expect, it } from '@jest/globals';
import { dispatching, type StepActivity } from '../../activities/index.ts';
import { converged } from '../../src/contract/decision.ts';

const says =
  (because: string): StepActivity =>
  () =>
    Promise.resolve({ did: [], next: converged(because) });
const inputFor = (controller: string) => ({
  ref: { controller, namespace: 'shop', name: 'web', uid: 'uid-1' },
  changes: 0,
  results: 0,
});
const activities = dispatching({
  'pod-set': { observe: says('a PodSet'), updateStatus: says('status of a PodSet') },
  'git-build': {
    observe: says('a build'),
    updateStatus: says('status of a build'),
    createJob: says('a Job'),
  },
});

const call = async (name: string, controller: string) => {
  const activity = activities[name];
  if (activity === undefined) throw new Error(`no activity ${name}`);
  return await activity(inputFor(controller));
};

describe('an activity', () => {
  it('has each name once, whichever controllers have such a step', () => {
    expect(Object.keys(activities).sort()).toEqual(['createJob', 'observe', 'updateStatus']);
  });

  it.each([
    ['pod-set', 'status of a PodSet'],
    ['git-build', 'status of a build'],
  ])("is that of the resource's controller: %s", async (controller, because) => {
    const { next } = await call('updateStatus', controller);
    expect(next).toEqual(converged(because));
  });

  it('fails where the controller has no such step', async () => {
    await expect(call('createJob', 'pod-set')).rejects.toThrow('controller pod-set has no step createJob');
  });
});
