import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ADMIN } from '../../local/cluster-files.ts';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet, aPodSet } from '../support/pod-sets.ts';
import { refOf, type At } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { conditionOf, LivePodSet } from '../support/live-pod-set.ts';
import { aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { limitPods } from '../support/pod-quota.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;

const { cluster, temporal } = setUpStage();
const taskQueue = aTaskQueue();
const ARGS = ['--require-approval-over', '20'];
let operator: Operator | undefined;
let namespace: string;
/** In that namespace, once a test has created it. */
let web: LivePodSet;

beforeEach(async () => {
  operator ??= await startOperator({ taskQueue, args: ARGS });
  namespace = await cluster.aNamespace();
  web = new LivePodSet(cluster, namespace);
});

const OUR = 'durable-operator.dev/';
const refOfPodSet = (podSet: PodSet) => refOf('pod-set', podSet);

const create = (replicas: number, annotations: Readonly<Record<string, string>> = {}) => {
  const { manifest } = aPodSet().in(namespace).wanting(replicas);
  return cluster.create<PodSet>(PodSetKind, {
    ...manifest,
    metadata: { ...manifest.metadata, annotations: ours(annotations) },
  });
};

const ours = (annotations: Readonly<Record<string, string | null>>) =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [OUR + name, value]));

const annotate = (annotations: Readonly<Record<string, string | null>>, of: At = web.at) =>
  cluster.patch(of, { metadata: { annotations: ours(annotations) } });

/** Once nothing in it fails. */
const holds = (look: () => Promise<unknown>) =>
  eventually(async () => {
    await look();
    return true as const;
  }, WITHIN_MS);

const approve = (plan: string) => annotate({ approved: plan, rejected: null, 'answered-by': ADMIN });

/** Ends the operator as the kernel would, and starts another. */
async function killOperator(): Promise<void> {
  await operator?.end('SIGKILL');
  operator = await startOperator({ taskQueue, args: ARGS });
}

describe('a deletion that has to be approved', () => {
  it('waits for the approval, even if the operator is killed', async () => {
    await create(30);
    await web.isReady(30);
    await web.scaleTo(3);
    const plan = await web.awaitedPlan();
    await killOperator();
    await annotate({ 'reconcile-requested-at': '1' });
    await holds(async () => {
      expect((await web.get())?.status).toMatchObject({ lastHandledReconcileAt: '1' });
    });
    expect(await web.pods()).toHaveLength(30);
    await approve(plan);
    await web.isReady(3);
    await holds(async () => {
      const podSet = await web.get();
      expect(podSet?.status).toMatchObject({ lastHandledApproval: plan });
      expect(conditionOf(podSet, 'AwaitingApproval')).toMatchObject({ status: 'False' });
    });
  });
});

describe('a backoff', () => {
  it('survives a restart of the operator; a change ends it', async () => {
    await limitPods(cluster, namespace, 2);
    const ref = refOfPodSet(await create(3));
    const attempt = await eventually(async () => {
      const [pending] = (await temporal.openRunOf(ref)).pendingActivities;
      return pending?.type === 'createPods' && pending.attempt >= 3 && pending.attempt;
    }, WITHIN_MS);
    const before = await eventsOf(ref);
    await killOperator();
    await holds(async () => expect((await eventsOf(ref)).signals).toBeGreaterThan(before.signals));
    await holds(async () => {
      const [pending] = (await temporal.openRunOf(ref)).pendingActivities;
      expect(pending?.attempt).toBeGreaterThan(attempt);
    });
    expect((await eventsOf(ref)).activities).toBe(before.activities);
    await web.scaleTo(2);
    await web.isReady(2);
  });

  /** How often the open run was signalled, and how many activities it has scheduled. */
  async function eventsOf(ref: ResourceRef) {
    const history = await temporal.historyOf(ref);
    const activities = history.filter((event) => event.activityTaskScheduledEventAttributes).length;
    const signals = history.filter((event) => event.workflowExecutionSignaledEventAttributes).length;
    return { activities, signals };
  }
});
