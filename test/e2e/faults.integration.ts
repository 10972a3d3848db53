import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/api/object.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PODS, refOf } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import type { FaultProxy } from '../support/fault-proxy.ts';
import { aTaskQueue, endOperators, ownLogs, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { setUpStage } from '../support/stage.ts';
import { kindOf } from '../support/workflow-world.ts';
import { operatorWritesIn } from '../support/writes.ts';

jest.setTimeout(180_000);
/** Faults are over; nothing of ours waits longer. */
const CONVERGED_WITHIN_MS = 60_000;

const { stack, cluster, temporal, startProxy } = setUpStage();
let namespace: string;
let taskQueue: string;

beforeEach(async () => {
  taskQueue = aTaskQueue();
  namespace = await cluster.aNamespace();
});

afterEach(endOperators);

function start(kubeconfig = stack.operatorKubeconfig, args: readonly string[] = []): Promise<Operator> {
  return startOperator({ kubeconfig, taskQueue, args });
}

const at = (name: string) => ({ type: PODS, namespace, name });
const create = (name: string) => cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
const labelOf = async (name: string) => (await cluster.get(at(name)))?.metadata.labels?.[POD_NAME_LABEL];
const storyOf = async (pod: KubernetesObject) =>
  (await temporal.historyOf(refOf('pod-label', pod))).map(kindOf);
/** How long each timer of the run was set for, in seconds. */
const timersOf = async (pod: KubernetesObject) =>
  (await temporal.historyOf(refOf('pod-label', pod))).flatMap(({ timerStartedEventAttributes: timer }) =>
    timer?.startToFireTimeout ? [Number(timer.startToFireTimeout.seconds)] : [],
  );

function eventuallyLabelled(names: readonly string[]): Promise<true> {
  return eventually(async () => {
    expect(await Promise.all(names.map(labelOf))).toEqual(names);
    return true as const;
  }, CONVERGED_WITHIN_MS);
}

function eventuallyOver(pod: KubernetesObject): Promise<void> {
  return temporal.untilCompleted(refOf('pod-label', pod), CONVERGED_WITHIN_MS);
}

/** What the operator has written and the server has accepted: `patch web-1`. */
function writesIn(where: string, resource: string): string[] {
  const writes = operatorWritesIn(where, stack.auditLog, resource);
  return writes.map(({ verb, name }) => `${verb} ${name}`).sort();
}

/** For a label: it gets an Event that says so. */
const TOO_LONG = 'w'.repeat(64);
const names = (count: number) => Array.from({ length: count }, (_, i) => `web-${String(i).padStart(2, '0')}`);

describe('an operator that is asked to stop', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s finishes its steps, and exits with status 0',
    async (signal) => {
      const operator = await start();
      const all = names(5);
      const pods = await Promise.all(all.map(create));
      expect(await operator.end(signal)).toBe(0);
      expect(operator.logs.at(-1)).toMatchObject({ msg: 'stopped' });
      await start();
      await eventuallyLabelled(all);
      for (const pod of pods) await eventuallyOver(pod);
      expect(writesIn(namespace, 'pods')).toEqual(all.map((name) => `patch ${name}`));
    },
  );
});

describe('an API server', () => {
  let proxy: FaultProxy;
  let operator: Operator;

  beforeEach(async () => {
    proxy = await startProxy();
    operator = await start(proxy.kubeconfig);
  });

  const patches = () => proxy.requests.filter(({ method }) => method === 'PATCH').length;

  it('that answers 429 with Retry-After gets no request until a durable timer of that time has fired', async () => {
    proxy.fault = ({ method }) =>
      method === 'PATCH' && patches() === 1 ? { answer: 429, retryAfterSeconds: 2 } : undefined;
    const pod = await create('web');
    await eventuallyLabelled(['web']);
    await eventuallyOver(pod);
    expect(await timersOf(pod)).toEqual([2]);
    const story = await storyOf(pod);
    expect(story).toContain('timerFired');
    expect(story.lastIndexOf('markerRecorded')).toBeGreaterThan(story.indexOf('timerFired'));
    expect(patches()).toBe(2);
  });

  it('that asks for a wait of an hour gets a request after five minutes, whatever changes', async () => {
    proxy.fault = ({ method }) => (method === 'PATCH' ? { answer: 503, retryAfterSeconds: 3600 } : undefined);
    const pod = await create('web');
    await eventually(async () => (await storyOf(pod)).includes('timerStarted'), CONVERGED_WITHIN_MS);
    await cluster.patch(at('web'), {
      metadata: { annotations: { [POD_NAME_ANNOTATION]: null }, labels: { [POD_NAME_LABEL]: 'web' } },
    });
    await eventually(
      async () => (await storyOf(pod)).includes('workflowExecutionSignaled'),
      CONVERGED_WITHIN_MS,
    );
    await create('next');
    await eventually(() => patches() === 2, CONVERGED_WITHIN_MS);
    expect(await labelOf('web')).toBe('web');
    expect(await storyOf(pod)).not.toContain('timerCanceled');
    expect(await timersOf(pod)).toEqual([300]);
  });

  it('that does not answer does not keep the operator from ending with status 0', async () => {
    const unanswered = { label: 0, event: 0 };
    proxy.fault = ({ path }) => {
      const isEvent = path.includes(`/namespaces/${namespace}/events`);
      if (!isEvent && !path.includes(`/namespaces/${namespace}/pods/web`)) return undefined;
      unanswered[isEvent ? 'event' : 'label'] += 1;
      return 'no answer';
    };
    await create('web');
    await create(TOO_LONG);
    // Once locally, and once durably.
    await eventually(() => unanswered.label >= 2 && unanswered.event >= 1, CONVERGED_WITHIN_MS);
    expect(await operator.end('SIGTERM')).toBe(0);
    expect(ownLogs(operator, 'error')).toEqual([]);
    expect(operator.logs.at(-1)).toMatchObject({ msg: 'stopped' });
  });
});
