import { expect, it, jest } from '@jest/globals';
import { serviceDns } from '../../examples/service-dns/src/service-dns.ts';
import { scenario } from '../../examples/service-dns/test/scenario.ts';
import { explore } from '../../testing/index.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

it('a finalizer and outside work on a type that is not ours survive every order of events', async () => {
  const { unexplored } = await explore(serviceDns, scenario);
  expect(unexplored).toEqual([]);
});

it('its finalizer comes back where somebody takes it away, unless the resource is being deleted', async () => {
  // Else the next poll would notice it.
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- left out of the rest
  const { pollInterval: _, ...unpolled } = serviceDns;
  const { unexplored } = await explore(unpolled, {
    ...scenario,
    externalChanges: {},
    userEdits: {
      'somebody takes the finalizer away': ({ metadata }) => Object.assign(metadata, { finalizers: [] }),
    },
    mayStay: ['records'],
    finally: ({ resource }) => [resource && !resource.metadata.finalizers?.length && 'it has no finalizer'],
  });
  expect(unexplored).toEqual([]);
});
