import { z } from 'zod';
import { defineController } from '../../src/api/controller.ts';
import { defineKind } from '../../src/api/kind.ts';

/** What the store has of a bucket. */
export interface Stored {
  readonly versioned: boolean;
}

/** The store that a bucket is in: an outside system. */
export interface Store {
  find(uid: string, signal: AbortSignal): Promise<Stored | undefined>;
  create(uid: string, key: string): Promise<void>;
  setVersioning(uid: string, versioned: boolean): Promise<void>;
  remove(uid: string): Promise<void>;
}

export const Bucket = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Bucket',
  description: 'A bucket in a store.',
  spec: z.object({
    versioned: z.boolean().default(false).meta({ description: 'Whether it keeps old versions.' }),
  }),
  status: z.object({ url: z.string().optional().meta({ description: 'Where it is.' }) }),
});

export const FINALIZER = 'example.com/bucket';
/** Of a resource of which a step may be in progress. */
export const UNDER_WAY = {
  ...{ type: 'ExternalStep', status: 'True', reason: 'MayBeInProgress', message: 'provision' },
  ...{ observedGeneration: 1, lastTransitionTime: '2026-11-21T12:00:00Z' },
};

/** What an author writes about an outside system. */
export function bucketIn(store: Store) {
  return defineController({
    name: 'bucket',
    for: Bucket,
    finalizer: FINALIZER,
    observe: ({ resource, signal }) => store.find(resource.metadata.uid, signal),
    steps: {
      provision: {
        summary: 'create the bucket',
        run: async ({ resource, idempotencyKey }) => {
          await store.create(resource.metadata.uid, idempotencyKey);
          return 'created the bucket';
        },
      },
      setVersioning: {
        summary: 'set versioning',
        run: async ({ resource }, { to }: { readonly to: boolean }) => {
          await store.setVersioning(resource.metadata.uid, to);
          return `set versioning to ${to}`;
        },
      },
      remove: {
        summary: 'remove the bucket',
        run: async ({ resource }) => {
          await store.remove(resource.metadata.uid);
          return 'removed the bucket';
        },
      },
    },
    decide({ resource: { spec, isBeingDeleted }, observed }, next) {
      if (isBeingDeleted)
        return observed ? next.do.remove('it is being deleted') : next.removeFinalizer('no bucket is left');
      if (!observed) return next.do.provision('there is no bucket');
      if (observed.versioned !== spec.versioned)
        return next.do.setVersioning('the spec asks for it', { to: spec.versioned });
      return next.converged('the bucket is as specified');
    },
    status: ({ resource, observed }) => (observed ? { url: `store://${resource.metadata.uid}` } : {}),
  });
}
