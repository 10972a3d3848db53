import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ADMIN } from '../../local/cluster-files.ts';
import { POD_SETS, type PodSet } from '../../src/controllers/pod-set/resource.ts';
import { selectorFor, type Pod } from '../../src/controllers/pod-set/pod.ts';
import { NAMESPACES } from '../../src/controllers/kinds.ts';
import { POD_NAME_LABEL } from '../../src/controllers/pod-label/decide.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { PODS, refOf } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;

const { cluster, temporal } = setUpStage();
const taskQueue = aTaskQueue();
const ARGS = ['--require-approval-over', '20'];
let operator: Operator | undefined;
let namespace: string;

beforeEach(async () => {
  operator ??= await startOperator({ taskQueue, args: ARGS });
  namespace = await cluster.aNamespace();
});

const OUR = 'durable-operator.dev/';
const at = (name = 'web') => ({ type: POD_SETS, namespace, name });
const read = () => cluster.get<PodSet>(at());
const refOfPodSet = (podSet: PodSet) => refOf('pod-set', podSet);

const create = (replicas: number, annotations: Readonly<Record<string, string>> = {}) => {
  const { manifest } = aPodSet().in(namespace).wanting(replicas);
  return cluster.create<PodSet>(POD_SETS, {
    ...manifest,
    metadata: { ...manifest.metadata, annotations: ours(annotations) },
  });
};

const ours = (annotations: Readonly<Record<string, string | null>>) =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [OUR + name, value]));

const annotate = (
  annotations: Readonly<Record<string, string | null>>,
  of: Parameters<typeof cluster.patch>[0] = at(),
) => cluster.patch(of, { metadata: { annotations: ours(annotations) } });

const scaleTo = (replicas: number) => cluster.patch<PodSet>(at(), { spec: { replicas } });

async function pods(): Promise<readonly Pod[]> {
  const path = resourcePath(PODS, { namespace });
  const query = { labelSelector: selectorFor('web') };
  const { items } = await cluster.client.request<{ items: Pod[] }>({ method: 'GET', path, query });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

const conditionOf = (podSet: PodSet | undefined, type: string) =>
  podSet?.status?.conditions?.find((condition) => condition.type === type);

/** Once nothing in it fails. */
const holds = (look: () => Promise<unknown>) =>
  eventually(async () => {
    await look();
    return true as const;
  }, WITHIN_MS);

function eventuallyReady(replicas: number): Promise<PodSet> {
  return eventually(async () => {
    const podSet = await read();
    expect(podSet?.status).toMatchObject({
      readyReplicas: replicas,
      observedGeneration: podSet?.metadata.generation,
    });
    expect(conditionOf(podSet, 'Ready')?.status).toBe('True');
    expect(await pods()).toHaveLength(replicas);
    return podSet;
  }, WITHIN_MS);
}

/** Once its status says so. */
function eventuallyHeld(type: 'Paused' | 'AwaitingApproval'): Promise<PodSet> {
  return eventually(async () => {
    const podSet = await read();
    expect(conditionOf(podSet, type)).toMatchObject({
      status: 'True',
      observedGeneration: podSet?.metadata.generation,
    });
    return podSet;
  }, WITHIN_MS);
}

function planOf(podSet: PodSet): string {
  const { message = '' } = conditionOf(podSet, 'AwaitingApproval') ?? {};
  const [, plan] = /plan (\S+)$/.exec(message) ?? [];
  if (plan === undefined) throw new Error(`no plan in ${message}`);
  return plan;
}

const approve = (plan: string) => annotate({ approved: plan, rejected: null, 'answered-by': ADMIN });

/** Ends the operator as the kernel would, and starts another. */
async function killOperator(): Promise<void> {
  await operator?.end('SIGKILL');
  operator = await startOperator({ taskQueue, args: ARGS });
}

describe('a paused resource', () => {
  it('is left alone, whatever changes, and converges at once when it goes on', async () => {
    await create(2);
    await eventuallyReady(2);
    await annotate({ paused: 'true' });
    await scaleTo(5);
    const podSet = await eventuallyHeld('Paused');
    await scaleTo(4);
    await killOperator();
    await scaleTo(3);
    await eventuallyHeld('Paused');
    expect(await pods()).toHaveLength(2);
    expect(await temporal.runsOf(refOfPodSet(podSet))).toContainEqual(
      expect.objectContaining({ status: 'RUNNING' }),
    );
    await annotate({ paused: null });
    const resumed = await eventuallyReady(3);
    expect(conditionOf(resumed, 'Paused')).toMatchObject({ status: 'False' });
  });

  it('is any in a paused Namespace, and one that is not in its desired state goes on with it', async () => {
    await cluster.patch(
      { type: NAMESPACES, name: namespace },
      { metadata: { annotations: ours({ paused: 'true' }) } },
    );
    await create(2);
    await eventuallyHeld('Paused');
    const pod = await cluster.create(PODS, aPod().in(namespace).named('api').annotated('true').manifest);
    await holds(async () => {
      expect(await temporal.runsOf(refOf('pod-label', pod))).toContainEqual(
        expect.objectContaining({ status: 'RUNNING' }),
      );
    });
    expect(await pods()).toHaveLength(0);
    await cluster.patch(
      { type: NAMESPACES, name: namespace },
      { metadata: { annotations: ours({ paused: null }) } },
    );
    await eventuallyReady(2);
    await holds(async () => {
      const labelled = await cluster.get({ type: PODS, namespace, name: 'api' });
      expect(labelled?.metadata.labels?.[POD_NAME_LABEL]).toBe('api');
    });
  });
});

describe('a requested reconcile', () => {
  it('is repeated in the status, and makes one run', async () => {
    const podSet = await create(1);
    await eventuallyReady(1);
    await holds(async () => {
      const before = await temporal.runsOf(refOfPodSet(podSet));
      expect(before.map(({ status }) => status)).toEqual(before.map(() => 'COMPLETED'));
    });
    await annotate({ 'reconcile-requested-at': '2026-11-22T10:00:00.000Z' });
    await holds(async () => {
      expect((await read())?.status).toMatchObject({ lastHandledReconcileAt: '2026-11-22T10:00:00.000Z' });
    });
  });

  it('of a resource without a status of ours makes a run that finds nothing to do', async () => {
    const pod = await cluster.create(PODS, aPod().in(namespace).named('api').manifest);
    await annotate({ 'reconcile-requested-at': '1' }, { type: PODS, namespace, name: 'api' });
    await holds(async () => {
      expect(await temporal.runsOf(refOf('pod-label', pod))).toContainEqual(
        expect.objectContaining({ status: 'COMPLETED' }),
      );
    });
  });
});

describe('a deletion that has to be approved', () => {
  it('waits, also across a kill, and goes on once it is approved, to its end', async () => {
    await create(30);
    await eventuallyReady(30);
    await scaleTo(3);
    const plan = planOf(await eventuallyHeld('AwaitingApproval'));
    await killOperator();
    await annotate({ 'reconcile-requested-at': '1' });
    await holds(async () => {
      expect((await read())?.status).toMatchObject({ lastHandledReconcileAt: '1' });
    });
    expect(await pods()).toHaveLength(30);
    await approve(plan);
    await eventuallyReady(3);
    await holds(async () => {
      const podSet = await read();
      expect(podSet?.status).toMatchObject({ lastHandledApproval: plan });
      expect(conditionOf(podSet, 'AwaitingApproval')).toMatchObject({ status: 'False' });
    });
  });

  it('is planned anew where the resource changes meanwhile, and an old approval does not count', async () => {
    await create(30);
    await eventuallyReady(30);
    await scaleTo(3);
    const old = planOf(await eventuallyHeld('AwaitingApproval'));
    await scaleTo(5);
    await holds(async () => expect(planOf(await eventuallyHeld('AwaitingApproval'))).not.toBe(old));
    await approve(old);
    await annotate({ 'reconcile-requested-at': '1' });
    await holds(async () => {
      expect((await read())?.status).toMatchObject({ lastHandledReconcileAt: '1' });
    });
    expect(await pods()).toHaveLength(30);
    await scaleTo(29);
    await eventuallyReady(29);
  });

  it('is asked for however little is deleted, where the annotation says so, and a rejection stands', async () => {
    await create(2, { approval: 'required' });
    await eventuallyReady(2);
    await scaleTo(1);
    const plan = planOf(await eventuallyHeld('AwaitingApproval'));
    await annotate({ rejected: plan, 'answered-by': ADMIN, 'answered-because': 'not today' });
    await holds(async () => {
      expect(conditionOf(await read(), 'AwaitingApproval')).toMatchObject({
        reason: 'Rejected',
        message: expect.stringContaining('rejected by admin: not today'),
      });
    });
    expect(await pods()).toHaveLength(2);
    await annotate({ approval: null });
    await eventuallyReady(1);
  });
});
