import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildServers } from '../../local/build.ts';
import { startStack, type Stack } from '../../local/stack.ts';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/decide.ts';
import { settingsRunId } from '../../src/temporal/settings-run.ts';
import { ask } from '../support/asking.ts';
import { NAMESPACES, PODS, refOf, TestCluster, uniqueName } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import {
  apiCallsOf,
  aTaskQueue,
  endOperators,
  launchOperator,
  ownLogs,
  startOperator,
} from '../support/operator.ts';
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
  otherKubeconfig = await installOperator({ admin: other.kubeconfig, dir, kubectl: binaries.kubectl });
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

describe('an operator', () => {
  it('labels its runs with its cluster, and with the name of it once it has one', async () => {
    const taskQueue = aTaskQueue();
    const clusterOf = async (pod: KubernetesObject) => {
      const { runId } = (await temporal.runsOf(refOf('pod-label', pod)))[0] ?? {};
      const { raw } = await temporal.client.workflow
        .getHandle(`pod-label/${namespace}/${pod.metadata.name}/${pod.metadata.uid}`, runId)
        .describe();
      const { data } = raw.workflowExecutionInfo?.searchAttributes?.indexedFields?.['Cluster'] ?? {};
      return JSON.parse(Buffer.from(data ?? []).toString()) as unknown;
    };
    const first = await startOperator({ taskQueue });
    const before = await create(cluster, 'before');
    await eventuallyLabelled(cluster, 'before');
    await first.end('SIGTERM');
    // It is the same cluster, so the task queue is still its own.
    await startOperator({ taskQueue, args: ['--cluster-name=prod-1'] });
    const after = await create(cluster, 'after');
    await eventuallyLabelled(cluster, 'after');
    expect(await clusterOf(before)).toBe(await uidOf(cluster));
    expect(await clusterOf(after)).toBe('prod-1');
  });

  it('does not start on the task queue of another cluster, and says what to do', async () => {
    const taskQueue = aTaskQueue();
    await startOperator({ taskQueue, args: ['--cluster-name=prod-1'] });
    await eventually(
      () => temporal.client.workflow.getHandle(settingsRunId(taskQueue)).describe(),
      WITHIN_MS,
    );
    for (const command of ['run', 'work', 'watch']) {
      const refused = await launchOperator(inOther({ taskQueue, command }));
      await expect(refused.ready()).rejects.toThrow(
        `task queue \\"${taskQueue}\\" of Temporal namespace \\"default\\" belongs to cluster prod-1, and this is cluster ${await uidOf(otherCluster)}; set another --task-queue`,
      );
      expect(await refused.end('SIGTERM')).toBe(2);
    }
  });

  it('takes the task queue of a cluster that is gone, once its settings are', async () => {
    const taskQueue = aTaskQueue();
    const gone = await startOperator({ taskQueue });
    const settings = temporal.client.workflow.getHandle(settingsRunId(taskQueue));
    await eventually(() => settings.describe(), WITHIN_MS);
    await gone.end('SIGTERM');
    await settings.terminate('the cluster is gone');
    const next = await startOperator(inOther({ taskQueue }));
    const uid = await uidOf(otherCluster);
    await eventually(async () => (await settings.describe()).memo?.['cluster-uid'] === uid, WITHIN_MS);
    await next.end('SIGTERM');
    // Another test counts the operators of this cluster.
    await settings.terminate('the test is over');
  });
});

describe('a worker of another cluster', () => {
  it('touches nothing of a run that it gets, and leaves it to one of the run’s own cluster', async () => {
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

describe('who asks', () => {
  it('is answered by the operator of their cluster, of several in one Temporal namespace', async () => {
    const name = uniqueName();
    const { temporalAddress } = other;
    const [here, there] = [aTaskQueue(), aTaskQueue()];
    await startOperator({ temporalAddress, taskQueue: here });
    await startOperator(inOther({ temporalAddress, taskQueue: there }));
    const asked = { kubeconfig: other.kubeconfig, temporalAddress };
    const { metadata } = await create(cluster, name);
    await eventuallyLabelled(cluster, name);
    await create(otherCluster, name);
    await eventuallyLabelled(otherCluster, name);
    // The only one of this cluster, once Temporal lists it. Of several resources of one name, each begins with its UID.
    await eventually(async () => {
      const { stdout } = await ask(['history', `pod/${name}`, '-n', namespace], asked);
      return stdout.includes('added label') && !stdout.includes(metadata.uid);
    }, WITHIN_MS);
    const wrong = await ask(['why', `pod/${name}`, '-n', namespace, '--task-queue', here], asked);
    expect(wrong.stdout).toContain(
      `the operator with task queue "${here}" is for another cluster, ${await uidOf(cluster)}`,
    );
    expect(wrong.status).toBe(1);
    const rows = await ask(['get', 'pods', '-n', namespace, '--task-queue', here, '-o', 'json'], asked);
    expect(rows.stdout).not.toContain('the resource is gone');
  });
});
