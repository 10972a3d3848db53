import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { readOwned } from '../../activities/objects/owned.ts';
import { CONFIG_MAPS } from '../../src/api/built-in.ts';
import { defineController } from '../../src/api/controller.ts';
import { defineKind } from '../../src/api/kind.ts';
import { JOBS } from '../../src/api/kinds.ts';
import { controllerReference } from '../../src/api/owner.ts';
import type { OwnedType } from '../../src/api/watched.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';

/** A controller of a kind that decides from the Jobs of its resource. */

const Task = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Task', description: 'A task.' },
  spec: z.object({ image: z.string() }),
  status: z.object({ jobs: z.int().optional() }),
});
const task = defineController({
  name: 'task',
  for: Task,
  owns: [
    CONFIG_MAPS,
    { ...JOBS, view: (job) => ({ kind: job.kind, isDone: fieldsOf(job['status'])['succeeded'] === 1 }) },
  ],
  children: ({ resource: { metadata } }) => [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: metadata.name } },
  ],
  steps: {
    start: {
      summary: 'start the Job',
      run: async ({ resource, kube }) => {
        const { namespace, name } = resource.metadata;
        await kube.create(JOBS, {
          metadata: { namespace, name, ownerReferences: [controllerReference(resource)] },
        });
        return 'started the Job';
      },
    },
  },
  decide({ owned: [job] }, next) {
    if (job === undefined) return next.do.start('there is no Job');
    if (job.kind !== 'Job') throw new Error('a view is made from an object that says what it is');
    return job.isDone
      ? next.converged('the Job is done')
      : next.wait('the Job to end', { recheckAfter: '1m' });
  },
  status: ({ owned }) => ({ jobs: owned.length }),
});
const JOB = objectKey(JOBS, 'front');

const aTask = (spec: object = { image: 'one' }) =>
  new AuthorWorld(task, { types: [CONFIG_MAPS, JOBS], spec });

function complete({ cluster }: AuthorWorld): void {
  cluster.change(JOB, (job) => ({ ...job, status: { succeeded: 1 } }));
}

async function aDoneTask(): Promise<AuthorWorld> {
  const world = aTask();
  await world.run();
  complete(world);
  await world.run();
  return world;
}

describe('the objects of owns that have a view', () => {
  it('are what decide and status are given, and those of children are not', async () => {
    const world = aTask();
    expect(await world.run()).toEqual(['createConfigMap', 'start', 'updateStatus']);
    expect(world.status).toMatchObject({ jobs: 1 });
    expect(world.condition('Ready')?.['message']).toContain('the Job to end');
  });

  it('end the wait of an open run once a view changes, which calls for a step then', async () => {
    const world = aTask();
    await world.run();
    world.cluster.change(JOB, (job) => ({ ...job, status: { active: 1 } }));
    expect(world.watched().decision.do).toBe('wait');
    complete(world);
    expect(world.watched().decision.do).toBe('updateStatus');
  });

  it('are no news where another object has the same view, since decide is given the views alone', async () => {
    const world = await aDoneTask();
    world.cluster.remove(JOB);
    const ownerReferences = [controllerReference(world.resource)];
    world.put(JOBS, { metadata: { name: 'another', ownerReferences }, status: { succeeded: 1 } });
    expect(world.watched().decision.do).toBe('converged');
  });

  it('make no run at a start unless a view has changed meanwhile, since the status says what was observed', async () => {
    const world = await aDoneTask();
    expect(world.watched().decision).toMatchObject({ do: 'converged', because: 'the Job is done' });
    world.cluster.remove(JOB);
    expect(world.watched().decision).toMatchObject({ do: 'start', because: 'there is no Job' });
    expect(await world.run()).toEqual(['start', 'updateStatus']);
  });

  it('make no run where the spec is not valid, and they have been seen', async () => {
    const world = await aDoneTask();
    const key = objectKey(Task, 'front');
    world.cluster.change(key, (object) => ({
      ...object,
      metadata: { ...object.metadata, generation: 2 },
      spec: {},
    }));
    world.cluster.remove(JOB);
    expect(await world.run()).toEqual(['updateStatus']);
    expect(world.watched().decision.do).toBe('stalled');
  });

  it('are those of the resource, and not those of another one that had the name', async () => {
    const world = aTask();
    const { name } = world.resource.metadata;
    const owner = {
      apiVersion: 'example.com/v1',
      kind: 'Task',
      name,
      uid: 'uid-of-before',
      controller: true,
    };
    world.put(JOBS, { metadata: { name: 'before', ownerReferences: [owner] }, status: { succeeded: 1 } });
    await world.run();
    expect(world.status).toMatchObject({ jobs: 1 });
    expect(world.watched().decision.do).toBe('wait');
  });

  it('are listed by the labels that all of a resource have, for its UID', async () => {
    const label = 'example.com/task-uid';
    const counting = defineController({
      ...{ name: 'task', for: Task },
      owns: [
        {
          ...JOBS,
          ownerOf: ({ metadata: { namespace, annotations } }) => ({
            ...(namespace !== undefined && { namespace }),
            name: annotations?.['name'] ?? '',
          }),
          labelsFor: ({ uid }) => ({ [label]: uid }),
          view: ({ metadata }) => metadata.name,
        },
      ],
      decide: (_, next) => next.converged('they are counted'),
      status: ({ owned }) => ({ jobs: owned.length }),
    });
    const world = new AuthorWorld(counting, { types: [JOBS], spec: { image: 'one' } });
    const annotations = { name: 'front' };
    world.put(JOBS, { metadata: { name: 'its', annotations, labels: { [label]: 'uid-of-front' } } });
    world.put(JOBS, { metadata: { name: 'of-one-before', annotations, labels: { [label]: 'another' } } });
    await world.run();
    expect(world.status).toMatchObject({ jobs: 1 });
  });

  it('are those with its name, where a label holds that, and then nothing is left to do', async () => {
    const label = 'example.com/task';
    const counting = defineController({
      ...{ name: 'task', for: Task },
      owns: [{ ...JOBS, ownerOf: label, view: ({ metadata }) => metadata.name }],
      decide: (_, next) => next.converged('they are counted'),
      status: ({ owned }) => ({ jobs: owned.length }),
    });
    const world = new AuthorWorld(counting, { types: [JOBS], spec: { image: 'one' } });
    for (const name of ['front', 'front-2', 'back'])
      world.put(JOBS, { metadata: { name, labels: { [label]: name.replace(/-2$/, '') } } });
    await world.run();
    expect(world.status).toMatchObject({ jobs: 2 });
    expect(world.watched().decision).toMatchObject({ do: 'converged', because: 'they are counted' });
  });

  it('are read by a step as they are watched', async () => {
    const labelled = { app: 'front' };
    const counting = defineController({
      ...{ name: 'task', for: Task },
      owns: [
        {
          ...JOBS,
          ...{ labelSelector: 'app=front', fieldSelector: 'metadata.name!=hidden', metadataOnly: true },
          view: ({ metadata, status }) => [metadata.name, status ?? 'not read'],
        },
      ],
      decide: (_, next) => next.converged('they are counted'),
      status: ({ owned }) => ({ jobs: owned.filter(([, status]) => status === 'not read').length }),
    });
    const world = new AuthorWorld(counting, { types: [JOBS], spec: { image: 'one' } });
    const ownerReferences = [controllerReference(world.resource)];
    for (const [name, labels] of Object.entries({ front: labelled, hidden: labelled, other: {} }))
      world.put(JOBS, { metadata: { name, labels, ownerReferences }, status: { succeeded: 1 } });
    await world.run();
    expect(world.status).toMatchObject({ jobs: 1 });
    expect(world.watched().decision.do).toBe('converged');
  });

  it('need the right to list them, and those of children all rights', () => {
    const { permissions } = definedController(task);
    expect(permissions).toContainEqual(expect.objectContaining({ resources: ['jobs'] }));
    expect(permissions).toContainEqual(expect.objectContaining({ resources: ['configmaps'] }));
  });

  it.each([
    ['get', 'one by name', {}],
    ['list', 'one by name with a selector, since a get has none', { labelSelector: 'app=front' }],
  ])('need the right to %s %s', (verb, _, selector) => {
    const { permissions } = definedController(
      defineController({
        ...{
          name: 'task',
          for: Task,
          owns: [{ ...JOBS, ...selector, nameFor: (task) => task, view: () => true }],
        },
        decide: (_facts, next) => next.converged('it is there'),
      }),
    );
    expect(permissions).toContainEqual({ apiGroups: ['batch'], resources: ['jobs'], verbs: [verb] });
  });

  it('need no children, and without a view they do', () => {
    const withJobs = (view?: object) => () =>
      defineController({
        ...{ name: 'task', for: Task, owns: [{ ...JOBS, ...view }] },
        decide: (_, next) => next.converged('it is there'),
      });
    expect(withJobs()).toThrow('owns of Job needs a view, which decide is given, or children');
    expect(withJobs({ view: () => true })).not.toThrow();
  });
});

describe('what a step reads of the objects of a resource', () => {
  const LABEL = 'example.com/task';

  /** A server whose pages have two objects each. @returns the requests, and when views were made */
  async function read(owns: Partial<OwnedType<unknown>>, name = 'front') {
    const story: string[] = [];
    const metadata = {
      namespace: 'shop',
      uid: 'uid-of-job',
      resourceVersion: '1',
      labels: { [LABEL]: name },
    };
    const request = ({ query = {} }: RequestOptions) => {
      story.push(String(query['labelSelector'] ?? 'a page'));
      const [first, second] = query['continue'] === undefined ? ['one', 'two'] : ['three', 'four'];
      const items = [first, second].map((each) => ({ metadata: { ...metadata, name: each } }));
      return Promise.resolve({ metadata: first === 'one' ? { continue: 'there' } : {}, items });
    };
    const view = (object: { readonly metadata: { readonly name: string } }) => {
      story.push(object.metadata.name);
      return object.metadata.name;
    };
    const client = { request } as unknown as KubernetesClient;
    const ref = { controller: 'task', namespace: 'shop', name, uid: 'uid-of-front' };
    const views = await readOwned(client, { ...JOBS, view, ...owns }, { type: Task, ref });
    return { story, views: views.map((each) => each.view) };
  }

  it('is selected by the label that holds its name', async () => {
    const its = `${LABEL}=front`;
    expect((await read({ ownerOf: LABEL })).story[0]).toBe(its);
    expect((await read({ ownerOf: LABEL, labelSelector: 'app=web' })).story[0]).toBe(`app=web,${its}`);
  });

  it('is nothing where the name is too long for a label', async () => {
    expect(await read({ ownerOf: LABEL }, 'a'.repeat(64))).toEqual({ story: [], views: [] });
  });

  it('is made into views page by page', async () => {
    const ownerOf = () => ({ namespace: 'shop', name: 'front' });
    const names = ['one', 'two', 'three', 'four'];
    const [one, two, ...others] = names;
    expect(await read({ ownerOf })).toEqual({
      story: ['a page', one, two, 'a page', ...others],
      views: names,
    });
  });
});
