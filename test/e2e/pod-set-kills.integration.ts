import { describe, expect, it, jest } from '@jest/globals';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { refOf } from '../support/cluster.ts';
import type { ProxiedRequest } from '../support/fault-proxy.ts';
import { LivePodSet } from '../support/live-pod-set.ts';
import { aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { setUpStage } from '../support/stage.ts';
import { operatorWritesIn } from '../support/writes.ts';

jest.setTimeout(240_000);
const WITHIN_MS = 90_000;

const { stack, cluster, temporal, startProxy } = setUpStage();

/** An operator of one namespace, which is killed after its n-th write there, and started again. */
class KilledOperator {
  readonly namespace: string;
  /** Resolves once the operator is there again; undefined: it was not killed. */
  restarting: Promise<void> | undefined;
  readonly #start: () => Promise<Operator>;
  #operator: Operator | undefined;
  #isKilled = false;

  private constructor(namespace: string, start: () => Promise<Operator>) {
    this.namespace = namespace;
    this.#start = start;
  }

  /** The n-th write is committed, its answer is lost, and nothing that is asked afterwards is done. */
  static async killedAfterWrite(n: number): Promise<KilledOperator> {
    const namespace = await cluster.aNamespace();
    const proxy = await startProxy();
    const args = ['--controllers', 'pod-set', '--namespaces', namespace];
    const request = { kubeconfig: proxy.kubeconfig, taskQueue: aTaskQueue(), args };
    const killed = new KilledOperator(namespace, () => startOperator(request));
    let writes = 0;
    proxy.fault = (asked) => {
      if (killed.#isKilled) return undefined;
      if (writes < n) {
        if (!isWriteIn(namespace, asked)) return undefined;
        writes += 1;
        return writes === n ? 'answer is lost' : undefined;
      }
      // The operator reads again once it knows that the answer was lost. By then, the server has committed the write.
      const isNextAttempt = asked.method === 'GET' && asked.path.includes(`/namespaces/${namespace}/pods?`);
      if (isNextAttempt) killed.restarting ??= killed.#restart();
      return { answer: 503 };
    };
    killed.#operator = await killed.#start();
    return killed;
  }

  start(): Promise<Operator> {
    return this.#start();
  }

  async end(): Promise<void> {
    await this.#operator?.end('SIGTERM');
  }

  async #restart(): Promise<void> {
    await this.#operator?.end('SIGKILL');
    this.#isKilled = true;
    this.#operator = await this.#start();
  }
}

function isWriteIn(namespace: string, { method, path }: ProxiedRequest): boolean {
  return method !== 'GET' && path.includes(`/namespaces/${namespace}/`) && !path.includes('/events');
}

async function expectScaledUpAndDownOnce(operator: KilledOperator): Promise<void> {
  const { namespace } = operator;
  await cluster.create(PodSetKind, aPodSet().in(namespace).wanting(3).manifest);
  const web = new LivePodSet(cluster, namespace);
  await web.isReady(3);
  await web.scaleTo(1);
  const podSet = await web.isReady(1);
  await temporal.untilCompleted(refOf('pod-set', podSet), WITHIN_MS);
  await operator.restarting;
  const writes = operatorWritesIn(namespace, stack.auditLog, 'pods').map(({ verb }) => verb);
  expect(writes.toSorted()).toEqual(['create', 'create', 'create', 'delete', 'delete']);
}

describe('a PodSet that is scaled up and down has each Pod created and deleted once', () => {
  it.concurrent('by two operators at once', async () => {
    const first = await KilledOperator.killedAfterWrite(Infinity);
    const second = await first.start();
    await expectScaledUpAndDownOnce(first);
    await Promise.all([first.end(), second.end('SIGTERM')]);
  });

  // There are three creates, two deletes, and the statuses.
  it.concurrent.each([1, 2, 3, 4, 5, 6, 7])('by an operator that is killed after write %i', async (n) => {
    const operator = await KilledOperator.killedAfterWrite(n);
    await expectScaledUpAndDownOnce(operator);
    expect(operator.restarting).toBeDefined();
    await operator.end();
  });
});
