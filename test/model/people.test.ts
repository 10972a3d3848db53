import { jest } from '@jest/globals';
import { buildWorld } from '../support/explorer/git-build.ts';
import { ROLE_BINDING_WORLD } from '../support/explorer/namespace-role-binding.ts';
import { POD_LABEL_WORLD } from '../support/explorer/pod-label.ts';
import { podSetWorld } from '../support/explorer/pod-set.ts';
import { but, exploreAll, FAULTS, pairs } from '../support/explorer/table.ts';
import { notCounting, requiringApproval, withNamespace } from '../../testing/explorer/world.ts';

jest.setTimeout(300_000);

/** What comes, and in the end goes, and what comes and goes at any time. */
const HOLDS = ['pause', 'pause + resume', 'pauseNamespace', 'pauseNamespace + resumeNamespace'];
const ASKED = [...HOLDS, 'request', 'request + request', 'pause + request', 'pause + pauseNamespace'];
const PAUSES = ['pause', 'pauseNamespace', 'request'];
const ANSWERS = ['approve', 'reject', 'reject + approve'];

const SURPLUS = requiringApproval(podSetWorld({ replicas: 1, ours: ['web-a', 'web-b'] }));

const STRAYS = notCounting(SURPLUS);

/** What people ask of any resource by annotations. In the end they lift each pause, and approve each plan. */
exploreAll({
  'pod-label': {
    world: withNamespace(POD_LABEL_WORLD),
    slowness: 1,
    after: [...ASKED, ...pairs(PAUSES, FAULTS), ...pairs(PAUSES, ['annotate', 'remove', 'lag'])],
  },
  'pod-label in two processes': {
    world: withNamespace(POD_LABEL_WORLD),
    slowness: 1,
    processes: 'two',
    delivery: 'at once',
    after: [...HOLDS, ...pairs(['pauseNamespace + resumeNamespace'], FAULTS)],
  },
  'namespace-role-binding': {
    world: withNamespace(ROLE_BINDING_WORLD),
    slowness: 0,
    after: [...ASKED, ...pairs(['pause', 'request'], [...FAULTS, 'select', 'edit', 'remove', 'end'])],
  },
  'namespace-role-binding that requires approval': {
    world: requiringApproval(ROLE_BINDING_WORLD),
    slowness: 0,
    after: pairs(['edit'], [...ANSWERS, 'pause', 'end', ...FAULTS]),
  },
  // The model gives a free UID again, and the plan of another binding is told by its UID.
  'namespace-role-binding that requires approval again and again': {
    world: notCounting(requiringApproval(ROLE_BINDING_WORLD)),
    slowness: 0,
    after: ['edit + edit', 'edit + edit + approve'],
  },
  'pod-set': {
    world: withNamespace(podSetWorld({ replicas: 1 })),
    slowness: 0,
    after: [
      ...ASKED,
      ...pairs(PAUSES, FAULTS),
      ...pairs(PAUSES, ['scale', 'orphan', 'delete', 'remove', 'quota', 'terminate']),
    ],
  },
  'pod-set, where something lags': {
    world: withNamespace(podSetWorld({ replicas: 1 })),
    slowness: 1,
    after: ASKED,
  },
  'pod-set that requires approval': {
    world: SURPLUS,
    slowness: 0,
    after: [
      ...['nothing', ...ANSWERS],
      ...pairs(ANSWERS, ['scale', 'pause', 'request', 'remove', 'terminate', 'delete']),
      ...FAULTS,
      ...pairs(['approve', 'reject', 'scale'], FAULTS),
      'scale + scale',
    ],
  },
  // One that comes before the approval is used up is as good as what was approved.
  'pod-set that requires approval again and again': {
    world: STRAYS,
    slowness: 0,
    after: ['stray', 'stray + approve', 'stray + scale', ...pairs(['stray'], FAULTS)],
  },
  'pod-set that comes to require approval': {
    world: podSetWorld({ replicas: 1, ours: ['web-a', 'web-b'] }),
    slowness: 0,
    after: ['requireApproval', 'requireApproval + scale', 'requireApproval + approve'],
  },
  'a build': {
    world: withNamespace(buildWorld()),
    slowness: 0,
    after: [
      ...ASKED,
      ...pairs(PAUSES, FAULTS),
      ...pairs(PAUSES, ['remove', 'terminate', 'skip', 'fail', 'deleteJob']),
    ],
  },
  'a build that requires approval': {
    world: requiringApproval(buildWorld({ specs: ['y'] })),
    slowness: 0,
    after: [
      // Plans of Jobs are told by their UIDs, too.
      ...pairs(['remove', 'change'], [...ANSWERS, ...but(FAULTS, 'linger'), 'pause', 'request', 'skip']),
      'remove + terminate',
    ],
  },
});
