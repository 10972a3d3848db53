import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  allow,
  defineController,
  defineKind,
  PODS,
  type Decision,
  type KubernetesObject,
} from 'durable-operator';
import { definedController } from '../../src/engine/defined-controller.ts';
import type { AnyDefinition } from '../../src/engine/definition.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';

/** What a decision says of a rest, and is told of a refusal; and what a step makes of what the server answers. */

const Task = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Task', description: 'Pods to be run.' },
  spec: z.object({ pods: z.int().default(1) }),
  status: z.object({ refused: z.string().optional() }),
});
const OWNED = { ...PODS, ownerOf: 'task', view: ({ metadata }: { metadata: PodMeta }) => podOf(metadata) };

interface PodMeta {
  readonly name: string;
  readonly uid: string;
  readonly deletionTimestamp?: string;
}

function podOf({ name, uid, deletionTimestamp }: PodMeta) {
  return { name, uid, isGoing: deletionTimestamp !== undefined };
}

type Owned = ReturnType<typeof podOf>;

const task = defineController({
  name: 'task',
  for: Task,
  owns: [OWNED],
  lookups: { going: { read: ({ owned }) => Promise.resolve(owned.filter(({ isGoing }) => isGoing).length) } },
  steps: {
    start: {
      summary: 'create the Pods',
      async run({ kube, resource: { metadata, spec }, owned, each }) {
        const { namespace, name } = metadata;
        const names = Array.from(
          { length: spec.pods - owned.length },
          (_, i) => `${name}-${owned.length + i}`,
        );
        return each(names, async (pod) => {
          await kube.create(PODS, { metadata: { namespace, name: pod, labels: { task: name } } });
          return `created Pod ${pod}`;
        });
      },
    },
    stop: {
      summary: 'delete the Pods',
      deletes: (_, pods: readonly Owned[]) => ({ what: 'Pod', count: pods.length, objects: () => pods }),
      async run({ kube, resource: { metadata }, each }, pods: readonly Owned[]) {
        const did = await each(pods, async ({ name, uid }) => {
          await kube.delete({ type: PODS, namespace: metadata.namespace, name }, { uid });
          return `deleted Pod ${name}`;
        });
        return { message: `${did}, as there were too many`, event: { reason: 'Stopped', action: 'Stop' } };
      },
    },
  },
  decide({ resource: { spec }, owned, lookups }, next): Decision {
    if (owned.length < spec.pods) return next.reason('Starting', next.do.start('Pods are missing'));
    const surplus = owned.slice(spec.pods).filter(({ isGoing }) => !isGoing);
    if (surplus.length > 0) return next.do.stop('there are too many', surplus);
    return owned.length > spec.pods && lookups.going !== undefined
      ? next.wait('the Pods to go', { recheckAfter: '1m' })
      : next.converged('all run');
  },
  status: ({ refused }) => ({ refused: refused?.cause.reason }),
  permissions: [allow(PODS, ['create', 'delete'])],
});

/** One that rests with this decision. */
function resting(decision: (next: Parameters<NonNullable<(typeof task)['decide']>>[1]) => Decision) {
  return new AuthorWorld(
    defineController({ ...task, decide: (_, next) => decision(next) }) as AnyDefinition,
    { types: [PODS], spec: {} },
  );
}

const SLOW = { reason: 'Slow', message: 'the Pods are slow', advice: [] };

describe('next.converged', () => {
  it('that is not ready yet is decided again without a run, and is on its way until then', async () => {
    const world = resting((next) => next.converged('it starts', { notReady: SLOW, recheckAfter: '1m' }));
    await world.run();
    expect(world.condition('Ready')).toMatchObject({ status: 'False', reason: 'Slow' });
    expect(world.condition('Reconciling')).toMatchObject({ status: 'True', reason: 'Slow' });
    expect(world.watched().decision).toMatchObject({ do: 'converged', recheckMs: 60_000 });
  });

  it('that is not ready, and no more than that, leaves it to a person, with an Event', async () => {
    const world = resting((next) => next.converged('it is slow', { notReady: SLOW, action: 'Start' }));
    await world.run();
    expect(world.condition('Reconciling')).toMatchObject({ status: 'False', reason: 'NotReady' });
    expect(world.watched().decision).toMatchObject({ event: { reason: 'Slow', action: 'Start' } });
  });

  it.each<[what: string, definition: object, more: object]>([
    ['without notReady', {}, { recheckAfter: '1m' }],
    [
      'the controller has observe',
      { observe: () => Promise.resolve(1) },
      { notReady: SLOW, recheckAfter: '1m' },
    ],
  ])('with recheckAfter is a mistake: %s', async (why, more, options) => {
    const definition = {
      ...task,
      ...more,
      decide: (_: unknown, next: { converged: (...its: unknown[]) => unknown }) =>
        next.converged('it starts', options),
    };
    const world = new AuthorWorld(definition as unknown as AnyDefinition, { types: [PODS], spec: {} });
    await world.run();
    expect(world.condition('Ready')).toMatchObject({ message: expect.stringContaining(why) });
  });
});

describe('a step that is refused', () => {
  const REFUSED = {
    status: 403,
    body: JSON.stringify({
      ...{ kind: 'Status', status: 'Failure', code: 403, reason: 'Forbidden' },
      message: 'pods "front" is forbidden: exceeded quota: team',
    }),
  };

  it('is Stalled until it is done, and decide and status know why', async () => {
    let isRefused = true;
    const world = new AuthorWorld(task, {
      types: [PODS],
      spec: {},
      refuse: ({ method }) => (isRefused && method === 'POST' ? REFUSED : undefined),
    });
    await world.run();
    for (const type of ['Ready', 'Stalled'])
      expect(world.condition(type)).toMatchObject({ reason: 'QuotaExceeded' });
    expect(world.condition('Stalled')).toMatchObject({ status: 'True' });
    expect(world.status).toMatchObject({ refused: 'QuotaExceeded' });
    isRefused = false;
    await world.run();
    expect(world.condition('Stalled')).toMatchObject({ status: 'False' });
    expect(world.status).not.toHaveProperty('refused');
  });

  it('is told again and again where that is refused, too, and not tried anew each time', async () => {
    const world = new AuthorWorld(task, {
      types: [PODS],
      spec: {},
      refuse: ({ method }) => (method === 'GET' ? undefined : REFUSED),
    });
    const { next, refusal } = await world.step('start');
    expect(next.do).toBe('updateStatus');
    // Each of its attempts knows of the refusal: it fails, with backoff, and does not end with the other step.
    for (const attempt of [1, 2])
      await expect(world.step('updateStatus', { refusal, attempt })).rejects.toThrow('exceeded quota');
  });

  it('in other words each time costs no write before each attempt, and one after it', async () => {
    let words = 'exceeded quota: 1';
    const world = new AuthorWorld(task, {
      types: [PODS],
      spec: {},
      refuse: ({ method }) =>
        method === 'POST' ? { ...REFUSED, body: REFUSED.body.replace('exceeded quota', words) } : undefined,
    });
    const { refusal } = await world.step('start');
    await world.step('updateStatus', { refusal });
    words = 'exceeded quota: 2';
    await expect(world.step('start', { refusal })).rejects.toThrow('quota: 2');
    world.requests.length = 0;
    await expect(world.step('start', { refusal })).rejects.toThrow('quota: 2');
    expect(world.requests).toEqual(['POST shop/pods']);
    expect(world.condition('Stalled')).toMatchObject({ message: expect.stringContaining('quota: 2') });
  });

  it('that cannot be done, nor its status be written, has its backoff: it is not tried anew each time', async () => {
    let isAway = false;
    const body = JSON.stringify({
      kind: 'Status',
      status: 'Failure',
      code: 503,
      reason: 'ServiceUnavailable',
    });
    const world = new AuthorWorld(task, {
      types: [PODS],
      spec: { pods: 1 },
      refuse: ({ method }) => (isAway && method !== 'GET' ? { status: 503, body } : undefined),
    });
    await world.run();
    expect(world.condition('Ready')).toMatchObject({ status: 'True' });
    world.cluster.change(objectKey(Task, 'front'), (it) => ({ ...it, spec: { pods: 2 } }));
    isAway = true;
    const { next } = await world.step('start', { isDurable: true });
    expect(next.do).toBe('updateStatus');
    await expect(world.step('updateStatus', { isDurable: true })).rejects.toThrow('503');
  });

  it('holds up no other step, and is no matter of that', async () => {
    const world = new AuthorWorld(task, { types: [PODS], spec: { pods: 0 } });
    world.put(PODS, { metadata: { name: 'a', labels: { task: 'front' } } });
    const refusal = { because: 'refused', message: 'exceeded quota', step: 'start' } as const;
    const { did } = await world.step('stop', { refusal });
    expect(did).toMatchObject([{ did: 'deleted' }]);
  });
});

describe('each', () => {
  it('ends once something takes a new object from the resource on its way: the others would be lost, too', async () => {
    const stored = (pod: KubernetesObject) => ({ ...pod, metadata: { ...pod.metadata, labels: {} } });
    const world = new AuthorWorld(task, { types: [{ ...PODS, stored }], spec: { pods: 9 } });
    await world.step('start');
    expect(world.requests).toEqual(['POST shop/pods']);
  });

  it('also where the watch does not select it any more', async () => {
    const stored = (pod: KubernetesObject) => ({
      ...pod,
      metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, tier: 'other' } },
    });
    const selecting = { ...task, owns: [{ ...OWNED, labelSelector: 'tier!=other' }] } as AnyDefinition;
    const world = new AuthorWorld(selecting, { types: [{ ...PODS, stored }], spec: { pods: 9 } });
    await world.step('start');
    expect(world.requests).toEqual(['POST shop/pods']);
  });

  it('adds up what an Event says more about, and what is being deleted counts as observed', async () => {
    const world = new AuthorWorld(task, { types: [{ ...PODS, goesSlowly: true }], spec: { pods: 0 } });
    for (const name of ['a', 'b']) world.put(PODS, { metadata: { name, labels: { task: 'front' } } });
    const { did, events, known, next } = await world.step('stop');
    expect(did).toEqual([{ did: 'deleted', what: 'Pod', count: 2, names: ['a', 'b'] }]);
    expect(events).toMatchObject([{ note: 'deleted 2 Pods a, b, as there were too many' }]);
    expect(known).toMatchObject({ source: 'live' });
    // Its lookup is given what is there by now.
    expect(next).toMatchObject({ do: 'updateStatus' });
    expect(world.watched().decision).toMatchObject({ do: 'observe' });
  });
});

describe('messages', () => {
  it('of a controller say what is wrong with its objects, and how far it is', () => {
    const { words } = definedController(
      defineController({
        ...task,
        messages: {
          desired: () => 'Pods',
          current: () => 'Pods',
          children: ({ owned }) => owned.map(({ name }) => `Pod ${name} is slow`),
          progress: ({ resource, owned }) => `${owned.length} of ${resource.spec.pods} Pods`,
        },
      }) as AnyDefinition,
    );
    const world = new AuthorWorld(task, { types: [PODS], spec: { pods: 2 } });
    world.put(PODS, { metadata: { name: 'a', labels: { task: 'front' } } });
    const subject = { object: world.resource, observation: world.observed() };
    expect(words?.children?.(subject as never)).toEqual(['Pod a is slow']);
    expect(words?.progress?.(subject as never)).toBe('1 of 2 Pods');
  });
});

describe('a controller that owns objects in the namespace of its resource, and has no finalizer', () => {
  it('has nothing to do in a namespace that is being deleted', () => {
    expect(definedController(task as AnyDefinition)).toHaveProperty('endsWithNamespace', true);
    const held = { ...task, finalizer: 'example.com/task' } as AnyDefinition;
    expect(definedController(held)).not.toHaveProperty('endsWithNamespace');
  });
});
