import { expect, it, jest } from '@jest/globals';
import { exploreSystem } from '../../testing/explorer/explorer.ts';
import { operatorIn } from '../../testing/explorer/operator.ts';
import { buildWorld } from '../support/explorer/git-build.ts';
import { but, exploreAll, FAULTS, NOTHING, pairs, twoOf } from '../support/explorer/table.ts';

jest.setTimeout(300_000);

const ONE_NODE = buildWorld();
const FEW_WRITES = ['remove', 'skip', 'terminate', 'fail'];
/** Besides what test/testing/git-build.test.ts explores: deletions, also of the Job. */
const OTHER_WRITES = ['skip', 'terminate', 'fail', 'failPod', 'strip'];
const WRITES = [...FEW_WRITES, 'failPod', 'strip', 'deleteJob'];

/** The build controller with the watcher, its signals and its runs. */
exploreAll({
  'a build, where something lags': {
    world: ONE_NODE,
    slowness: 1,
    after: [...OTHER_WRITES, 'forget', 'lag', 'timer'],
  },
  'a build': {
    world: ONE_NODE,
    slowness: 0,
    after: [
      ...[...OTHER_WRITES, 'recreate'],
      ...pairs(OTHER_WRITES, but(FAULTS, 'late', 'forget')),
      ...pairs(['remove'], OTHER_WRITES),
      ...pairs(
        ['removeJobsFirst'],
        [...FEW_WRITES, 'failPod', 'deleteJob', ...but(FAULTS, 'late', 'forget')],
      ),
      ...twoOf(but(WRITES, 'remove', 'strip')),
      'remove + failCleanup',
      'recreate + crash',
    ],
  },
  'a build on one of two nodes': {
    world: buildWorld({ nodes: ['n1', 'n2'] }),
    slowness: 0,
    after: [
      NOTHING,
      ...WRITES,
      'loseNode',
      'remove + loseNode',
      'failPod + deleteJob',
      'deleteJob + deleteJob',
      'deleteJob + linger',
    ],
  },
  'a build that becomes another': {
    world: buildWorld({ specs: ['y'] }),
    slowness: 0,
    after: ['change', ...pairs(['change'], FAULTS), ...pairs(['change'], FEW_WRITES)],
  },
  'a build whose Job gets another name': {
    world: buildWorld({ specs: ['renamed'] }),
    slowness: 0,
    // A create that was given up may be made after all when the spec has changed: both Jobs run until the older is deleted.
    after: ['change', ...pairs(['change'], but(FAULTS, 'abandon', 'linger'))],
  },
  'a build that becomes invalid, and valid again': {
    world: buildWorld({ specs: ['x', 'invalid'] }),
    slowness: 0,
    after: ['change', 'change + change', ...pairs(['change'], FAULTS)],
  },
  'a build whose Job’s name is taken, where something lags': {
    world: buildWorld({ foreignJobs: ['job'] }),
    slowness: 1,
    after: [NOTHING, 'freeName', 'remove', 'skip', 'terminate', ...FAULTS],
  },
  'a build whose Job’s name is taken': {
    world: buildWorld({ foreignJobs: ['job'] }),
    slowness: 0,
    after: [...pairs(['freeName', 'remove'], FAULTS), 'freeName + remove'],
  },
  'a build whose cleanup’s name is taken': {
    world: buildWorld({ foreignJobs: ['job-delete'] }),
    slowness: 0,
    after: ['remove + freeName', 'remove + timer', 'skip + remove'],
  },
});

it('leaves no binary where it is deleted before the watch of Pods shows where it runs', async () => {
  const its = operatorIn(ONE_NODE, { slowness: 1, budget: { remove: 1 } });
  const early = new Set<string>();
  const next = async (place: string) => {
    const all = await its.next(place);
    const isDue = all.some(({ disturbance }) => disturbance === 'remove');
    if (isDue && all.some(({ what }) => what.startsWith('the watch of pods '))) early.add(place);
    return all;
  };
  await exploreSystem({ ...its, next }, { statesMax: 20_000 });
  // From each of these moments on, everything goes on in every order.
  expect(early.size).toBeGreaterThan(8);
});
