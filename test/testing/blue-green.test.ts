import { expect, it, jest } from '@jest/globals';
import { rollout } from '../../examples/blue-green/src/rollout.ts';
import { scenario } from '../../examples/blue-green/test/scenario.ts';
import { explore } from '../../testing/index.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

it('a procedure that remembers its phase in the status survives every order of events', async () => {
  const { unexplored } = await explore(rollout, scenario);
  expect(unexplored).toEqual([]);
});
