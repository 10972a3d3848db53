import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, SECRETS, SERVICES } from '../../src/api/built-in.ts';
import { defineController } from '../../src/api/controller.ts';
import { controllerReference } from '../../src/api/owner.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';
import { Website } from '../support/website.ts';

/** What an earlier version of a controller has left. */

const WEBSITE = objectKey(Website, 'front');
const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'front' } };
const declaring = defineController({
  name: 'website',
  for: Website,
  owns: [CONFIG_MAPS],
  retired: [SERVICES],
  children: () => [config],
});

function aWorld(definition: ConstructorParameters<typeof AuthorWorld>[0]): AuthorWorld {
  return new AuthorWorld(definition, { types: [CONFIG_MAPS, SERVICES, SECRETS], spec: { image: 'one' } });
}

/** Without our label: a step of an earlier version made it. */
function leave(world: AuthorWorld, name: string, owner: KubernetesObject): void {
  const ownerReferences = [controllerReference({ ...owner, apiVersion: 'example.com/v1', kind: 'Website' })];
  world.put(SERVICES, { metadata: { name, ownerReferences }, spec: {} });
}

const namesIn = ({ cluster }: AuthorWorld) =>
  cluster.list(SERVICES).map(({ object }) => object.metadata.name);

function hold({ cluster }: AuthorWorld, finalizers: readonly string[], isDeleted = false): void {
  const deletion = isDeleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
  cluster.change(WEBSITE, (site) => ({ ...site, metadata: { ...site.metadata, ...deletion, finalizers } }));
}

describe('objects of a type that is retired', () => {
  it('are deleted once all that is declared is there, and only those of the resource', async () => {
    const world = aWorld(declaring);
    const { resource } = world;
    leave(world, 'ours', resource);
    leave(world, 'of-another', { ...resource, metadata: { ...resource.metadata, uid: 'older' } });
    world.put(SERVICES, { metadata: { name: 'of-nobody' }, spec: {} });
    expect(world.watched().decision.do).toBe('createConfigMap');
    expect(await world.run()).toEqual(['createConfigMap', 'deleteService', 'updateStatus']);
    expect(namesIn(world).sort()).toEqual(['of-another', 'of-nobody']);
    expect(world.watched().decision.do).toBe('converged');
  });

  it.each([
    ['that only decides', {}],
    ['that observes', { observe: () => Promise.resolve(undefined), steps: {} }],
  ])('are deleted by a controller %s', async (_, more) => {
    const world = aWorld(
      defineController({
        ...{ name: 'website', for: Website, retired: [SERVICES], ...more },
        decide: (__, next) => next.converged('nothing is to be done'),
      }),
    );
    await world.run();
    leave(world, 'ours', world.resource);
    expect(world.watched().decision.do).toBe('deleteService');
    expect(await world.run()).toEqual(['deleteService']);
    expect(namesIn(world)).toEqual([]);
    expect(await world.run()).toEqual([]);
  });

  it('cannot be declared, nor be in owns', () => {
    expect(() => defineController({ ...declaring, retired: [CONFIG_MAPS] })).toThrow(
      'ConfigMap is in owns, and cannot be retired',
    );
  });
});

describe('a finalizer that is retired', () => {
  const observing = { observe: () => Promise.resolve('a bucket'), steps: {} };
  const renamed = defineController({
    ...{ name: 'website', for: Website, ...observing },
    finalizer: 'example.com/new',
    retiredFinalizers: ['example.com/old'],
    decide: ({ resource: { isBeingDeleted } }, next) =>
      isBeingDeleted ? next.removeFinalizer('nothing is left') : next.converged('all is there'),
  });
  const dropped = defineController({ ...declaring, retired: [], retiredFinalizers: ['example.com/old'] });

  it('is replaced in one write, so that the resource is held all the time', async () => {
    const world = aWorld(renamed);
    hold(world, ['theirs', 'example.com/old']);
    expect(await world.run()).toEqual(['addFinalizer', 'updateStatus']);
    expect(world.resource.metadata.finalizers).toEqual(['theirs', 'example.com/new']);
    hold(world, ['theirs', 'example.com/old']);
    expect(world.watched().decision.do).toBe('observe');
  });

  it('holds a resource that is being deleted until nothing is left', async () => {
    const world = aWorld(renamed);
    hold(world, ['theirs', 'example.com/old'], true);
    expect(await world.run()).toEqual(['removeFinalizer']);
    expect(world.resource.metadata.finalizers).toEqual(['theirs']);
  });

  it.each([[false], [true]])('goes where there is no other, being deleted or not: %s', async (isDeleted) => {
    const world = aWorld(dropped);
    hold(world, ['theirs', 'example.com/old'], isDeleted);
    expect(world.watched().decision.do).toBe('removeFinalizer');
    expect((await world.run())[0]).toBe('removeFinalizer');
    expect(world.resource.metadata.finalizers).toEqual(['theirs']);
  });

  it('that is in use is a mistake', () => {
    expect(() => defineController({ ...renamed, retiredFinalizers: ['example.com/new'] })).toThrow(
      'example.com/new is in use, and cannot be retired',
    );
  });
});
