import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import { ask, expectGolden, normalized } from '../support/asking.ts';
import { TestCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { startInstalledStack, type InstalledStack } from '../support/installed-stack.ts';
import { aTaskQueue, endOperators, startOperator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';

jest.setTimeout(240_000);
const WITHIN_MS = 60_000;
const QUOTAS = { group: '', version: 'v1', plural: 'resourcequotas' };
const UI = ['--temporal-ui-url', 'http://localhost:8233'];

/** Its own: a server of Temporal that starts anew has forgotten who polled, which otherwise takes five minutes. */
let stack: InstalledStack;
let cluster: TestCluster;

beforeAll(async () => {
  stack = await startInstalledStack();
  cluster = new TestCluster(stack.kubeconfig);
});

afterAll(async () => {
  await endOperators();
  await cluster.close();
  await stack.stop();
});

describe('why, after the operator was killed,', () => {
  it('says that an attempt is due, and that no worker is there', async () => {
    const { temporalAddress, kubeconfig, operatorKubeconfig } = stack;
    const taskQueue = aTaskQueue();
    const namespace = await cluster.aNamespace();
    const metadata = { name: 'compute', namespace };
    const spec = { hard: { pods: '3' } };
    await cluster.create(QUOTAS, { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec });
    const at = { type: QUOTAS, namespace, name: 'compute' };
    await eventually(async () => (await cluster.get(at))?.['status'] !== undefined, WITHIN_MS);
    const operator = await startOperator({ temporalAddress, kubeconfig: operatorKubeconfig, taskQueue });
    await cluster.create(POD_SETS, aPodSet().in(namespace).named('web').wanting(5).manifest);
    const why = async () => {
      const words = ['why', 'podset/web', '-n', namespace, '--task-queue', taskQueue, ...UI];
      return ask(words, { kubeconfig, temporalAddress });
    };
    const says = (words: RegExp) =>
      eventually(async () => {
        const answer = await why();
        return words.test(answer.stdout) && answer;
      }, WITHIN_MS);
    await says(/is retrying[^]*, next in \d/);
    await operator.end('SIGKILL');
    await stack.stopServer('temporal');
    await stack.startServer('temporal');
    const { status, stdout } = await says(/due, not begun/);
    const names = { [namespace]: 'shop', [taskQueue]: 'durable-operator' };
    expectGolden('why-killed-in-backoff', normalized(stdout, names));
    expect(status).toBe(1);
  });
});
