import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  CONFIG_MAPS,
  defineController,
  defineKind,
  defineType,
  DEPLOYMENTS,
  JOBS,
  SECRETS,
  SERVICES,
} from '../../src/api/index.ts';
import { definedController } from '../../src/engine/defined-controller.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';

/** Every member works for every type, with `observe` and without. */

const Task = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Task', description: 'A task.' },
  spec: z.object({ image: z.string(), secret: z.string().default('key') }),
  status: z.object({ jobs: z.int().optional() }),
});
const FINALIZER = 'example.com/task';
const JOB = objectKey(JOBS, 'front');
const OWNER = { apiVersion: 'example.com/v1', kind: 'Task', name: 'front', uid: 'uid-of-front' };
const aJob = { metadata: { name: 'front', ownerReferences: [{ ...OWNER, controller: true }] } };

function aWorld(definition: ConstructorParameters<typeof AuthorWorld>[0], spec: object = { image: 'one' }) {
  return new AuthorWorld(definition, { types: [CONFIG_MAPS, JOBS, SECRETS, DEPLOYMENTS], spec });
}

describe('a kind without observe', () => {
  const counting = defineController({
    name: 'task',
    for: Task,
    owns: [{ ...JOBS, view: (job) => fieldsOf(job['status']) }],
    references: [{ ...SECRETS, names: ({ resource }) => [{ name: resource.spec.secret }] }],
    decide: ({ references: [secret] }, next) =>
      secret?.uid === undefined
        ? next.stalled({ reason: 'NoSecret', message: 'there is no Secret', advice: [] })
        : next.converged('the Secret is there'),
    status: ({ owned }) => ({ jobs: owned.length }),
  });

  it('is decided on the watch, so that a change without consequence makes no run', async () => {
    const world = aWorld(counting);
    world.put(SECRETS, { metadata: { name: 'key' } });
    world.put(JOBS, aJob);
    await world.run();
    world.cluster.change(JOB, (job) => ({ ...job, status: { active: 1 } }));
    world.cluster.change(objectKey(SECRETS, 'key'), (secret) => ({ ...secret, data: {} }));
    expect(world.watched().decision).toEqual({ do: 'converged', because: 'the Secret is there' });
  });

  it('begins with the step that a change calls for, and stores no digest', async () => {
    const world = aWorld(counting);
    world.put(SECRETS, { metadata: { name: 'key' } });
    await world.run();
    world.put(JOBS, aJob);
    expect(world.watched().decision.do).toBe('updateStatus');
    expect(await world.run()).toEqual(['updateStatus']);
    expect(world.status).toMatchObject({ jobs: 1 });
    expect(world.condition('InputsObserved')).toBeUndefined();
    world.cluster.remove(objectKey(SECRETS, 'key'));
    expect(world.watched().decision.do).toBe('updateStatus');
    await world.run();
    expect(world.watched().decision).toMatchObject({ do: 'stalled', reason: 'NoSecret' });
  });

  it('can have a view, and then decides from that', async () => {
    const viewed = defineController({
      name: 'task',
      for: Task,
      view: ({ spec }) => spec.image,
      decide: ({ resource: { view } }, next) => next.converged(`it is ${view.toUpperCase()}`),
    });
    const world = aWorld(viewed);
    await world.run();
    expect(world.condition('Ready')).toMatchObject({ message: 'it is ONE' });
    expect(world.watched().decision.do).toBe('converged');
  });
});

describe('a finalizer', () => {
  const outside = { there: false };
  const task = defineController({
    name: 'task',
    for: Task,
    finalizer: FINALIZER,
    observe: () => Promise.resolve(outside.there ? 'a thing' : undefined),
    steps: {
      make: {
        summary: 'make it',
        external: false,
        run() {
          outside.there = true;
          return Promise.resolve('made it');
        },
      },
    },
    decide({ resource: { spec }, observed }, next) {
      if (spec.image === 'none') return next.removeFinalizer('nothing is asked for');
      return spec.image === 'one' || observed
        ? next.converged('it is there')
        : next.do.make('it is not there');
    },
  });
  const aTask = (image: string, isThere = false) => {
    outside.there = isThere;
    return aWorld(task, { image });
  };
  const finalizersIn = ({ resource }: AuthorWorld) => resource.metadata.finalizers ?? [];
  const without = (world: AuthorWorld) =>
    world.cluster.change(objectKey(Task, 'front'), ({ metadata, ...object }) => ({
      ...object,
      metadata: { ...metadata, finalizers: [] },
    }));

  it('is not put on a kind of which nothing is there and nothing is to be done', async () => {
    const world = aTask('one');
    expect(await world.run()).toEqual(['updateStatus']);
    expect(finalizersIn(world)).toEqual([]);
    expect(world.watched().decision.do).toBe('converged');
  });

  it('is put on before the first step', async () => {
    const world = aTask('two');
    expect(await world.run()).toEqual(['addFinalizer', 'updateStatus', 'make', 'updateStatus']);
  });

  it('is put on before the first rest of what is there already', async () => {
    const world = aTask('one', true);
    expect(await world.run()).toEqual(['addFinalizer', 'updateStatus']);
  });

  it('comes back once somebody has taken it away', async () => {
    const world = aTask('one', true);
    await world.run();
    without(world);
    expect(world.watched().decision).toMatchObject({ do: 'observe' });
    expect(await world.run()).toContain('addFinalizer');
    expect(world.watched().decision.do).toBe('converged');
  });

  it('goes from a kind that asks for nothing any more', async () => {
    const world = aTask('one', true);
    await world.run();
    world.cluster.change(objectKey(Task, 'front'), (object) => ({
      ...object,
      metadata: { ...object.metadata, generation: 2 },
      spec: { image: 'none' },
    }));
    expect(await world.run()).toEqual(['removeFinalizer', 'updateStatus']);
    expect(finalizersIn(world)).toEqual([]);
    expect(world.watched().decision.do).toBe('converged');
  });
});

describe('another number of `revision`', () => {
  const observing = (revision?: number) =>
    defineController({
      name: 'task',
      for: Task,
      ...(revision !== undefined && { revision }),
      observe: () => Promise.resolve('something'),
      decide: (_, next) => next.converged('it is observed'),
    });

  it('has each resource observed once more, after a time that follows from its UID', async () => {
    const before = aWorld(observing(1));
    await before.run();
    expect(before.watched().decision).toEqual({ do: 'converged', because: 'it is observed' });
    const after = aWorld(observing(2));
    after.cluster.change(objectKey(Task, 'front'), () => before.resource);
    const { decision } = after.watched();
    // At the beginning of all time, the process has not been started yet.
    expect(decision).toMatchObject({ do: 'converged', recheckMs: expect.any(Number) });
    await after.run();
    expect(after.watched().decision).toEqual({ do: 'converged', because: 'it is observed' });
  });

  it('needs observe', () => {
    const definition = { name: 'task', for: Task, revision: 2 };
    expect(() =>
      defineController({ ...definition, decide: (_, next) => next.converged('it is there') }),
    ).toThrow('revision needs observe');
  });
});

describe('a type that is not ours', () => {
  it('can declare objects', async () => {
    const web = defineController({
      name: 'web',
      for: SERVICES,
      view: ({ metadata }) => metadata.labels?.['image'] ?? 'none',
      owns: [CONFIG_MAPS],
      children: ({ resource }) => [
        {
          ...{ apiVersion: 'v1', kind: 'ConfigMap' },
          metadata: { name: 'web' },
          data: { image: resource.view },
        },
      ],
    });
    const world = aWorld(web);
    expect(world.watched().decision).toMatchObject({ do: 'createConfigMap' });
    expect(await world.run()).toEqual(['createConfigMap']);
    expect(world.watched().decision.do).toBe('converged');
    world.cluster.remove(objectKey(CONFIG_MAPS, 'web'));
    expect(world.watched().decision).toMatchObject({ do: 'createConfigMap' });
  });

  const Certificate = defineType({
    ...{ group: 'cert-manager.io', version: 'v1', kind: 'Certificate' },
    fields: z.object({ spec: z.object({ secretName: z.string() }) }),
  });
  const renewed = defineController({
    name: 'renewed',
    for: Certificate,
    decide: ({ resource: { view } }, next) =>
      next.converged(`it is in ${view.spec.secretName.toUpperCase()}`),
  });

  it('can have a parser, whose fields decide gets', () => {
    const { decision } = aWorld(renewed, { secretName: 'key' }).watched();
    expect(decision).toEqual({ do: 'converged', because: 'it is in KEY' });
  });

  it('is left alone where an object does not parse, with an Event', async () => {
    const world = aWorld(renewed, { secretName: 7 });
    const { decision } = world.watched();
    expect(decision).toMatchObject({
      do: 'stalled',
      reason: 'InvalidSpec',
      message: expect.stringContaining('spec.secretName: '),
      event: { type: 'Warning' },
    });
    expect(await world.run()).toEqual([]);
    expect(world.requests).toEqual([]);
  });
});

describe('the status of a kind', () => {
  const Sizes = defineKind({
    ...{ group: 'example.com', version: 'v1', kind: 'Sizes', description: 'Sizes.' },
    spec: z.object({ of: z.record(z.string(), z.number()) }),
    status: z.object({ sizes: z.object({ each: z.record(z.string(), z.number()) }).optional() }),
  });
  const sizes = defineController({
    name: 'sizes',
    for: Sizes,
    decide: (_, next) => next.converged('they are known'),
    status: ({ resource: { spec } }) => ({ sizes: { each: spec.of } }),
  });

  it('loses what is gone at any depth, and keeps what others write beside it', async () => {
    const world = aWorld(sizes, { of: { a: 1, b: 2 } });
    await world.run();
    world.cluster.change(objectKey(Sizes, 'front'), (object) => ({
      ...object,
      metadata: { ...object.metadata, generation: 2 },
      spec: { of: { a: 1 } },
      status: { ...fieldsOf(object['status']), byOthers: true },
    }));
    expect(await world.run()).toEqual(['updateStatus']);
    expect(world.status).toMatchObject({ sizes: { each: { a: 1 } }, byOthers: true });
    expect(fieldsOf(fieldsOf(world.status['sizes'])['each'])).toEqual({ a: 1 });
    expect(world.watched().decision.do).toBe('converged');
  });
});

describe('a step that changes nothing outside, of a resource that is Ready', () => {
  let isRepaired = true;
  const repairing = defineController({
    name: 'task',
    for: Task,
    observe: () => Promise.resolve('something'),
    steps: {
      repair: {
        summary: 'repair it',
        external: false,
        run: () => {
          isRepaired = true;
          return Promise.resolve('repaired it');
        },
      },
    },
    decide: (_, next) => (isRepaired ? next.converged('it is well') : next.do.repair('it is broken')),
  });
  const aBroken = async () => {
    isRepaired = true;
    const world = aWorld(repairing);
    await world.run();
    isRepaired = false;
    return world;
  };

  it('is done at once without a word, since its local second suffices', async () => {
    const world = await aBroken();
    expect(await world.step('repair')).toMatchObject({
      did: [{ did: 'repaired' }],
      next: { do: 'converged' },
    });
  });

  it('takes Ready back first where that did not suffice', async () => {
    const world = await aBroken();
    const { did, next, known } = await world.step('repair', { isDurable: true });
    expect([did, next]).toMatchObject([[], { do: 'updateStatus' }]);
    await world.step('updateStatus', { known });
    expect(world.condition('Ready')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('repair'),
    });
    expect(await world.step('repair', { isDurable: true })).toMatchObject({ did: [{ did: 'repaired' }] });
  });
});

describe('a step that a person holds', () => {
  const cleaning = defineController({
    name: 'task',
    for: Task,
    owns: [{ ...JOBS, view: ({ metadata }) => metadata.uid }],
    steps: {
      clean: {
        summary: 'clean up',
        deletes: (_, uid: string) => ({ what: 'Job', count: 1, objects: () => [{ name: 'front', uid }] }),
        run: () => Promise.resolve('cleaned up'),
      },
    },
    decide: ({ owned: [uid] }, next) =>
      uid === undefined ? next.converged('it is clean') : next.do.clean('a Job is left', uid),
    status: ({ owned }) => ({ jobs: owned.length }),
  });

  it('is in the status, with the fields of the author', async () => {
    const world = aWorld(cleaning);
    await world.run();
    world.put(JOBS, aJob);
    const controller = definedController(cleaning, { requireApprovalOver: 0 });
    const observation = world.observed();
    const held = controller.decide(observation, 0, { isLive: true, isNamespacePaused: false });
    expect(held).toMatchObject({ do: 'updateStatus' });
    const status = controller.statusStep?.(observation, 0);
    expect(status).toMatchObject({
      do: 'updateStatus',
      status: {
        jobs: 1,
        conditions: [{ type: 'Ready', status: 'False', message: 'waiting for clean: a Job is left' }, {}, {}],
      },
    });
  });
});

describe('declared objects beside observe', () => {
  const database = defineController({
    name: 'task',
    for: Task,
    owns: [CONFIG_MAPS, DEPLOYMENTS],
    observe: () => Promise.resolve('down'),
    children: ({ resource: { spec } }) => [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'front' } },
      ...(spec.image === 'one' ? [] : [aDeployment]),
    ],
    decide: (_, next) =>
      next.converged('it is declared', {
        notReady: { reason: 'DatabaseNotReady', message: 'the database is down', advice: [] },
      }),
  });
  const aDeployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'front' },
    spec: { replicas: 1 },
  };

  it('leave alone what an author says of readiness, whatever the words', async () => {
    const world = aWorld(database);
    await world.run();
    expect(world.watched().decision).toMatchObject({
      do: 'converged',
      notReady: { reason: 'DatabaseNotReady' },
    });
  });

  it('make no run while they are not ready, and one once they are', async () => {
    const world = aWorld(database, { image: 'two' });
    await world.run();
    const notReady = { reason: 'DeploymentNotReady' };
    expect(world.watched().decision).toMatchObject({ do: 'converged', notReady });
    world.cluster.change(objectKey(DEPLOYMENTS, 'front'), (deployment) => ({
      ...deployment,
      status: {
        ...{ observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 },
        conditions: [{ type: 'Available', status: 'True' }],
      },
    }));
    expect(world.watched().decision.do).toBe('observe');
    await world.run();
    expect(world.watched().decision).toMatchObject({
      do: 'converged',
      notReady: { reason: 'DatabaseNotReady' },
    });
  });
});
