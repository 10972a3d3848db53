import { describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { defineController, defineKind } from 'durable-operator';
import { explore, type CallsOf } from '../../testing/index.ts';

jest.setTimeout(120_000);

/** It chooses the ID of each zone, the same one for the same key, and cannot be asked for its zones but by ID. */
function registry() {
  return {
    zones: {} as Record<string, { readonly key: string }>,
    create(key: string): string {
      const [known] = Object.entries(this.zones).find(([, zone]) => zone.key === key) ?? [];
      const id = known ?? `zone-${Object.keys(this.zones).length + 1}`;
      this.zones[id] = { key };
      return id;
    },
    find(id: string): { readonly key: string } | undefined {
      return this.zones[id];
    },
    remove(id: string): void {
      Reflect.deleteProperty(this.zones, id);
    },
  };
}

type Registry = ReturnType<typeof registry>;

const Zone = defineKind({
  ...{ group: 'example.com', version: 'v1', kind: 'Zone', description: 'A zone of a registry.' },
  spec: z.object({}),
  status: z.object({ id: z.string().optional() }),
});

const zoneIn = (outside: CallsOf<Registry>) =>
  defineController({
    name: 'zone',
    for: Zone,
    finalizer: 'example.com/zone',
    observe: ({ resource: { status } }) =>
      status.id === undefined ? Promise.resolve(undefined) : outside.find(status.id),
    steps: {
      create: {
        summary: 'create the zone',
        async run({ idempotencyKey }) {
          const id = await outside.create(idempotencyKey);
          return { message: `created ${id}`, status: { id } };
        },
      },
      remove: {
        summary: 'remove the zone',
        async run({ resource: { status } }) {
          await outside.remove(status.id ?? '');
          return 'removed the zone';
        },
      },
    },
    decide({ resource: { isBeingDeleted, status }, observed, unknown }, next) {
      const isIdLost = status.id === undefined && unknown.some(({ step }) => step === 'create');
      if (isBeingDeleted && observed) return next.do.remove('it is being deleted');
      // Asked again with the same key, the registry says the ID of what it may have made.
      if (isBeingDeleted && isIdLost) return next.do.create('there may be a zone whose ID nobody knows');
      if (isBeingDeleted) return next.removeFinalizer('no zone is left');
      return observed ? next.converged('the zone is there') : next.do.create('there is no zone');
    },
    status: ({ resource: { status } }) => status,
  });

describe('an ID that a server assigns', () => {
  it('is in the status in the same attempt: one zone is made, whatever fails', async () => {
    const { unexplored } = await explore(zoneIn, {
      resource: { spec: {} },
      outside: registry(),
      finally: ({ resource, outside: { zones } }) => [
        resource && Object.keys(zones).length !== 1 && `there are ${Object.keys(zones).length} zones`,
      ],
    });
    expect(unexplored).toEqual([]);
  });
});
