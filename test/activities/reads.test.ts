import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineController, defineKind, JOBS } from 'durable-operator';
import type { KnownObservation } from '../../activities/run-memory.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';

/** A controller that reads before a step what that needs: a write of the resource alone is conditional on its version. */

const Task = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Task', description: 'A task.' },
  spec: z.object({ left: z.string().optional() }),
  status: z.object({ jobs: z.int().optional() }),
});
const task = defineController({
  name: 'task',
  for: Task,
  finalizer: 'example.com/task',
  owns: [{ ...JOBS, ownerOf: 'example.com/task', view: ({ metadata }) => metadata.name }],
  lookups: { quota: { read: ({ kube }) => kube.get({ type: JOBS, namespace: 'shop', name: 'quota' }) } },
  steps: {
    start: {
      summary: 'start the Job',
      reads: 'resource',
      async run({ resource, kube }) {
        const { namespace, name } = resource.metadata;
        await kube.create(JOBS, { metadata: { namespace, name, labels: { 'example.com/task': name } } });
        return 'started the Job';
      },
    },
  },
  decide({ resource, owned, lookups }, next) {
    if (resource.isBeingDeleted) return next.removeFinalizer('it may go');
    if (owned.length > 0) return next.wait('the Job to end', { recheckAfter: '1m' });
    return lookups.quota === undefined
      ? next.do.start('there is no Job')
      : next.stalled({ reason: 'Quota', message: 'there is a quota', advice: [] });
  },
  status: ({ owned }) => ({ jobs: owned.length }),
});

/** What one run asks of the server, begun with what the watch shows. */
async function askedIn(change: (world: AuthorWorld) => void = () => undefined) {
  const asked: string[] = [];
  const world = new AuthorWorld(task, {
    types: [JOBS],
    spec: {},
    refuse({ method, path }) {
      asked.push(`${method} ${path.split('/').slice(-2).join('/')}`);
      return undefined;
    },
  });
  change(world);
  let known: KnownObservation | undefined = { observation: world.observed(), source: 'watch' };
  const steps: string[] = [];
  for (let name = 'observe'; name !== 'wait' && name !== 'converged' && steps.length < 10;) {
    const end = await world.step(name, { known });
    known = end.known;
    name = end.next.do;
    steps.push(name);
  }
  return { asked, steps, world };
}

describe('a controller with a step that reads less', () => {
  it('reads nothing before it writes to the resource alone, and a lookup, but not the rest, beside the watch', async () => {
    const { asked, steps, world } = await askedIn();
    expect(steps).toEqual(['addFinalizer', 'updateStatus', 'start', 'updateStatus', 'wait']);
    expect(asked).toEqual([
      'GET jobs/quota',
      'PATCH tasks/front',
      'PATCH front/status',
      'POST shop/jobs',
      'PATCH front/status',
    ]);
    expect(world.status).toMatchObject({ jobs: 1 });
  });

  it('keeps the finalizers of others, which the watch does not show', async () => {
    const finalizers = ['example.com/another'];
    const { asked, world } = await askedIn((it) =>
      it.cluster.changeMetadata(objectKey(Task, 'front'), () => ({ finalizers })),
    );
    expect(asked.slice(0, 4)).toEqual([
      'GET jobs/quota',
      'GET shop/jobs',
      'GET tasks/front',
      'PATCH tasks/front',
    ]);
    expect(world.resource.metadata.finalizers).toEqual([...finalizers, 'example.com/task']);
  });

  it('removes its finalizer only after it has read what there is', async () => {
    const { asked, steps } = await askedIn((it) => {
      it.cluster.changeMetadata(objectKey(Task, 'front'), () => ({ finalizers: ['example.com/task'] }));
      it.cluster.markDeleted(objectKey(Task, 'front'), ['example.com/task']);
    });
    expect(steps).toEqual(['removeFinalizer', 'converged']);
    expect(asked).toEqual(['GET shop/jobs', 'PATCH tasks/front']);
  });
});

it('a view is made of what is stored, valid or not, of a resource that is let go', async () => {
  const viewed = defineController({
    ...{ name: 'task', for: Task, finalizer: 'task.example.com' },
    view: ({ spec }) => spec,
    decide: ({ resource: { view } }, next) => next.removeFinalizer(`it was ${JSON.stringify(view)}`),
  });
  const world = new AuthorWorld(viewed, { types: [], spec: { left: 7 } });
  world.cluster.changeMetadata(objectKey(Task, 'front'), () => ({ finalizers: ['task.example.com'] }));
  world.cluster.markDeleted(objectKey(Task, 'front'), ['task.example.com']);
  const { next } = await world.step('observe');
  expect(next).toMatchObject({ do: 'removeFinalizer', because: 'it was {"left":7}' });
});
