import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  CONFIG_MAPS,
  defineController,
  defineKind,
  JOBS,
  SECRETS,
  SERVICES,
  StepError,
} from '../../src/api/index.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';

/** A function of a controller throws: people see which one, and why. */

const Task = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Task', description: 'A task.' },
  spec: z.object({ image: z.string(), region: z.string().default('Europe') }),
  status: z.object({ jobs: z.int().optional() }),
});

function aWorld(definition: ConstructorParameters<typeof AuthorWorld>[0]) {
  return new AuthorWorld(definition, { types: [CONFIG_MAPS, JOBS, SECRETS], spec: { image: 'one' } });
}

const its = defineController({
  name: 'task',
  for: Task,
  decide: (_, next) => next.converged('it is done'),
});
const bug = (): never => {
  throw new TypeError('x is undefined');
};

describe('a mistake of a controller', () => {
  it.each([
    ['decide', { decide: bug }, 'DecideFailed', 'decide'],
    ['status', { status: bug }, 'StatusFailed', 'status'],
    ['children', { owns: [CONFIG_MAPS], children: bug }, 'ChildrenFailed', 'children'],
    [
      'what children declares',
      { owns: [CONFIG_MAPS], children: () => [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }] },
      'ChildrenFailed',
      'children',
    ],
    ['names', { references: [{ ...SECRETS, names: bug }] }, 'ReferencesFailed', 'names of Secret'],
    [
      'matchLabels',
      { references: [{ ...SECRETS, matchLabels: bug }] },
      'ReferencesFailed',
      'matchLabels of Secret',
    ],
  ])('in %s is in the status, and then the attempt fails with it', async (_, member, reason, what) => {
    const world = aWorld({ ...its, ...member } as typeof its);
    expect(await world.run()).toEqual([
      'updateStatus',
      'observe',
      expect.stringContaining(`failed: ${what}`),
    ]);
    const message = expect.stringContaining(`${what} of controller task has failed: `);
    expect(world.condition('Ready')).toMatchObject({ status: 'False', reason, message });
    expect(world.condition('Ready')?.['message']).toContain('correct the controller task');
    // It is told once, whatever the words are by then.
    expect(await world.run()).toEqual([expect.stringContaining('failed: ')]);
    expect(world.watched().decision.do).toBe('observe');
  });

  it('is out of the status once it is corrected', async () => {
    const broken = aWorld({ ...its, decide: bug });
    await broken.run();
    const world = aWorld(its);
    world.cluster.change(objectKey(Task, 'front'), () => broken.resource);
    expect(await world.run()).toEqual(['updateStatus']);
    expect(world.condition('Ready')).toMatchObject({ status: 'True' });
  });

  it('of a type without a status is the error of the attempt', async () => {
    const service = defineController({ name: 'service', for: SERVICES, view: () => 'it', decide: bug });
    const world = aWorld(service);
    expect(await world.run()).toEqual(['failed: decide of controller service has failed: x is undefined']);
  });
});

describe("StepError('never', …)", () => {
  const never = (): never => {
    throw new StepError('never', 'the region does not exist', { advice: ['choose another one'] });
  };
  const STALLED = {
    status: 'True',
    reason: 'PermanentFailure',
    message: 'the region does not exist; choose another one',
  };
  const counting = () => {
    const asked = { times: 0 };
    const run = () => {
      asked.times += 1;
      return Promise.resolve().then(never);
    };
    return { asked, run };
  };

  it.each([
    ['decide', { decide: never }],
    ['status', { status: never }],
    ['children', { owns: [CONFIG_MAPS], children: never }],
    ['names', { references: [{ ...SECRETS, names: never }] }],
  ])('of %s stalls', async (_, member) => {
    const world = aWorld({ ...its, ...member } as typeof its);
    expect(await world.run()).toEqual(['updateStatus']);
    expect(world.condition('Stalled')).toMatchObject(STALLED);
    expect(await world.run()).toEqual([]);
    const { next, events } = await world.step('observe');
    expect(next).toMatchObject({ do: 'stalled', reason: 'PermanentFailure' });
    expect(events).toMatchObject([{ type: 'Warning', reason: 'PermanentFailure' }]);
  });

  it('of observe stalls, and is not asked again', async () => {
    const { asked, run } = counting();
    const world = aWorld({ ...its, finalizer: 'example.com/task', observe: run } as typeof its);
    expect(await world.run()).toEqual(['updateStatus']);
    expect(world.condition('Stalled')).toMatchObject(STALLED);
    expect(world.watched().decision).toMatchObject({ do: 'stalled' });
    expect(asked.times).toBe(1);
  });

  it.each([{}, { observe: () => Promise.resolve('something') }])(
    'of a step stalls, and it is not tried again until something changes: %p',
    async (observing) => {
      const { asked, run } = counting();
      const acting = defineController({
        name: 'task',
        for: Task,
        owns: [{ ...JOBS, view: ({ metadata }) => metadata.uid }],
        steps: { act: { summary: 'act', external: false, run } },
        decide: (_, next) => next.do.act('it has to'),
      });
      const world = aWorld({ ...acting, ...observing } as typeof acting);
      expect(await world.run()).toEqual(['act', 'updateStatus']);
      expect(world.condition('Stalled')).toMatchObject(STALLED);
      expect(asked.times).toBe(1);
      const { decision, inputs } = world.watched();
      expect(decision).toMatchObject({ do: 'stalled', reason: 'PermanentFailure' });
      const owner = { apiVersion: 'example.com/v1', kind: 'Task', name: 'front', uid: 'uid-of-front' };
      world.put(JOBS, { metadata: { name: 'job', ownerReferences: [{ ...owner, controller: true }] } });
      expect(world.watched().inputs).not.toEqual(inputs);
      world.cluster.change(objectKey(Task, 'front'), (object) => ({
        ...object,
        metadata: { ...object.metadata, generation: 2 },
      }));
      expect(world.watched().decision.do).toBe(observing.observe === undefined ? 'act' : 'observe');
    },
  );
});

describe('a resource whose stored spec does not fit, as it is deleted,', () => {
  const task = defineController({
    name: 'task',
    for: Task,
    finalizer: 'example.com/task',
    owns: [CONFIG_MAPS],
    references: [{ ...SECRETS, names: ({ resource }) => [{ name: resource.spec.image.toLowerCase() }] }],
    children: ({ resource }) => [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: resource.spec.image.toLowerCase() } },
    ],
    status: ({ resource }) => ({ jobs: resource.spec.image.toLowerCase().length }),
    observe: ({ resource: { spec } }) => Promise.resolve(spec.region.toLowerCase()).then(() => undefined),
    decide: ({ resource: { spec, isBeingDeleted } }, next) =>
      isBeingDeleted
        ? next.removeFinalizer(`it is out of ${spec.region.toLowerCase()}`)
        : next.converged('it is there'),
  });
  const deleted = (its: typeof task, spec: object) => {
    const world = aWorld(its);
    world.cluster.change(objectKey(Task, 'front'), (object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        finalizers: ['example.com/task'],
        deletionTimestamp: '2026-11-21T11:00:00Z',
      },
      spec,
    }));
    return world;
  };

  it('is let go, whatever children, status and names make of it, with the defaults of what fits', async () => {
    const world = deleted(task, { image: 7 });
    expect(await world.run()).toEqual(['removeFinalizer']);
  });

  it.each(['', '..'])('is let go where it refers to what cannot be named: %p', async (name) => {
    const its = { ...task, references: [{ ...SECRETS, names: () => [{ name }] }] };
    expect(await deleted(its as typeof task, { image: 7 }).run()).toEqual(['removeFinalizer']);
  });

  it('waits where nobody can tell what is left outside, and says that the spec has to be corrected', async () => {
    const world = deleted(task, { image: 'one', region: 7 });
    const { next } = await world.step('observe', { attempt: 3 });
    expect(next).toMatchObject({ do: 'updateStatus' });
    await world.run({ attempt: 3 });
    const message = String(world.condition('Ready')?.['message']);
    expect(message).toMatch(
      /^observe of controller task has failed: .*; correct the spec of shop\/front, .*\(spec.region: /,
    );
  });
});
