import { expect, it, jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { inFlight } from '../../bench/load.ts';
import { namesOf } from '../../bench/names.ts';
import { peakMbIn } from '../../bench/processes.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import {
  BUILD_NAME_ANNOTATION,
  BUILD_UID_LABEL,
  PURPOSE_LABEL,
} from '../../src/controllers/git-build/kind.ts';
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../src/api/kinds.ts';
import { labelsFor } from '../../src/controllers/pod-set/pod.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { PODS, type Manifest } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);
const WITHIN_MS = 60_000;
/** 75 MB in etcd. */
const COUNT = 300;
const MOST_MB = 300;
/** The PodSet and the build that the Pods claim to belong to. */
const CLAIMED = 'crowd';
/** Together almost the 256 KiB that the annotations of one object may have. */
const LARGE = {
  'durable-operator.dev/x': 'x'.repeat(125 * 1024),
  'example.com/x': 'x'.repeat(125 * 1024),
};

const { cluster } = setUpStage();

/** Three controllers are interested in it. */
function largePod(namespace: string, name: string): Manifest {
  const { metadata, ...pod } = aPod().in(namespace).named(name).manifest;
  const ofABuild = {
    [MANAGED_BY_LABEL]: MANAGED_BY,
    [BUILD_UID_LABEL]: 'uid-of-nothing',
    [PURPOSE_LABEL]: 'build',
  };
  const labels = { ...ofABuild, ...labelsFor(CLAIMED) };
  return {
    ...pod,
    metadata: { ...metadata, labels, annotations: { ...LARGE, [BUILD_NAME_ANNOTATION]: CLAIMED } },
  };
}

async function isServed(namespace: string, name: string): Promise<void> {
  await cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
  await eventually(async () => {
    const pod = await cluster.get({ type: PODS, namespace, name });
    return pod?.metadata.labels?.[POD_NAME_LABEL] === name;
  }, WITHIN_MS);
}

const peakMbOf = ({ pid }: Operator) => peakMbIn(readFileSync(`/proc/${pid}/status`, 'utf8'));

it('large objects in one namespace do not delay other namespaces, not even after a restart', async () => {
  const [crowded, other] = [await cluster.aNamespace(), await cluster.aNamespace()];
  const request = { taskQueue: aTaskQueue() };
  const first = await startOperator(request);
  await inFlight(namesOf('large', COUNT), (name) => cluster.create(PODS, largePod(crowded, name)));
  // Its Pods are listed and adopted by a step.
  await cluster.create(PodSetKind, aPodSet().in(crowded).named(CLAIMED).wanting(COUNT).manifest);
  await isServed(other, 'before');
  await eventually(async () => {
    const pod = await cluster.get({ type: PODS, namespace: crowded, name: 'large-1' });
    return pod?.metadata.ownerReferences?.length === 1;
  }, WITHIN_MS);
  expect(peakMbOf(first)).toBeLessThan(MOST_MB);
  await first.end('SIGKILL');

  const second = await startOperator(request);
  await isServed(other, 'after');
  expect(peakMbOf(second)).toBeLessThan(MOST_MB);
  await second.end('SIGTERM');
  await cluster.delete({ type: PodSetKind, namespace: crowded, name: CLAIMED });
  await inFlight(namesOf('large', COUNT), (name) => cluster.delete({ type: PODS, namespace: crowded, name }));
});
