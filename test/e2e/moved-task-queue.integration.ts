import { expect, it, jest } from '@jest/globals';
import type { ResourceRef } from '../../src/api/resource-ref.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet, aPodSet } from '../support/pod-sets.ts';
import { RunReader } from '../../src/temporal/run-reader.ts';
import { eventually } from '../../testing/eventually.ts';
import { ask } from '../support/asking.ts';
import { refOf } from '../support/cluster.ts';
import { LivePodSet } from '../support/live-pod-set.ts';
import { aTaskQueue, startOperator } from '../support/operator.ts';
import { limitPods } from '../support/pod-quota.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(420_000);
const WITHIN_MS = 60_000;
/** Ninety seconds without a poll, and then the watcher's next look. */
const TAKEN_WITHIN_MS = 300_000;
const PAUSED = 'durable-operator.dev/paused';

const { cluster, temporal } = setUpStage();
const startOn = (taskQueue: string) => startOperator({ taskQueue, args: ['--controllers', 'pod-set'] });

const reader = new RunReader({ namespace: 'default', call: (work) => work(temporal.client) });

async function describeRun(ref: ResourceRef) {
  const { runId, taskQueue, status, runState, pending = [] } = (await reader.describe(ref)) ?? {};
  return { runId, taskQueue, status, runState, steps: pending.map(({ step }) => step) };
}

it('a run that waits goes on after the task queue has changed, and one in progress is told by why -A', async () => {
  const [old, moved] = [aTaskQueue(), aTaskQueue()];
  const before = await startOn(old);
  const held = await cluster.aNamespace();
  const small = await cluster.aNamespace();
  await limitPods(cluster, small, 3);
  const { metadata, ...rest } = aPodSet().in(held).wanting(2).manifest;
  const annotated = { ...metadata, annotations: { [PAUSED]: 'true' } };
  const paused = await cluster.create<PodSet>(PodSetKind, { ...rest, metadata: annotated });
  const failing = await cluster.create<PodSet>(PodSetKind, aPodSet().in(small).wanting(5).manifest);
  const [ofPaused, ofFailing] = [refOf('pod-set', paused), refOf('pod-set', failing)];
  const first = await eventually(async () => {
    const run = await describeRun(ofPaused);
    expect(run).toMatchObject({ runState: 'Paused' });
    return run;
  }, WITHIN_MS);
  const retried = await eventually(async () => {
    const run = await describeRun(ofFailing);
    expect(run.steps).toEqual(['createPods']);
    return run;
  }, WITHIN_MS);

  await before.end('SIGTERM');
  const operator = await startOn(moved);

  await eventually(async () => {
    expect(await describeRun(ofPaused)).toMatchObject({
      taskQueue: moved,
      status: 'RUNNING',
      runState: 'Paused',
    });
    return true;
  }, TAKEN_WITHIN_MS);
  const history = await temporal.historyOf(ofPaused, first.runId);
  expect(history.at(-1)?.workflowExecutionTerminatedEventAttributes?.reason).toBe(
    `nobody polls task queue "${old}"; the operator has moved to task queue "${moved}"`,
  );
  await cluster.patch(
    { type: PodSetKind, namespace: held, name: paused.metadata.name },
    { metadata: { annotations: { [PAUSED]: null } } },
  );
  await new LivePodSet(cluster, held).isReady(2);

  expect(await describeRun(ofFailing)).toMatchObject({ ...retried, status: 'RUNNING' });
  const { stdout } = await ask(['why', '-A', '--task-queue', moved]);
  expect(stdout).toContain(`1 open run is on task queue "${old}", which no worker has polled since`);
  expect((await operator.readiness()).status).toBe(200);
});
