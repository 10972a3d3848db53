import { jest } from '@jest/globals';
import { ROLE_BINDING_WORLD } from '../support/explorer/namespace-role-binding.ts';
import { POD_LABEL_WORLD } from '../support/explorer/pod-label.ts';
import { podSetWorld } from '../support/explorer/pod-set.ts';
import { but, exploreAll, FAULTS, NOTHING, pairs, twoOf } from '../support/explorer/table.ts';

jest.setTimeout(300_000);

const TO_PODS = ['annotate', 'label', 'finish', 'remove'];
const TO_BINDINGS = ['select', 'edit', 'create', 'remove', 'end'];
const TO_POD_SETS = ['scale', 'relabel', 'orphan', 'delete', 'fail', 'remove', 'quota', 'terminate'];
const ONE = podSetWorld({ replicas: 1 });

/** Each controller with the watcher, its signals and its runs; git-build has a file of its own. */
exploreAll({
  'pod-label, in any order': {
    world: POD_LABEL_WORLD,
    after: [NOTHING, ...TO_PODS, ...FAULTS, ...pairs(TO_PODS, FAULTS), ...twoOf(TO_PODS)],
  },
  'namespace-role-binding, in any order': {
    world: ROLE_BINDING_WORLD,
    after: [NOTHING, ...TO_BINDINGS, ...FAULTS, 'lag'],
  },
  'namespace-role-binding, where something lags': {
    world: ROLE_BINDING_WORLD,
    slowness: 1,
    after: [...pairs(TO_BINDINGS, FAULTS), ...twoOf(TO_BINDINGS), 'edit + relist', 'remove + relist'],
  },
  'pod-set of 1 Pod, in any order': { world: ONE, after: [NOTHING, ...FAULTS] },
  'pod-set of 1 Pod, where something lags': {
    world: ONE,
    slowness: 1,
    after: [...TO_POD_SETS, 'lag'],
  },
  'pod-set of 1 Pod, where much lags': { world: ONE, slowness: 2, after: but(TO_POD_SETS, 'scale', 'fail') },
  'pod-set of 1 Pod': {
    world: ONE,
    slowness: 0,
    after: [
      // A Pod whose create lingers until there is another one is deleted again.
      ...but(pairs(TO_POD_SETS, FAULTS), 'quota + linger'),
      ...twoOf(TO_POD_SETS),
    ],
  },
  'pod-set of 2 Pods, where something lags': {
    world: podSetWorld({ replicas: 2 }),
    slowness: 1,
    after: [NOTHING, ...TO_POD_SETS, ...FAULTS, 'relist'],
  },
  'pod-set of Pods that get ready, where something lags': {
    world: podSetWorld({ replicas: 1, podsGetReady: true }),
    slowness: 1,
    after: [NOTHING, ...TO_POD_SETS, ...FAULTS],
  },
  'pod-set of 1 Pod that has 2': {
    world: podSetWorld({ replicas: 1, ours: ['web-a', 'web-b'] }),
    slowness: 0,
    after: [...FAULTS, ...pairs(TO_POD_SETS, FAULTS)],
  },
  'pod-set of 1 Pod that has 2, where something lags': {
    world: podSetWorld({ replicas: 1, ours: ['web-a', 'web-b'] }),
    slowness: 1,
    after: [NOTHING, ...TO_POD_SETS, ...FAULTS],
  },
  'pod-set beside a Pod without a controller, where something lags': {
    world: podSetWorld({ replicas: 1, orphans: ['web-o'] }),
    slowness: 1,
    after: [NOTHING, ...TO_POD_SETS, ...FAULTS],
  },
  'pod-set beside Pods of others and without a controller': {
    world: podSetWorld({ replicas: 2, orphans: ['web-o'], foreign: ['web-f'] }),
    slowness: 0,
    after: [NOTHING, ...TO_POD_SETS, ...FAULTS, ...pairs(['scale', 'orphan', 'delete'], FAULTS)],
  },
});
