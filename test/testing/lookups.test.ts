import { describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { allow, defineController, defineKind, JOBS, NODES } from 'durable-operator';
import { explore } from '../../testing/index.ts';

jest.setTimeout(300_000);

const Lease = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'MachineLease', description: 'A machine for some time.' },
  spec: z.object({ isOver: z.boolean().default(false) }),
});

/** Once the lease of a machine is over, its Jobs go, unless the machine is gone. */
const lease = defineController({
  name: 'lease',
  for: Lease,
  finalizer: 'example.com/lease',
  permissions: [allow(JOBS, ['list', 'delete']), allow(NODES, ['get'])],
  lookups: { jobs: { read: ({ kube }) => kube.list(JOBS, { labelSelector: 'machine=m' }) } },
  steps: {
    clear: {
      ...{ summary: 'delete the Jobs', forgets: ['jobs'] },
      deletes: ({ lookups: { jobs = [] } }) => ({
        ...{ what: 'Job', count: jobs.length },
        objects: () => jobs.map(({ metadata }) => metadata),
      }),
      run: async ({ kube, progress }, uids: readonly string[]) => {
        for (const { metadata } of await kube.list(JOBS, { labelSelector: 'machine=m' })) {
          if (!uids.includes(metadata.uid)) continue;
          await kube.delete({ type: JOBS, ...metadata }, { uid: metadata.uid });
          progress(`deleted Job ${metadata.name}`);
        }
        return 'deleted all Jobs';
      },
    },
  },
  decide({ resource: { isBeingDeleted }, lookups }, next) {
    if (!isBeingDeleted) return next.converged('it is not over');
    if (lookups.node('m') === undefined) return next.removeFinalizer('the machine is gone');
    const { jobs = [] } = lookups;
    if (jobs.length === 0) return next.removeFinalizer('no Job is left');
    return next.do.clear(
      'the lease is over',
      jobs.map(({ metadata }) => metadata.uid),
    );
  },
});

const JOB = { metadata: { labels: { machine: 'm' } } };
const SCENARIO = {
  resource: { metadata: { finalizers: ['example.com/lease'] }, spec: {} },
  objects: { 'nodes/m': {}, 'jobs/a': JOB, 'jobs/b': JOB },
  mayChange: ['jobs/a', 'jobs/b'],
};

describe('lookups', () => {
  it('are explored: all Jobs are gone with the lease, whatever fails meanwhile', async () => {
    const { explored } = await explore(lease, {
      ...SCENARIO,
      finally: ({ resource, objects }) => [
        resource === undefined && (objects['jobs/a'] ?? objects['jobs/b']) && 'a Job is left',
      ],
    });
    expect(explored).toEqual(
      expect.arrayContaining(['nothing', 'crash', 'somebody deletes the resource + crash']),
    );
  });

  it('of a Node that is gone hold nothing up', async () => {
    await explore(lease, { ...SCENARIO, objects: { 'jobs/a': JOB, 'jobs/b': JOB } });
  });

  it('are read again after each wait', async () => {
    const waiting = defineController({
      ...lease,
      decide({ resource: { isBeingDeleted }, lookups: { jobs = [] } }, next) {
        if (!isBeingDeleted) return next.stalled({ reason: 'InUse', message: 'it is in use', advice: [] });
        return jobs.length > 0
          ? next.wait('the Jobs to end', { recheckAfter: '30s' })
          : next.removeFinalizer('no Job is left');
      },
    });
    await explore(waiting, {
      ...SCENARIO,
      happens: {
        'the Jobs end': ({ objects }) => {
          delete objects['jobs/a'];
          delete objects['jobs/b'];
        },
      },
      finally: ({ resource, objects }) => [
        resource?.metadata.deletionTimestamp && 'it is kept',
        resource === undefined && objects['jobs/a'] && 'a Job is left',
      ],
    });
  });

  it('are a mistake on the way to converged', async () => {
    const asking = defineController({
      ...lease,
      decide: (facts, next) =>
        facts.resource.isBeingDeleted
          ? (lease.decide?.(facts, next) ?? next.removeFinalizer('it is being deleted'))
          : next.converged(`it has ${facts.lookups.jobs?.length} Jobs`),
    });
    await expect(explore(asking, SCENARIO)).rejects.toThrow(
      'decide asks for lookup jobs on the way to next.converged',
    );
  });
});
