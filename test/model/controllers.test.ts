import { describe, expect, it, jest } from '@jest/globals';
import { explore } from '../support/explorer/explorer.ts';
import { buildWorld } from '../support/explorer/git-build.ts';
import { ROLE_BINDING_WORLD } from '../support/explorer/namespace-role-binding.ts';
import { operatorIn, type Broken, type Scenario } from '../support/explorer/operator.ts';
import { POD_LABEL_WORLD } from '../support/explorer/pod-label.ts';
import { podSetWorld } from '../support/explorer/pod-set.ts';
import type { World } from '../support/explorer/world.ts';

jest.setTimeout(120_000);

const WORLDS: readonly (readonly [controller: string, world: World, scenario: Scenario])[] = [
  ['pod-label', POD_LABEL_WORLD, {}],
  ['namespace-role-binding', ROLE_BINDING_WORLD, {}],
  ['pod-set', podSetWorld({ replicas: 1 }), { slowness: 1 }],
  ['git-build', buildWorld(), { slowness: 0 }],
];

const states = async (world: World, scenario: Scenario, broken: Broken = {}) =>
  (await explore(operatorIn(world, scenario, broken))).states;

describe.each(WORLDS)('%s, with the watcher, its signals and its runs, in every order', (_, world, rest) => {
  it('converges, and does nothing twice', async () => {
    expect(await states(world, rest)).toBeGreaterThan(3);
  });

  it.each(['crash', 'restart', 'forget', 'duplicate', 'relist'])(
    'converges after %s, at any moment',
    async (fault) => {
      expect(await states(world, { ...rest, budget: { [fault]: 1 } })).toBeGreaterThan(3);
    },
  );
});

describe('the model finds', () => {
  it.each([
    ['pod-label', POD_LABEL_WORLD],
    ['pod-set', podSetWorld({ replicas: 1 })],
  ])('a watcher of %s that never finds anything to be news', async (_, world) => {
    const broken: Broken = { news: { newsIn: () => 'none' } };
    await expect(states(world, { slowness: 1 }, broken)).rejects.toThrow('it goes on for ever');
  });
});
