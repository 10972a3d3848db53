import { it, jest } from '@jest/globals';
import { database } from '../../examples/database/src/database.ts';
import { scenario } from '../../examples/database/test/scenario.ts';
import { explore } from '../../testing/index.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

it('objects in order, with a password that is generated once, survive whatever fails on the way', async () => {
  // All of it takes minutes, and is explored when the example changes: `npm test` there.
  await explore(database, { ...scenario, userEdits: {} }, { seconds: 60 });
});
