import { expect, it, jest } from '@jest/globals';
import { podSet } from '../../src/controllers/pod-set/controller.ts';
import { decidePodSet, type Context } from '../../src/controllers/pod-set/decide.ts';
import { explore } from '../../testing/index.ts';
import { podSetScenario } from '../support/pod-set-scenario.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

it('there are as many Pods as are desired, none is made or deleted in vain, and those of others stay', async () => {
  const { unexplored } = await explore(podSet, podSetScenario, { states: 400_000 });
  expect(unexplored).toEqual([]);
});

/** It decides from something else than what there is. */
function seeing(change: (context: Context) => Context): typeof podSet {
  return { ...podSet, decide: (context, next) => decidePodSet(change(context), next) };
}

/** What an attempt that was given up still creates is too many. */
function namingByNumber(): typeof podSet {
  const { steps } = podSet;
  if (steps === undefined) throw new Error('there are no steps');
  const createPods: typeof steps.createPods = {
    ...steps.createPods,
    run(context, data) {
      const view = context.resource.view && { ...context.resource.view, podNames: [`${data.count}`] };
      return steps.createPods.run({ ...context, resource: { ...context.resource, view } }, data);
    },
  };
  return { ...podSet, steps: { ...steps, createPods } };
}

it.each<[what: string, broken: typeof podSet, found: string]>([
  [
    'overlooks a Pod',
    seeing((context) => ({ ...context, owned: context.owned.slice(1) })),
    'there are 2 Pods',
  ],
  [
    'takes Pods of others for its own',
    seeing(({ resource, ...context }) => ({
      ...context,
      resource,
      owned: context.owned.map((pod) => ({ ...pod, controllerUid: resource.metadata.uid })),
    })),
    'there are 1 Pods',
  ],
  [
    'does not look for what the status names',
    seeing(({ resource, ...context }) => ({
      ...context,
      resource: { ...resource, view: resource.view && { ...resource.view, podNames: [] } },
    })),
    'the status names',
  ],
  [
    'names Pods by how many are missing, and not by the status',
    namingByNumber(),
    'a Pod is created, and 2 of 2 are there',
  ],
])('a PodSet that %s is found out', async (_, broken, found) => {
  await expect(explore(broken, podSetScenario, { states: 400_000 })).rejects.toThrow(found);
});
