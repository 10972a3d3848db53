import { afterEach, expect, it, jest } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '../../src/api/object.ts';
import { controllerOf } from '../../src/api/kinds.ts';
import type { Pod } from '../../src/controllers/pod-set/pod.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet, aPodSet } from '../support/pod-sets.ts';
import { NAMESPACES, PODS, refOf } from '../support/cluster.ts';
import { LivePodSet } from '../support/live-pod-set.ts';
import { apiCallsOf, aTaskQueue, endOperators, startOperator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';

const PODS_MANY = 600;
const TAKEN_OUT = 60;
/** About as long as it takes to delete that many. */
const SPREAD_MS = PODS_MANY * 5;
/** What docs/controllers/pod-set.md promises. */
const PROMISED_MS = 1_000;
const WITHIN_MS = 180_000;
jest.setTimeout(900_000);

const { stack, cluster, temporal } = setUpStage();
afterEach(endOperators);

interface TakenOut {
  readonly name: string;
  readonly how: 'relabelled' | 'given to another controller';
  /** When the server had accepted it, in milliseconds since the epoch. */
  readonly atMs: number;
}

async function start(mode: 'run' | 'work'): Promise<void> {
  const args = ['--controllers', 'pod-set'];
  if (mode === 'run') {
    await startOperator({ args });
    return;
  }
  const taskQueue = aTaskQueue();
  await startOperator({ taskQueue, command: 'work' });
  await startOperator({ taskQueue, command: 'watch', args });
}

/** At a random moment while they are deleted. @returns undefined where its deletion had begun */
async function takeOut(name: string, other: KubernetesObject, index: number): Promise<TakenOut | undefined> {
  const { namespace = '', uid } = other.metadata;
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: other.metadata.name, uid, controller: true };
  const how = index % 2 === 0 ? 'relabelled' : 'given to another controller';
  const metadata = how === 'relabelled' ? { labels: { app: 'quarantine' } } : { ownerReferences: [owner] };
  await delay(Math.random() * SPREAD_MS);
  const at = { type: PODS, namespace, name };
  const pod = await cluster.patch<Pod>(at, { metadata }).catch(() => undefined);
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
  return { name, how, atMs: Date.now() };
}

/** The DELETEs of the operator, by the name of the Pod: when the server received them. */
function deletesIn(namespace: string): ReadonlyMap<string, number> {
  const calls = [...apiCallsOf('operator', stack.auditLog)].filter(
    ({ verb, objectRef }) =>
      verb === 'delete' && objectRef?.resource === 'pods' && objectRef.namespace === namespace,
  );
  // Of several, the first.
  return new Map(
    calls
      .reverse()
      .map(({ objectRef, requestReceivedTimestamp }) => [
        objectRef?.name ?? '',
        Date.parse(requestReceivedTimestamp),
      ]),
  );
}

/** Scales from many to 1 while Pods are taken out, and waits for the end of the run. */
async function scaleDownWhileTakingOut(namespace: string): Promise<readonly TakenOut[]> {
  const web = new LivePodSet(cluster, namespace);
  const podSet = await cluster.create<PodSet>(
    PodSetKind,
    aPodSet().in(namespace).wanting(PODS_MANY).manifest,
  );
  const other = await cluster.create(
    { group: '', version: 'v1', plural: 'configmaps' },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other', namespace } },
  );
  await web.hasPods(PODS_MANY);
  await temporal.untilCompleted(refOf('pod-set', podSet), WITHIN_MS);
  const names = [...(await web.podNames())].sort(() => Math.random() - 0.5).slice(0, TAKEN_OUT);
  await web.scaleTo(1);
  const taken = await Promise.all(names.map((name, index) => takeOut(name, other, index)));
  await web.hasPods(1);
  await temporal.untilCompleted(refOf('pod-set', podSet), WITHIN_MS);
  return taken.filter((each) => each !== undefined);
}

it.each(['run', 'work'] as const)(
  'in mode %s, no Pod is deleted that was taken out more than a second before',
  async (mode) => {
    await start(mode);
    const namespace = await cluster.aNamespace();
    const taken = await scaleDownWhileTakingOut(namespace);
    const deletes = deletesIn(namespace);
    const late = taken.map(({ name, atMs }) => (deletes.get(name) ?? 0) - atMs);
    const lost = late.filter((ms) => ms > PROMISED_MS);
    expect(lost).toEqual([]);
    expect(taken.length).toBeGreaterThan(TAKEN_OUT / 4);
    for (const { name, how } of taken.filter((each) => !deletes.has(each.name))) {
      const pod = await cluster.get<Pod>({ type: PODS, namespace, name });
      expect(pod?.metadata.deletionTimestamp).toBeUndefined();
      const controller = pod && controllerOf(pod.metadata)?.kind;
      if (how === 'given to another controller') expect(controller).toBe('ConfigMap');
      else expect(controller).toBeUndefined();
    }
    await cluster.delete({ type: NAMESPACES, name: namespace });
  },
);
