import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildServers } from '../../local/build.ts';
import { startStack, type Stack } from '../../local/stack.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { ask } from '../support/asking.ts';
import { NAMESPACES, PODS, refOf, TestCluster, uniqueName } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { apiCallsOf, aTaskQueue, endOperators, ownLogs, startOperator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { installOperator } from '../support/service-accounts.ts';
import { setUpStage } from '../support/stage.ts';

/*
 * Two clusters and one Temporal, as where the same manifests are applied everywhere. The second is this file's own, as is the
 * Temporal server that comes with it: there nobody has published settings but who does in a test of this file.
 */

jest.setTimeout(240_000);
const WITHIN_MS = 60_000;

const { cluster, temporal } = setUpStage();
let other: Stack;
let otherCluster: TestCluster;
let otherKubeconfig: string;
/** It is in both. */
let namespace: string;

beforeAll(async () => {
  const binaries = await buildServers();
  const dir = await mkdtemp(join(tmpdir(), 'durable-operator-test-'));
  other = await startStack({ dir, binaries, audit: true });
  otherKubeconfig = await installOperator({ admin: other.kubeconfig, dir });
  otherCluster = new TestCluster(other.kubeconfig);
  namespace = await cluster.aNamespace();
  await otherCluster.createNamespace(namespace);
});

afterEach(endOperators);

afterAll(async () => {
  await otherCluster.close();
  await other.stop();
});

const inOther = (request: Parameters<typeof startOperator>[0]) => ({
  kubeconfig: otherKubeconfig,
  ...request,
});

async function uidOf(one: TestCluster): Promise<string> {
  const found = await one.get({ type: NAMESPACES, name: 'kube-system' });
  return found?.metadata.uid ?? '';
}

const create = (one: TestCluster, name: string): Promise<KubernetesObject> =>
  one.create(PODS, aPod().in(namespace).named(name).annotated().manifest);

function eventuallyLabelled(one: TestCluster, name: string): Promise<true> {
  return eventually(async () => {
    const pod = await one.get({ type: PODS, namespace, name });
    expect(pod?.metadata.labels).toEqual({ [POD_NAME_LABEL]: name });
    return true as const;
  }, WITHIN_MS);
}

describe('a worker of another cluster', () => {
  it('changes nothing, and leaves the run to a worker of its own cluster', async () => {
    const taskQueue = aTaskQueue();
    const name = uniqueName();
    // Before anybody has published whose the task queue is.
    const stranger = await startOperator(inOther({ taskQueue, command: 'work' }));
    const began = new Date().toISOString();
    await startOperator({ taskQueue, command: 'watch' });
    await create(otherCluster, name);
    const pod = await create(cluster, name);
    const ref = refOf('pod-label', pod);
    const words = `the run is of cluster ${await uidOf(cluster)}, and this worker is of cluster ${await uidOf(otherCluster)}`;
    await eventually(async () => {
      const { status, pendingActivities } = await temporal.openRunOf(ref);
      expect(status).toBe('RUNNING');
      expect(pendingActivities).toMatchObject([{ type: 'addLabel', lastFailure: 'OtherCluster' }]);
      expect(pendingActivities[0]?.message).toContain(words);
      return true;
    }, WITHIN_MS);
    const why = await ask(['why', `pod/${name}`, '-n', namespace, '--task-queue', taskQueue]);
    expect(why.stdout).toContain(words);
    expect(why.stdout).toContain('give the operator of each cluster a task queue of its own (--task-queue)');
    expect(ownLogs(stranger, 'warn').map(({ msg }) => msg)).toContainEqual(expect.stringContaining(words));
    await startOperator({ taskQueue, command: 'work' });
    await eventuallyLabelled(cluster, name);
    await eventually(async () => (await temporal.runsOf(ref))[0]?.status === 'COMPLETED', WITHIN_MS);
    expect((await temporal.runsOf(ref))[0]?.result).toContain(`added label ${POD_NAME_LABEL}=${name}`);
    const untouched = await otherCluster.get({ type: PODS, namespace, name });
    expect(untouched?.metadata.labels ?? {}).toEqual({});
    const calls = apiCallsOf('operator', other.auditLog).filter(
      ({ requestReceivedTimestamp, objectRef }) =>
        requestReceivedTimestamp > began && objectRef?.resource !== 'namespaces',
    );
    expect(calls).toEqual([]);
  });
});
