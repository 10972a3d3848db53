import { podSet } from '../../src/controllers/pod-set/controller.ts';
import { decideDefined } from '../../src/engine/decide.ts';
import { describe, expect, it, jest } from '@jest/globals';
import { type Held } from '../../src/runs/decision.ts';
import type { Broken } from '../../testing/explorer/broken.ts';
import { exploreSystem } from '../../testing/explorer/explorer.ts';
import type { DefinedObservation, SeenResource } from '../../src/engine/observation.ts';
import { buildWorld } from '../support/explorer/git-build.ts';
import { ROLE_BINDING_WORLD } from '../support/explorer/namespace-role-binding.ts';
import { operatorIn } from '../../testing/explorer/operator.ts';
import { POD_LABEL_WORLD } from '../support/explorer/pod-label.ts';
import { podSetWorld } from '../support/explorer/pod-set.ts';
import type { WorldScenario } from '../../testing/explorer/scenario.ts';
import { requiringApproval, withNamespace, type World } from '../../testing/explorer/world.ts';

jest.setTimeout(300_000);

/** More than it takes to find each of these. */
const STATES_MAX = 10_000;

/** A decision from something else than what is there. */
function seeing(change: (seen: SeenResource) => SeenResource): Broken {
  return {
    decide:
      (its) =>
      (observation, ...asked) =>
        its(observation === 'gone' ? observation : change(observation as SeenResource), ...asked),
  };
}

/** Its own decision, where an approval is awaited. */
const APPROVES_ALL: Broken = {
  decide:
    (its) =>
    (observation, ...asked) => {
      const decision = its(observation, ...asked);
      const isHeld = decision.do === 'held' && 'by' in decision && decision.by === 'approval';
      return isHeld ? decideDefined(podSet, observation as DefinedObservation, ...asked) : decision;
    },
};

/** Also what is being deleted. */
function heldBy(observation: unknown): Held | undefined {
  const seen = observation as DefinedObservation;
  return seen !== 'gone' && seen.view.control?.isPaused === true
    ? { do: 'held', by: 'pause', reason: 'Paused', message: 'paused', would: 'whatever it is' }
    : undefined;
}

/** What a step goes by need not be as it was seen. */
const TRUSTS_ITS_VIEW: Broken = { reconciler: { confirm: () => Promise.resolve('as shown') } };
const BUILD = buildWorld();
const NAME_TAKEN = buildWorld({ foreignJobs: ['job'] });

type Mistake = readonly [
  what: string,
  world: World,
  scenario: WorldScenario,
  broken: Broken,
  found: string | RegExp,
];

const OF_WATCHERS: readonly Mistake[] = [
  [
    'a watcher of Pods to which nothing is news',
    POD_LABEL_WORLD,
    { slowness: 1 },
    { news: { newsIn: () => 'none' } },
    'it never ends',
  ],
];

const PAUSABLE = withNamespace(POD_LABEL_WORLD);
const APPROVED = requiringApproval(podSetWorld({ replicas: 1, ours: ['web-a', 'web-b'] }));

const OF_HOLDS: readonly Mistake[] = [
  [
    'a run that does not look again while it is held',
    PAUSABLE,
    {
      ...{ slowness: 1, processes: 'two', delivery: 'at once' },
      budget: { pauseNamespace: 1, resumeNamespace: 1 },
    },
    { run: { rechecksWhileHeld: false } },
    'a run is held, and nothing releases it',
  ],
  [
    'a pause that holds a finalizer',
    BUILD,
    { slowness: 0, budget: { pause: 1, remove: 1 } },
    {
      decide:
        (its) =>
        (observation, ...asked) =>
          heldBy(observation) ?? its(observation, ...asked),
    },
    'it is being deleted, and stays',
  ],
  ['an approval that nobody gave', APPROVED, { slowness: 0 }, APPROVES_ALL, 'deletes what is not approved'],
];

const OF_RUNS: readonly Mistake[] = [
  [
    'a run that waits for what its killed worker would have done',
    POD_LABEL_WORLD,
    { slowness: 0, budget: { crash: 1 } },
    { run: { repeatsAfterCrash: false } },
    'the label is missing',
  ],
  [
    'a run that forgets an attempt whose outcome nobody knows',
    BUILD,
    { slowness: 0, budget: { removeJobsFirst: 1, linger: 1 } },
    { run: { notesUnknown: false } },
    'the finalizer goes, and jobs/job still runs',
  ],
];

const OF_STEPS: readonly Mistake[] = [
  [
    'a write of a role binding that does not fail where it has changed',
    ROLE_BINDING_WORLD,
    { slowness: 0, budget: { edit: 2 } },
    { ignoresVersions: true },
    'the role binding of somebody else is written',
  ],
  [
    'a step that deletes a Job, and trusts a view that does not show where it runs',
    BUILD,
    { slowness: 1, budget: { remove: 1 } },
    TRUSTS_ITS_VIEW,
    'the finalizer goes, and n1/x stays',
  ],
];

const OF_CONTROLLERS: readonly Mistake[] = [
  [
    'a cleanup that forgets where the binary is',
    BUILD,
    { slowness: 0, budget: { remove: 1 } },
    seeing(({ owned, ...rest }) => ({
      ...rest,
      owned: owned.map((each) => ({ ...each, view: { ...(each.view as object), node: '' } })),
    })),
    'n1/x',
  ],
];

describe('the model finds', () => {
  it.each([...OF_WATCHERS, ...OF_HOLDS, ...OF_RUNS, ...OF_STEPS, ...OF_CONTROLLERS])(
    '%s',
    async (_, world, scenario, broken, found) => {
      await expect(
        exploreSystem(operatorIn(world, scenario, broken), { statesMax: STATES_MAX }),
      ).rejects.toThrow(found);
    },
  );

  it('a run that still goes by what it knew before a rest', async () => {
    const scenario = { slowness: 0, budget: { freeName: 1 } };
    const run = operatorIn(NAME_TAKEN, scenario, { run: { forgetsAtRest: false } });
    // It waits again and again, and nothing but the clock goes on.
    await expect(exploreSystem(run, { statesMax: 1_000 })).rejects.toThrow('more than 1000 states');
    expect((await exploreSystem(operatorIn(NAME_TAKEN, scenario))).states).toBeLessThan(200);
  });
});
