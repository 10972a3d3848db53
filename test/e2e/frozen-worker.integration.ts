import { afterEach, expect, it, jest } from '@jest/globals';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { PODS, refOf } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aTaskQueue, endOperators, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);
const WITHIN_MS = 120_000;
/** More Pods than a step creates locally. */
const REPLICAS = 20;
/** More than a worker asks for at a time. */
const PODS_BESIDE = Array.from({ length: 20 }, (_, i) => `beside-${i}`);
/** Source: temporal/api/enums/v1/workflow.proto, `TimeoutType`. */
const HEARTBEAT_TIMED_OUT = 4;

const { cluster, temporal, startProxy } = setUpStage();

afterEach(endOperators);

it('what a frozen worker has in hand, and what its polls go on taking, is done by another one', async () => {
  const taskQueue = aTaskQueue();
  const proxy = await startProxy();
  const frozen = await startOperator({ taskQueue, command: 'work', kubeconfig: proxy.kubeconfig });
  await startOperator({ taskQueue, command: 'watch' });
  const isFrozen = frozenInItsFirstPod(frozen, proxy);
  const namespace = await cluster.aNamespace();
  const podSet = await cluster.create(PodSetKind, aPodSet().in(namespace).wanting(REPLICAS).manifest);
  try {
    await isFrozen;
    const frozenMs = Date.now();
    await startOperator({ taskQueue, command: 'work' });
    for (const name of PODS_BESIDE)
      await cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
    await eventually(async () => {
      expect(await namesOf(namespace)).toHaveLength(REPLICAS);
      expect(await labelsOf(namespace, PODS_BESIDE)).toEqual(PODS_BESIDE);
      return true;
    }, WITHIN_MS);
    // For the record, and no condition: the machine may be busy.
    process.stdout.write(`another worker had done it all ${Date.now() - frozenMs} ms after the freeze\n`);
  } finally {
    process.kill(frozen.pid, 'SIGCONT');
  }
  // By its heartbeats that did not come, and not by the time of a whole step.
  const story = await temporal.historyOf(refOf('pod-set', podSet));
  const timeouts = story.map(
    (event) => event.activityTaskStartedEventAttributes?.lastFailure?.timeoutFailureInfo,
  );
  expect(timeouts.map((timeout) => timeout?.timeoutType)).toContain(HEARTBEAT_TIMED_OUT);
});

/** Its process is stopped when it has sent its first write of a Pod, which never arrives. */
function frozenInItsFirstPod(
  { pid }: Operator,
  proxy: Awaited<ReturnType<typeof startProxy>>,
): Promise<void> {
  return new Promise((resolve) => {
    proxy.fault = ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/pods')) return undefined;
      process.kill(pid, 'SIGSTOP');
      resolve();
      return 'no answer';
    };
  });
}

async function namesOf(namespace: string): Promise<readonly string[]> {
  const podSet = await cluster.get({ type: PodSetKind, namespace, name: 'web' });
  return (podSet as { status?: { podNames?: string[] } } | undefined)?.status?.podNames ?? [];
}

async function labelsOf(namespace: string, names: readonly string[]) {
  const pods = await Promise.all(names.map((name) => cluster.get({ type: PODS, namespace, name })));
  return pods.map((pod) => pod?.metadata.labels?.[POD_NAME_LABEL]);
}
