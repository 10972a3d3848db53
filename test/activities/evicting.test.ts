import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { allow, defineController, defineKind, PODS } from '../../src/api/index.ts';
import { statusAnswer } from '../../testing/explorer/api-server.ts';
import { AuthorWorld } from '../support/author-world.ts';

const Drain = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Drain', description: 'An app without Pods.' },
  spec: z.object({}),
});

/** Evicts all Pods, one after the other. */
function draining(isObserving: boolean, given: object = {}) {
  const view = ({
    metadata: { name, uid },
  }: {
    readonly metadata: { readonly name: string; readonly uid: string };
  }) => ({
    ...{ name, uid },
  });
  return defineController({
    name: 'drain',
    for: Drain,
    owns: [{ ...PODS, view, ownerOf: () => ({ namespace: 'shop', name: 'front' }) }],
    permissions: [allow(PODS, ['create'], { subresource: 'eviction' })],
    ...(isObserving && { observe: () => Promise.resolve('seen') }),
    steps: {
      evict: {
        summary: 'evict the Pods',
        external: false,
        deletes: ({ owned }) => ({ what: 'Pod', count: owned.length, objects: () => owned }),
        run: async ({ kube, owned, progress }) => {
          for (const { name, uid } of owned) {
            await kube.evict({ namespace: 'shop', name }, { uid });
            progress(`evicted Pod ${name}`);
          }
          return 'evicted all';
        },
      },
    },
    decide: ({ owned }, next) =>
      owned.length > 0 ? next.do.evict('there are Pods') : next.converged('there are none'),
    ...given,
  });
}

/** @param refused the Pods that a PodDisruptionBudget protects */
function aWorld(isObserving: boolean, refused: Set<string>, causes?: readonly object[], given?: object) {
  const world = new AuthorWorld(draining(isObserving, given), {
    types: [PODS],
    spec: {},
    refuse: ({ path }) => {
      const [, pod = ''] = /pods\/([^/]*)\/eviction$/.exec(path) ?? [];
      const details = { causes: causes ?? [{ reason: 'DisruptionBudget', message: MESSAGE }] };
      return refused.has(pod)
        ? statusAnswer(429, { reason: 'TooManyRequests', message: 'Cannot evict', details })
        : undefined;
    },
  });
  for (const name of ['web-1', 'web-2']) world.put(PODS, { metadata: { name } });
  return world;
}

const MESSAGE = 'The disruption budget web needs 2 healthy pods and has 2 currently';
const WAIT = 'PodDisruptionBudget web to allow the eviction of Pod';

describe.each([
  ['that observes', true],
  ['that does not', false],
])('an eviction by a controller %s', (_, isObserving) => {
  it('waits for a PodDisruptionBudget, and neither fails nor asks again at once', async () => {
    const world = aWorld(isObserving, new Set(['web-1']));
    expect(await world.run()).toEqual(['evict', 'updateStatus']);
    expect(world.requests.filter((each) => each.endsWith('eviction'))).toEqual(['POST web-1/eviction']);
    const message = `waiting for ${WAIT} web-1`;
    expect(world.condition('Ready')).toMatchObject({ status: 'False', reason: 'Waiting', message });
    expect(await world.run()).toEqual(['evict']);
  });

  it('keeps what it has done before, and goes on once it may', async () => {
    const refused = new Set(['web-2']);
    const world = aWorld(isObserving, refused);
    const { did, next, refusal } = await world.step('evict');
    expect(did).toEqual([{ did: 'evicted', what: 'Pod web-1' }]);
    expect({ next, refusal }).toMatchObject({ next: { do: 'updateStatus' }, refusal: undefined });
    refused.clear();
    await world.run();
    expect(world.condition('Ready')).toMatchObject({ status: 'True' });
    expect(world.cluster.list(PODS)).toEqual([]);
  });
});

it('an eviction that is tried again changes the status no more, or the watch would end the wait', async () => {
  const world = aWorld(true, new Set(['web-1']), undefined, { finalizer: 'example.com/drain' });
  await world.run();
  const { length } = world.requests;
  expect(await world.run()).toEqual(['evict']);
  expect(world.requests.slice(length)).toEqual(['POST web-1/eviction']);
});

describe('the pause until the next try', () => {
  const nextAfter = async (causes: readonly object[]) => {
    const world = aWorld(false, new Set(['web-1']), causes);
    await world.run();
    return (await world.step('evict')).next;
  };

  it('is 10 s, also where the server does not say which PodDisruptionBudget it is', async () => {
    expect(await nextAfter([{ reason: 'DisruptionBudget' }])).toMatchObject({
      ...{ do: 'wait', recheckMs: 10_000 },
      for: 'a PodDisruptionBudget to allow the eviction of Pod web-1',
    });
  });
});
