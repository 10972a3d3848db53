import { describe, expect, it } from '@jest/globals';
import { STATEFUL_SETS } from '../../src/api/built-in.ts';
import { defineController } from '../../src/api/controller.ts';
import { PODS } from '../../src/api/kinds.ts';
import { allow } from '../../src/api/policy-rule.ts';
import { AuthorWorld } from '../support/author-world.ts';
import { Website } from '../support/website.ts';

/** A declared object whose Pods do not get ready. */

const labels = { app: 'front' };
const withoutRight = defineController({
  name: 'website',
  for: Website,
  owns: [STATEFUL_SETS],
  children: ({ resource: { metadata } }) => [
    {
      ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: metadata.name } },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels } } },
    },
  ],
});
const withRight = defineController({ ...withoutRight, permissions: [allow(PODS, ['list'])] });
const MINUTE_MS = 60_000;

function aWorld(definition = withRight): AuthorWorld {
  return new AuthorWorld(definition, { types: [STATEFUL_SETS, PODS], spec: { image: 'one' } });
}

function aPod(world: AuthorWorld, reason?: string): void {
  const state = reason === undefined ? {} : { waiting: { reason } };
  const containerStatuses = [{ name: 'web', image: 'typo', state }];
  world.put(PODS, {
    metadata: { name: 'front-0', labels, creationTimestamp: new Date(world.nowMs).toISOString() },
    status: { containerStatuses },
  });
}

const message = (world: AuthorWorld) => world.condition('Ready')?.['message'];
const NOT_READY = 'StatefulSet shop/front is not ready yet';

describe('a declared object whose Pods do not get ready', () => {
  it('is told with the Pod that hangs, and what to do, once it had a minute', async () => {
    const world = aWorld();
    await world.run();
    expect(message(world)).toBe(NOT_READY);
    aPod(world, 'ImagePullBackOff');
    expect(world.watched().decision).toMatchObject({ do: 'converged', recheckMs: MINUTE_MS });
    world.nowMs = MINUTE_MS;
    expect(world.watched().decision.do).toBe('observe');
    expect(await world.run()).toEqual(['updateStatus']);
    expect(message(world)).toBe(
      `${NOT_READY}: Pod front-0 cannot pull the image typo; check that the image exists, and that the nodes reach its registry`,
    );
    expect(world.condition('Reconciling')?.['status']).toBe('False');
    expect(world.watched().decision).toMatchObject({ do: 'converged' });
    expect(world.watched().decision).not.toHaveProperty('recheckMs');
    expect(await world.run()).toEqual([]);
  });

  it('is looked at again, ever less often, while no Pod says why', async () => {
    const world = aWorld();
    await world.run();
    aPod(world);
    for (const minutes of [1, 10, 60]) {
      world.nowMs = minutes * MINUTE_MS - 1;
      expect(world.watched().decision.do).toBe('converged');
      world.nowMs += 1;
      expect(world.watched().decision.do).toBe('observe');
      expect(await world.run()).toEqual(['updateStatus']);
      expect(message(world)).toContain('its Pods do not say why');
    }
    expect(world.watched().decision).not.toHaveProperty('recheckMs');
  });

  it('has a minute also where the resource has not been ready for long', async () => {
    const world = aWorld();
    await world.run();
    world.nowMs = 10 * MINUTE_MS;
    aPod(world);
    expect(await world.run()).toEqual([]);
    const end = await world.step('observe');
    expect(end.next).toMatchObject({ do: 'wait', recheckMs: MINUTE_MS });
  });

  it('is not looked into without the right to list Pods', async () => {
    const world = aWorld(withoutRight);
    await world.run();
    aPod(world, 'ImagePullBackOff');
    world.nowMs = MINUTE_MS;
    expect(world.watched().decision).toMatchObject({ do: 'converged' });
    expect(await world.run()).toEqual([]);
    expect(message(world)).toBe(NOT_READY);
  });
});
