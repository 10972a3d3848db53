import { expect, it, jest } from '@jest/globals';
import { maintenance } from '../../examples/maintenance/src/maintenance.ts';
import { scenario } from '../../examples/maintenance/test/scenario.ts';
import { explore } from '../../testing/index.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

it('no Pod is left on a Node, and it is released in the end, whatever fails on the way', async () => {
  const { unexplored } = await explore(maintenance, scenario);
  expect(unexplored).toEqual([]);
});
