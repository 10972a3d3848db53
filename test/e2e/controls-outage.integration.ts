import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ADMIN } from '../../local/cluster-files.ts';
import {
  ANSWERED_BY_ANNOTATION,
  APPROVED_ANNOTATION,
  RECONCILE_REQUESTED_ANNOTATION,
} from '../../src/contract/control.ts';
import { POD_SETS, type PodSet } from '../../src/controllers/pod-set/resource.ts';
import { refOf, TestCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { startInstalledStack, type InstalledStack } from '../support/installed-stack.ts';
import { LivePodSet } from '../support/live-pod-set.ts';
import {
  aTaskQueue,
  endOperators,
  launchOperator,
  startOperator,
  type OperatorRequest,
} from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { OPERATOR, userNameOf } from '../support/service-accounts.ts';
import { TestTemporal } from '../support/temporal.ts';
import { runsByVersion, versionArguments, WorkerVersions, type Version } from '../support/worker-versions.ts';
import { writesIn } from '../support/writes.ts';

/*
 * An approval that is awaited outlives whoever waits for it: nothing is deleted before it, by the audit log, and exactly
 * the plan after it.
 */

jest.setTimeout(300_000);
const WITHIN_MS = 90_000;

/** Its own: the others need their Temporal. */
let stack: InstalledStack;
let cluster: TestCluster;
let temporal: TestTemporal;
let versions: WorkerVersions;

beforeAll(async () => {
  [stack, versions] = await Promise.all([startInstalledStack(), WorkerVersions.make('pod-set', 'podSet')]);
  cluster = new TestCluster(stack.kubeconfig);
  temporal = new TestTemporal(stack.temporalAddress);
});

afterEach(endOperators);

afterAll(async () => {
  await endOperators();
  await temporal.close();
  await cluster.close();
  await versions.remove();
  await stack.stop();
});

function request(taskQueue: string, ...args: readonly string[]): OperatorRequest {
  const { temporalAddress, operatorKubeconfig: kubeconfig } = stack;
  const all = ['--controllers', 'pod-set', '--require-approval-over', '5', ...args];
  return { temporalAddress, kubeconfig, taskQueue, args: all };
}

/** Scaled down from 12 Pods to 2, and awaiting approval. */
interface Held {
  readonly web: LivePodSet;
  readonly podSet: PodSet;
  readonly plan: string;
}

async function aHeldPodSet(name = 'web'): Promise<Held> {
  const namespace = await cluster.aNamespace();
  const web = new LivePodSet(cluster, namespace, name);
  await cluster.create(POD_SETS, aPodSet().in(namespace).named(name).wanting(12).manifest);
  await web.isReady(12);
  await web.scaleTo(2);
  const plan = await web.awaitedPlan();
  expect(plan).toMatch(/^10-/);
  const podSet = await web.isHeld('AwaitingApproval');
  return { web, podSet, plan };
}

function annotate({ at }: LivePodSet, annotations: Readonly<Record<string, string>>) {
  return cluster.patch(at, { metadata: { annotations } });
}

const approve = ({ web, plan }: Held) =>
  annotate(web, { [APPROVED_ANNOTATION]: plan, [ANSWERED_BY_ANNOTATION]: ADMIN });

/** The names of the Pods that the operator has deleted. */
function deletedIn({ at: { namespace } }: LivePodSet): readonly string[] {
  const operator = userNameOf(OPERATOR);
  return writesIn(namespace, stack.auditLog)
    .filter(({ user, isDryRun }) => user === operator && !isDryRun)
    .flatMap(({ write }) => /^delete pods\/(\S+)/.exec(write)?.[1] ?? []);
}

/** Once the operator has looked at it again, nothing is deleted, and the plan is the same. */
async function expectStillHeld({ web, plan }: Held, occasion: string): Promise<void> {
  await annotate(web, { [RECONCILE_REQUESTED_ANNOTATION]: occasion });
  await eventually(async () => {
    expect((await web.get())?.status).toMatchObject({ lastHandledReconcileAt: occasion });
    return true;
  }, WITHIN_MS);
  expect(deletedIn(web)).toEqual([]);
  expect(await web.podNames()).toHaveLength(12);
  expect(await web.awaitedPlan()).toBe(plan);
}

async function expectPlanDone({ web, podSet, plan }: Held): Promise<void> {
  const { status } = await web.isReady(2);
  await eventually(async () => {
    const runs = await temporal.runsOf(refOf('pod-set', podSet));
    expect((await web.get())?.status).toMatchObject({ lastHandledApproval: plan });
    return runs.every(({ status: end }) => end !== 'RUNNING');
  }, WITHIN_MS);
  const deleted = deletedIn(web);
  expect(deleted).toHaveLength(10);
  expect(new Set([...deleted, ...(status?.podNames ?? [])]).size).toBe(12);
}

describe('an approval that is awaited while Temporal is away and the operator is killed', () => {
  it('is still awaited afterwards, and counts where it was given meanwhile', async () => {
    const taskQueue = aTaskQueue();
    const first = await startOperator(request(taskQueue));
    const [later, meanwhile] = [await aHeldPodSet('later'), await aHeldPodSet('meanwhile')];
    await stack.stopServer('temporal');
    await first.end('SIGKILL');
    const second = await launchOperator(request(taskQueue));
    await approve(meanwhile);
    await eventually(
      () => second.logs.some(({ msg }) => /Temporal .* cannot be reached/.test(String(msg))),
      WITHIN_MS,
    );
    expect([...deletedIn(later.web), ...deletedIn(meanwhile.web)]).toEqual([]);
    await stack.startServer('temporal');
    await expectPlanDone(meanwhile);
    await expectStillHeld(later, '1');
    await second.end('SIGKILL');
    await startOperator(request(taskQueue));
    await expectStillHeld(later, '2');
    await approve(later);
    await expectPlanDone(later);
  });
});

describe('an approval that is awaited while the worker version changes', () => {
  const start = (version: Version, taskQueue: string) =>
    startOperator({
      ...request(taskQueue, ...versionArguments(version, taskQueue)),
      program: versions.programOf(version),
    });

  it('is given to the run that has waited for it, on its own version', async () => {
    const taskQueue = aTaskQueue();
    const deployment = { taskQueue, temporalAddress: stack.temporalAddress };
    await start('ours', taskQueue);
    await versions.promote('ours', deployment);
    const held = await aHeldPodSet();
    await start('changed', taskQueue);
    await versions.promote('changed', deployment);
    await expectStillHeld(held, '1');
    await approve(held);
    await expectPlanDone(held);
    const runs = await runsByVersion(temporal, refOf('pod-set', held.podSet));
    expect(runs.at(-1)).toBe('COMPLETED on ours');
  });

  it('is awaited anew by a run of the new version, where that takes over', async () => {
    const taskQueue = aTaskQueue();
    const deployment = { taskQueue, temporalAddress: stack.temporalAddress };
    const before = await start('ours', taskQueue);
    await versions.promote('ours', deployment);
    const held = await aHeldPodSet();
    await before.end('SIGTERM');
    await start('changed', taskQueue);
    await versions.promote('changed', deployment, '--move-open-runs');
    await expectStillHeld(held, '1');
    await approve(held);
    await expectPlanDone(held);
    const runs = await runsByVersion(temporal, refOf('pod-set', held.podSet));
    expect(runs.slice(-2)).toEqual(['TERMINATED on ours', 'COMPLETED on changed']);
  });
});
