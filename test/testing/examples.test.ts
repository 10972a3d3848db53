import { describe, expect, it, jest } from '@jest/globals';
import { DEPLOYMENTS, defineController } from 'durable-operator';
import { bucket } from '../../examples/bucket/src/bucket.ts';
import { migration } from '../../examples/migration/src/migration.ts';
import { Website, website } from '../../examples/website/src/website.ts';
import { explore, type AnyObject, type FetchAnswer, type FetchRequest } from '../../testing/index.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

interface Stored {
  readonly versioned: boolean;
  readonly url: string;
}

/** The store of the example, behind fetch. */
const store = {
  buckets: {} as Record<string, Stored>,
  fetch({ method, url, body }: FetchRequest): FetchAnswer {
    const id = url.slice(url.lastIndexOf('/') + 1);
    if (method === 'DELETE') Reflect.deleteProperty(this.buckets, id);
    if (method === 'PUT') {
      const { versioned } = body as Stored;
      this.buckets[id] = { versioned, url: `store://${id}` };
    }
    const stored = this.buckets[id];
    return stored === undefined ? { status: 404 } : { status: 200, body: stored };
  },
};

function end(job: AnyObject | undefined, type: 'Complete' | 'Failed'): void {
  if (job !== undefined && job['status'] === undefined)
    job['status'] = { conditions: [{ type, status: 'True' }] };
}

/** As the Deployment controller sees to it. */
function getReady(deployment: AnyObject | undefined): void {
  if (deployment === undefined) return;
  const { replicas } = deployment['spec'] as { readonly replicas: number };
  deployment['status'] = {
    observedGeneration: (deployment['metadata'] as { readonly generation: number }).generation,
    ...{ replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas },
    conditions: [{ type: 'Available', status: 'True' }],
  };
}

const PARTS = ['a', 'b', 'c'];

const threeDeployments = defineController({
  name: 'three-deployments',
  for: Website,
  owns: [DEPLOYMENTS],
  children: ({ resource: { metadata, spec } }) =>
    PARTS.map((part) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: `${metadata.name}-${part}` },
      spec: {
        replicas: 1,
        selector: { matchLabels: { part } },
        template: {
          metadata: { labels: { part } },
          spec: { containers: [{ name: 'web', image: spec.image }] },
        },
      },
    })),
});

const FAULTS = ['crash', 'error', 'linger', 'abandon', 'late', 'restart', 'duplicate', 'outage', 'relist'];

describe('explore finds nothing wrong with the example', () => {
  it('of an outside system, whose client fetches', async () => {
    const { explored } = await explore(bucket, {
      resource: { spec: {} },
      outside: store,
      userEdits: { 'versioning is turned on': ({ spec }) => (spec.versioned = true) },
      externalChanges: { 'the store loses it': ({ outside }) => (outside.buckets = {}) },
    });
    expect(explored).toContain('somebody deletes the resource');
  });

  it('of an outside system that is away for a while', async () => {
    const { explored } = await explore(bucket, {
      resource: { spec: {} },
      outside: {
        ...store,
        isAway: false,
        fetch(asked: FetchRequest): FetchAnswer {
          return this.isAway ? { status: 503 } : store.fetch.call(this, asked);
        },
      },
      externalChanges: { 'the store goes away': ({ outside }) => (outside.isAway = true) },
      happens: { 'the store is back': ({ outside }) => (outside.isAway = false) },
    });
    expect(explored).toContain('the store goes away');
  });

  it('of declared objects', async () => {
    const { explored } = await explore(website, {
      resource: { spec: { image: 'one' } },
      userEdits: { 'another image is asked for': ({ spec }) => (spec.image = 'two') },
      externalChanges: {
        'somebody scales the Deployment': ({ objects }) => {
          const deployment = objects['deployments/example'];
          Object.assign(deployment?.['spec'] ?? {}, { replicas: 5 });
        },
        'somebody deletes the Service': ({ objects }) => delete objects['services/example'],
      },
      happens: { 'the Deployment gets ready': ({ objects }) => getReady(objects['deployments/example']) },
    });
    expect(explored).toContain('somebody deletes the resource');
  });

  it('of three declared objects, each of which gets ready at its own time', async () => {
    const happens = Object.fromEntries(
      PARTS.map((part) => [
        `${part} gets ready`,
        ({ objects }: { readonly objects: Readonly<Record<string, AnyObject | undefined>> }) =>
          getReady(objects[`deployments/example-${part}`]),
      ]),
    );
    const { explored } = await explore(threeDeployments, { resource: { spec: { image: 'one' } }, happens });
    expect(explored).toEqual(expect.arrayContaining(FAULTS));
  });

  it('of a procedure of Jobs, as far as some of the orders show', async () => {
    const explored = explore(
      migration,
      {
        resource: {
          spec: { image: 'tools', backup: 'dump', migrate: 'up', verify: 'check', rollback: 'restore' },
        },
        externalChanges: {
          'a Job fails': ({ objects }) => Object.values(objects).forEach((job) => end(job, 'Failed')),
        },
        happens: {
          'the Jobs complete': ({ objects }) => Object.values(objects).forEach((job) => end(job, 'Complete')),
        },
      },
      { states: 8_000 },
    );
    await expect(explored).rejects.toThrow(/^migration: left out: /);
  });
});
