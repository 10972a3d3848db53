import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { allow, defineController, defineKind, JOBS, NODES, StepError } from '../../src/api/index.ts';
import type { Request } from '../../testing/explorer/api-server.ts';
import { decisions } from '../../testing/index.ts';
import { AuthorWorld } from '../support/author-world.ts';

const Lease = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'MachineLease', description: 'A machine for some time.' },
  spec: z.object({ machine: z.string(), isOver: z.boolean().default(false) }),
  status: z.object({ cleared: z.int().optional() }),
});

interface Job {
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

/** Once the lease of a machine is over, its Jobs go, one after the other, if the machine is there. */
const lease = defineController({
  name: 'lease',
  for: Lease,
  permissions: [allow(JOBS, ['list', 'delete']), allow(NODES, ['get'])],
  lookups: {
    jobs: {
      read: ({ kube, resource }) =>
        kube.list(
          JOBS,
          { labelSelector: `machine=${resource.spec.machine}` },
          ({ metadata }): Job => metadata,
        ),
    },
  },
  steps: {
    clear: {
      ...{ summary: 'delete a Job', forgets: ['jobs'] },
      deletes: (_, job: Job) => ({ what: 'Job', count: 1, objects: () => [job] }),
      run: async ({ kube, resource: { metadata, status } }, { namespace, name, uid }: Job) => {
        await kube.delete({ type: JOBS, namespace, name }, { uid });
        const at = { type: Lease, namespace: metadata.namespace, name: metadata.name };
        const cleared = (status.cleared ?? 0) + 1;
        await kube.patch(
          { ...at, subresource: 'status' },
          { metadata: { uid: metadata.uid }, status: { cleared } },
        );
        return `deleted Job ${name}`;
      },
    },
  },
  decide({ resource: { spec }, lookups }, next) {
    if (!spec.isOver) return next.converged('it is not over');
    if (lookups.node(spec.machine) === undefined)
      return next.stalled({ reason: 'NoMachine', message: 'the machine is gone', advice: [] });
    const [job] = lookups.jobs ?? [];
    if (job !== undefined) return next.do.clear('the lease is over', job);
    return next.wait('the end of the day', { recheckAfter: '1h' });
  },
  status: ({ resource: { status } }) => status,
});

function aWorld(
  definition: ConstructorParameters<typeof AuthorWorld>[0] = lease,
  spec: object = { machine: 'm', isOver: true },
) {
  const reads: string[] = [];
  const onRequest = ({ method, path }: Request) => {
    if (method === 'GET' && !path.includes('machineleases')) reads.push(path.split('/').at(-1) ?? '');
    return undefined;
  };
  const world = new AuthorWorld(definition, { types: [JOBS, NODES], spec, refuse: onRequest });
  world.cluster.create(NODES, { metadata: { name: 'm' } });
  for (const name of ['a', 'b']) world.put(JOBS, { metadata: { name, labels: { machine: 'm' } } });
  return { world, reads };
}

describe('a lookup', () => {
  it('is read once a decision asks for it, and kept until a step forgets it', async () => {
    const { world, reads } = aWorld();
    expect(await world.run()).toEqual(['clear', 'clear', 'updateStatus']);
    expect(world.requests.filter((each) => each.startsWith('DELETE'))).toEqual([
      'DELETE jobs/a',
      'DELETE jobs/b',
    ]);
    expect(reads).toEqual(['m', 'jobs', 'jobs', 'jobs']);
  });

  it('is kept also where everything is observed anew after each step', async () => {
    const { world, reads } = aWorld({ ...lease, observe: () => Promise.resolve('seen') });
    expect(await world.run()).toEqual(['updateStatus', 'clear', 'clear', 'updateStatus']);
    expect(reads).toEqual(['m', 'jobs', 'jobs', 'jobs']);
  });

  it('is read by no watcher, which has it observed in a run', () => {
    const { world, reads } = aWorld();
    expect(world.watched().decision).toEqual({
      do: 'observe',
      because: 'lookup node m has to be read',
      lookups: ['node m'],
    });
    expect(reads).toEqual([]);
  });

  it('costs nothing where no decision asks for it', async () => {
    const { world, reads } = aWorld(lease, { machine: 'm' });
    expect(await world.run()).toEqual(['updateStatus']);
    expect(world.watched().decision).toMatchObject({ do: 'converged' });
    expect(reads).toEqual([]);
  });

  it('of a Node says that there is none', async () => {
    const { world } = aWorld(lease, { machine: 'other', isOver: true });
    await world.run();
    expect(world.condition('Stalled')).toMatchObject({ status: 'True', reason: 'NoMachine' });
  });

  it('that fails is said as a failure of observe is', async () => {
    const jobs = { read: () => Promise.reject(new StepError('refused', 'no room')) };
    const { world } = aWorld({ ...lease, lookups: { jobs } });
    await world.run();
    expect(world.condition('Ready')).toMatchObject({
      status: 'False',
      reason: 'ObserveFailed',
      message: 'no room',
    });
  });

  it.each<[what: string, more: object]>([
    ['', {}],
    [', also with observe', { observe: () => Promise.resolve('seen') }],
  ])('is a mistake on the way to converged%s', async (_, more) => {
    const { world } = aWorld({
      ...{ ...lease, ...more },
      decide: ({ lookups: { jobs } }, next) => next.converged(`there are ${JSON.stringify(jobs)}`),
    });
    await world.run();
    expect(await world.run()).toEqual([
      expect.stringContaining('decide asks for lookup jobs on the way to next.converged'),
    ]);
  });

  it('has the type of what it returns', () => {
    defineController({
      ...{ name: 'typed', for: Lease },
      clients: () => ({ count: () => Promise.resolve(3) }),
      lookups: {
        count: { read: ({ clients }) => clients.count() },
        names: { read: async ({ kube }) => (await kube.list(JOBS)).map(({ metadata }) => metadata.name) },
      },
      steps: {
        act: { summary: 'act', forgets: ['names', 'node'], run: () => Promise.resolve('acted') },
      },
      decide({ lookups }, next) {
        const count: number | undefined = lookups.count;
        const names: readonly string[] | undefined = lookups.names;
        // @ts-expect-error -- it may not have been read yet
        const first: string = lookups.names[0];
        // @ts-expect-error -- there is no such lookup
        const others: unknown = lookups.others;
        return next.stalled({
          reason: 'Typed',
          message: [count, names, first, others].join(', '),
          advice: [],
        });
      },
    });
  });
});

describe('a decision', () => {
  const { of } = decisions(lease);
  const resource = { spec: { machine: 'm', isOver: true } };

  it('says which lookup it needs', () => {
    expect(of(resource, undefined)).toEqual({ do: 'observe', because: 'lookup node m has to be read' });
    const node = { m: undefined };
    expect(of(resource, undefined, { lookups: { node } })).toMatchObject({
      do: 'stalled',
      reason: 'NoMachine',
    });
  });

  it('is given what was read', () => {
    const [node, job] = [
      { m: { metadata: { name: 'm', uid: 'uid-m', resourceVersion: '1' } } },
      { name: 'a', uid: 'uid-a' },
    ];
    expect(of(resource, undefined, { lookups: { node, jobs: [job] } })).toEqual({
      do: 'clear',
      because: 'the lease is over',
      data: job,
    });
  });
});
