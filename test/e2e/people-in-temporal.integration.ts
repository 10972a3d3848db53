import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { workflowIdFor } from '../../src/api/resource-ref.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet, aPodSet } from '../support/pod-sets.ts';
import { ask, expectGolden, normalized } from '../support/asking.ts';
import { refOf, type At } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { LivePodSet } from '../support/live-pod-set.ts';
import { aTaskQueue } from '../support/operator.ts';
import { limitPods } from '../support/pod-quota.ts';
import { setUpOperator } from '../support/stage.ts';
import { operatorWritesIn } from '../support/writes.ts';

/*
 * What people do to runs and steps in Temporal's UI, by the requests that the UI sends.
 */

jest.setTimeout(240_000);
const WITHIN_MS = 120_000;
const MANY = 150;
const UI = ['--temporal-ui-url', 'http://localhost:8233'];
const ALICE = 'alice@example.com';

const taskQueue = aTaskQueue();
const { stack, cluster, temporal } = setUpOperator({
  taskQueue,
  args: ['--controllers', 'pod-set', ...UI],
});
const { workflow, workflowService } = temporal.client;
let namespace: string;
let web: LivePodSet;
let workflowId: string;

beforeEach(async () => {
  namespace = await cluster.aNamespace();
  web = new LivePodSet(cluster, namespace);
});

async function create(replicas: number): Promise<PodSet> {
  const podSet = await cluster.create<PodSet>(PodSetKind, aPodSet().in(namespace).wanting(replicas).manifest);
  workflowId = workflowIdFor(refOf('pod-set', podSet));
  return podSet;
}

const execution = () => ({ namespace: 'default', execution: { workflowId } });
const describeRun = () => workflowService.describeWorkflowExecution(execution());

/** From its first task on, as the UI offers it. */
async function reset(): Promise<void> {
  const { events } = await workflow.getHandle(workflowId).fetchHistory();
  const first = events?.find((event) => event.workflowTaskCompletedEventAttributes);
  await workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId },
    workflowTaskFinishEventId: first?.eventId ?? null,
    requestId: crypto.randomUUID(),
    reason: 'by hand',
  });
}

const ENDS: readonly (readonly [what: string, status: string, act: () => Promise<unknown>])[] = [
  ['terminates', 'TERMINATED', () => workflow.getHandle(workflowId).terminate('by hand')],
  ['cancels', 'CANCELLED', () => workflow.getHandle(workflowId).cancel()],
  ['resets', 'TERMINATED', reset],
];

/** Whoever fails here has created something twice, or left a run open. */
async function expectDoneOnce(podSet: PodSet, replicas: number): Promise<void> {
  await web.isReady(replicas);
  const ref = refOf('pod-set', podSet);
  await eventually(async () => {
    const statuses = (await temporal.runsOf(ref)).map(({ status }) => status);
    expect(statuses).not.toContain('RUNNING');
    expect(statuses.at(-1)).toBe('COMPLETED');
    return true;
  }, WITHIN_MS);
  const writes = operatorWritesIn(namespace, stack.auditLog, 'pods').map(({ verb }) => verb);
  expect(writes).toEqual(Array.from({ length: replicas }, () => 'create'));
}

const STARTED = 2;
const PAUSED = 4;

/** The step that a quota refuses, while it is not in progress. A change of the Pods may call it anew under another id. */
async function pendingStep(): Promise<{ readonly id: string; readonly isPaused: boolean }> {
  const [pending] = (await describeRun()).pendingActivities;
  const state = Number(pending?.state);
  if (!pending?.lastFailure || state === STARTED) throw new Error('no step is in backoff');
  return { id: pending.activityId ?? '', isPaused: state === PAUSED };
}

async function inBackoff(replicas: number): Promise<{ podSet: PodSet; quota: At }> {
  const quota = await limitPods(cluster, namespace, 3);
  const podSet = await create(replicas);
  await eventually(pendingStep, WITHIN_MS);
  return { podSet, quota };
}

const raise = (quota: At) => cluster.patch(quota, { spec: { hard: { pods: '50' } } });

describe.each(ENDS)('a run that somebody %s', (_, status, act) => {
  it('in mid-work is followed by another, and no Pod is created twice', async () => {
    const podSet = await create(MANY);
    await eventually(async () => (await web.pods()).length > 0, WITHIN_MS);
    await act();
    await expectDoneOnce(podSet, MANY);
    expect((await temporal.runsOf(refOf('pod-set', podSet))).map((run) => run.status)).toContain(status);
  });

  it('in backoff is followed by another', async () => {
    const { podSet, quota } = await inBackoff(12);
    const { runId } = await workflow.getHandle(workflowId).describe();
    await act();
    await eventually(async () => {
      const latest = await workflow.getHandle(workflowId).describe();
      return latest.runId !== runId && latest.status.name === 'RUNNING';
    }, WITHIN_MS);
    await raise(quota);
    await expectDoneOnce(podSet, 12);
  });
});

async function why(): Promise<string> {
  const { stdout } = await ask(['why', 'podset/web', '-n', namespace, '--task-queue', taskQueue, ...UI]);
  return normalized(stdout, { [namespace]: 'shop', [taskQueue]: 'durable-operator' });
}

describe('a step that somebody pauses', () => {
  async function pause(): Promise<void> {
    const { id, isPaused } = await pendingStep();
    const by = { identity: ALICE, reason: 'the quota is about to change' };
    if (!isPaused) await workflowService.pauseActivity({ ...execution(), id, ...by });
  }

  async function unpause(): Promise<void> {
    const { id, isPaused } = await pendingStep();
    if (isPaused) await workflowService.unpauseActivity({ ...execution(), id, identity: ALICE });
  }

  it('does not run until it is unpaused; why names the person and the command', async () => {
    const { podSet, quota } = await inBackoff(12);
    await eventually(async () => {
      await pause();
      const text = await why();
      expect(text).toContain('is paused in Temporal');
      expectGolden('why-step-paused-in-temporal', text);
      const { stdout } = await ask(['get', 'podsets', '-n', namespace, '--task-queue', taskQueue]);
      expect(stdout).toMatch(/podset\/web .* Paused .*paused in Temporal by alice@example.com/);
      return true;
    }, WITHIN_MS);
    await eventually(async () => {
      await unpause();
      expect(await why()).toContain('is retrying');
      return true;
    }, WITHIN_MS);
    await raise(quota);
    await expectDoneOnce(podSet, 12);
  });
});

const isDeployed = process.env['TEST_TEMPORAL'] === 'deployed';

(isDeployed ? describe : describe.skip)('a run that somebody pauses', () => {
  const by = () => ({ namespace: 'default', workflowId, identity: ALICE, requestId: crypto.randomUUID() });

  async function runIdsOf(podSet: PodSet): Promise<readonly string[]> {
    const query = `WorkflowId = "${workflowIdFor(refOf('pod-set', podSet))}"`;
    const { executions } = await workflowService.listWorkflowExecutions({ namespace: 'default', query });
    return executions.map(({ execution: run }) => run?.runId ?? '');
  }

  beforeAll(async () => {
    const { namespaceInfo } = await workflowService.describeNamespace({ namespace: 'default' });
    expect(namespaceInfo?.capabilities?.workflowPause).toBe(true);
  });

  it('stays the only one of its resource, and continues once it is unpaused', async () => {
    const { podSet, quota } = await inBackoff(12);
    await workflowService.pauseWorkflowExecution({ ...by(), reason: 'the quota is about to change' });
    await eventually(async () => {
      const text = await why();
      expect(text).toMatch(/is paused in Temporal[^]*ago by alice@example.com: the quota is about to change/);
      expect(text).toContain('temporal workflow unpause --namespace default --workflow-id pod-set/shop/web/');
      return true;
    }, WITHIN_MS);
    await raise(quota);
    expect(await runIdsOf(podSet)).toHaveLength(1);
    await workflowService.unpauseWorkflowExecution({ ...by(), reason: 'it has changed' });
    await expectDoneOnce(podSet, 12);
    // The Pods are created by the run that was paused. Another one may report later that they are ready.
    const [first] = await temporal.runsOf(refOf('pod-set', podSet));
    expect(first).toMatchObject({ status: 'COMPLETED', result: expect.stringContaining('created 12 Pods') });
  });
});
