import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import { refOf } from '../support/cluster.ts';
import type { FaultProxy, ProxiedRequest } from '../support/fault-proxy.ts';
import { LivePodSet } from '../support/live-pod-set.ts';
import { apiCallsOf, aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(480_000);
const WITHIN_MS = 60_000;

const { stack, cluster, temporal, startProxy } = setUpStage();
const taskQueue = aTaskQueue();
let proxy: FaultProxy;
let operator: Operator;

beforeAll(async () => {
  proxy = await startProxy();
  operator = await start();
});

function start(): Promise<Operator> {
  return startOperator({ kubeconfig: proxy.kubeconfig, taskQueue, args: ['--controllers', 'pod-set'] });
}

interface Kill {
  /** Resolves once the operator is there again; undefined: it was not killed. */
  readonly restarted: () => Promise<void> | undefined;
}

/**
 * Kills the operator after its n-th write in the namespace, from 1: the write is committed, the answer is lost,
 * and nothing that is asked afterwards is done.
 */
function killAfterWrite(n: number, namespace: string): Kill {
  let writes = 0;
  let restarting: Promise<void> | undefined;
  proxy.fault = (request) => {
    if (writes < n) {
      if (!isWrite(request, namespace)) return undefined;
      writes += 1;
      return writes === n ? 'answer is lost' : undefined;
    }
    // The first read of the next attempt: by now it is known that the answer was lost, and so committed what was asked.
    if (request.method === 'GET' && request.path.includes(`/namespaces/${namespace}/pods?`)) {
      restarting ??= restart();
    }
    return { answer: 503 };
  };
  return { restarted: () => restarting };
}

async function restart(): Promise<void> {
  await operator.end('SIGKILL');
  proxy.fault = () => undefined;
  operator = await start();
}

function isWrite({ method, path }: ProxiedRequest, namespace: string): boolean {
  return method !== 'GET' && path.includes(`/namespaces/${namespace}/`) && !path.includes('/events');
}

/** What the operator has written to Pods, and the server has accepted. */
function podWritesIn(namespace: string): readonly string[] {
  return apiCallsOf('operator', stack.auditLog)
    .filter(
      ({ objectRef, verb }) =>
        objectRef?.namespace === namespace && objectRef.resource === 'pods' && verb !== 'list',
    )
    .filter(({ responseStatus }) => (responseStatus?.code ?? 500) < 300)
    .map(({ verb }) => verb)
    .sort();
}

/** @returns whether there was an n-th write, and so a kill */
async function scaleUpAndDown(n: number): Promise<boolean> {
  const namespace = (await cluster.createNamespace()).metadata.name;
  const kill = killAfterWrite(n, namespace);
  await cluster.create(POD_SETS, aPodSet().in(namespace).wanting(3).manifest);
  const web = new LivePodSet(cluster, namespace);
  await web.isReady(3);
  await web.scaleTo(1);
  const podSet = await web.isReady(1);
  await temporal.untilCompleted(refOf('pod-set', podSet), WITHIN_MS);
  await kill.restarted();
  proxy.fault = () => undefined;
  const found = { n, writes: podWritesIn(namespace).filter((verb) => verb !== 'get') };
  expect(found).toEqual({ n, writes: ['create', 'create', 'create', 'delete', 'delete'] });
  return kill.restarted() !== undefined;
}

describe('two operators at once', () => {
  it('come to the same end with the same creates and deletes as one', async () => {
    const second = await start();
    expect(await scaleUpAndDown(Infinity)).toBe(false);
    await second.end('SIGTERM');
  });
});

describe('an operator that is killed after any of its writes', () => {
  it('comes to the same end, with as many creates and deletes as one that is not', async () => {
    let n = 1;
    while (await scaleUpAndDown(n)) n += 1;
    // Three creates, two deletes, and a status after each of them.
    expect(n).toBeGreaterThan(7);
  });
});
