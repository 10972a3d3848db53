import { describe, expect, it } from '@jest/globals';
import { child } from '../../src/api/child.ts';
import { defineController } from '../../src/api/controller.ts';
import { JOBS } from '../../src/api/kinds.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';
import { Website } from '../support/website.ts';

/** A Job that is made once, such as a migration. */

const JOB = objectKey(JOBS, 'front');
const migrating = defineController({
  name: 'website',
  for: Website,
  owns: [JOBS],
  children: ({ resource: { metadata, spec } }) => [
    child(
      {
        ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: metadata.name } },
        spec: { template: { spec: { containers: [{ name: 'migrate', image: spec.image }] } } },
      },
      { createOnly: true },
    ),
  ],
});

async function aWorld(): Promise<AuthorWorld> {
  const world = new AuthorWorld(migrating, { types: [JOBS], spec: { image: 'one' } });
  await world.run();
  return world;
}

async function complete(world: AuthorWorld): Promise<void> {
  const status = { conditions: [{ type: 'Complete', status: 'True' }] };
  world.cluster.change(JOB, (job) => ({ ...job, status }));
  await world.run();
}

function declare(world: AuthorWorld, image: string): void {
  world.cluster.change(objectKey(Website, 'front'), (site) => ({
    ...site,
    metadata: { ...site.metadata, generation: 2 },
    spec: { image },
  }));
}

describe('a Job that is made once, and was complete', () => {
  it('is not made again when something deletes it, which is said', async () => {
    const world = await aWorld();
    await complete(world);
    expect(world.condition('JobsCompleted')?.['message']).toContain('Job shop/front');
    world.cluster.change(JOB, ({ metadata, ...job }) => ({
      ...job,
      metadata: {
        ...metadata,
        deletionTimestamp: '2026-01-01T00:00:00Z',
        finalizers: ['foregroundDeletion'],
      },
    }));
    expect(world.watched().decision.do).toBe('converged');
    world.cluster.remove(JOB);
    expect(world.watched().decision.do).toBe('converged');
    expect(await world.run()).toEqual([]);
    expect(world.condition('Ready')?.['status']).toBe('True');
  });

  it('is made again for another declaration, and once', async () => {
    const world = await aWorld();
    await complete(world);
    world.cluster.remove(JOB);
    declare(world, 'two');
    expect(world.watched().decision.do).toBe('createJob');
    expect(await world.run()).toEqual(['createJob', 'updateStatus']);
    await complete(world);
    world.cluster.remove(JOB);
    expect(await world.run()).toEqual([]);
  });

  it('is made anew if it is deleted before it is complete', async () => {
    const world = await aWorld();
    world.cluster.remove(JOB);
    expect((await world.run())[0]).toBe('createJob');
  });

  it('is not made again where its declaration has changed while it was there', async () => {
    const world = await aWorld();
    await complete(world);
    declare(world, 'two');
    await world.run();
    declare(world, 'one');
    world.cluster.remove(JOB);
    expect(world.watched().decision.do).not.toBe('createJob');
  });
});
