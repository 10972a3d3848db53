import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { layoutOf } from '../../local/stack-folder.ts';
import { PODS, ROLE_BINDINGS, TestCluster } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { startInstalledStack, type InstalledStack } from '../support/installed-stack.ts';
import { endOperators, ownLogs, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { aTemporalNamespace } from '../support/temporal-namespace.ts';
import { operatorWritesIn } from '../support/writes.ts';

jest.setTimeout(240_000);
const CONVERGED_WITHIN_MS = 60_000;
/** A second more than a start goes on asking: src/temporal/runs.ts, CALL_TIMEOUT_MS. */
const STARTS_GIVE_UP_AFTER_MS = 6_000;

/** Its own: the others need their Temporal. */
let stack: InstalledStack;
let cluster: TestCluster;
let operator: Operator;
let namespace: string;

beforeAll(async () => {
  stack = await startInstalledStack();
  cluster = new TestCluster(stack.kubeconfig);
  namespace = await cluster.aNamespace();
  operator = await startOperator({
    temporalAddress: stack.temporalAddress,
    kubeconfig: stack.operatorKubeconfig,
  });
});

afterAll(async () => {
  await endOperators();
  await cluster.close();
  await stack.stop();
});

const at = (name: string) => ({ type: PODS, namespace, name });
const create = (name: string) => cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
const labelOf = async (name: string) => (await cluster.get(at(name)))?.metadata.labels?.[POD_NAME_LABEL];

function eventuallyLabelled(...names: readonly string[]): Promise<true> {
  return eventually(async () => {
    expect(await Promise.all(names.map(labelOf))).toEqual(names);
    return true as const;
  }, CONVERGED_WITHIN_MS);
}

describe('changes while Temporal is down', () => {
  it('are not lost: readiness names the outage, and all converges afterwards', async () => {
    await create('before');
    await create('removed');
    await eventuallyLabelled('before', 'removed');
    await stack.stopServer('temporal');
    await create('during');
    await create('short-lived');
    await cluster.patch(at('removed'), { metadata: { annotations: { [POD_NAME_ANNOTATION]: null } } });
    const other = (await cluster.createNamespace()).metadata.name;
    await cluster.delete(at('short-lived'));
    // So long is the outage: in a shorter one, the starts under way would outlive it by themselves.
    await delay(STARTS_GIVE_UP_AFTER_MS);
    const { status } = await eventually(async () => {
      const readiness = await operator.readiness();
      return readiness.body.includes('Temporal cannot be used: ') && readiness;
    }, CONVERGED_WITHIN_MS);
    expect(status).toBe(503);
    await stack.startServer('temporal');
    await eventuallyLabelled('before', 'during');
    await eventually(async () => (await labelOf('removed')) === undefined, CONVERGED_WITHIN_MS);
    const binding = { type: ROLE_BINDINGS, namespace: other, name: `ad-kubernetes-${other}` };
    await eventually(() => cluster.get(binding), CONVERGED_WITHIN_MS);
    await eventually(async () => (await operator.readiness()).status === 200, CONVERGED_WITHIN_MS);
    expect(patched()).toEqual(['before', 'during', 'removed', 'removed']);
  });

  /** Each once, and `removed` twice: its label came and went. */
  function patched(): string[] {
    return operatorWritesIn(namespace, stack.auditLog, 'pods')
      .map(({ name }) => name)
      .sort();
  }
});

describe('a Temporal namespace that is deleted', () => {
  it('is an outage for the watcher, and named as it; a new one of that name gets the runs', async () => {
    const { temporalAddress, operatorKubeconfig: kubeconfig } = stack;
    const connection = await NativeConnection.connect({ address: temporalAddress });
    const name = await aTemporalNamespace(connection);
    const env = { TEMPORAL_NAMESPACE: name };
    const shop = (await cluster.createNamespace()).metadata.name;
    const args = ['--controllers', 'pod-label', '--namespaces', shop];
    const watcher = await startOperator({ command: 'watch', temporalAddress, kubeconfig, args, env });
    await connection.operatorService.deleteNamespace({ namespace: name });
    // The frontend goes on with it until it reads its list of namespaces again.
    await eventually(async () => {
      await expect(connection.operatorService.listSearchAttributes({ namespace: name })).rejects.toThrow();
      return true;
    }, CONVERGED_WITHIN_MS);
    await cluster.create(PODS, aPod().in(shop).named('web').annotated().manifest);
    await eventually(async () => {
      const waiting = `Namespace not found: '${name}'; create it, or set TEMPORAL_NAMESPACE; 1 resource is waiting`;
      expect(await watcher.readiness()).toEqual({
        status: 503,
        body: `Temporal cannot be used: ${waiting}\n`,
      });
      return true;
    }, CONVERGED_WITHIN_MS);
    expect(ownLogs(watcher, 'error')).toEqual([]);
    await aTemporalNamespace(connection, name);
    await eventually(async () => (await watcher.readiness()).status === 200, CONVERGED_WITHIN_MS);
    await connection.close();
  });
});

describe('a Temporal database that is lost', () => {
  it('is replaced by an empty one without a restart, and no resource is lost', async () => {
    await stack.stopServer('temporal');
    const { temporalData } = layoutOf(stack.dir);
    for (const file of ['', '-wal', '-shm']) await rm(`${temporalData}${file}`, { force: true });
    await create('meanwhile');
    await stack.startServer('temporal');
    await create('afterwards');
    await eventuallyLabelled('meanwhile', 'afterwards');
    await eventually(async () => (await operator.readiness()).status === 200, CONVERGED_WITHIN_MS);
  });
});
