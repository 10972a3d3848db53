import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/decide.ts';
import { POD_SETS } from '../../src/controllers/pod-set/resource.ts';
import { PODS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { apiCallsOf, startOperator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(180_000);
const WITHIN_MS = 120_000;

const { stack, cluster } = setUpStage();
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
});

async function createPods(prefix: string, count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  await Promise.all(
    names.map((name) => cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest)),
  );
  return names;
}

function eventuallyLabelled(names: readonly string[]): Promise<true> {
  return eventually(async () => {
    const pods = await Promise.all(names.map((name) => cluster.get({ type: PODS, namespace, name })));
    expect(pods.map((pod) => pod?.metadata.labels?.[POD_NAME_LABEL])).toEqual(names);
    return true as const;
  }, WITHIN_MS);
}

describe('an operator with as little at once as there can be', () => {
  it('brings everything into its desired state, one after the other', async () => {
    const operator = await startOperator({
      args: [
        ...['--workflow-slots=2', '--activity-slots=1', '--local-activity-slots=1', '--starts-in-flight=1'],
        `--namespaces=${namespace}`,
      ],
    });
    // More than one batch of them is a durable step.
    await cluster.create(POD_SETS, aPodSet().in(namespace).named('web').wanting(25).manifest);
    await eventuallyLabelled(await createPods('one', 20));
    await eventually(async () => {
      const podSet = await cluster.get({ type: POD_SETS, namespace, name: 'web' });
      expect(podSet?.['status']).toMatchObject({ readyReplicas: 25 });
      return true;
    }, WITHIN_MS);
    await operator.end('SIGTERM');
  });
});

describe('a limit of requests per second', () => {
  const [qps, burst] = [10, 5];

  it('is kept, and everything converges', async () => {
    const began = Date.now();
    await startOperator({
      args: [`--kube-api-qps=${qps}`, `--kube-api-burst=${burst}`, `--namespaces=${namespace}`],
    });
    await eventuallyLabelled(await createPods('limited', 40));
    const times = apiCallsOf('operator', stack.auditLog)
      .map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp))
      .filter((ms) => ms >= began)
      .sort((a, b) => a - b);
    expect(times.length).toBeGreaterThan(40);
    const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000;
    // A second more, since requests take different times to arrive.
    expect(times.length).toBeLessThanOrEqual(burst + qps * (seconds + 1));
  });
});
