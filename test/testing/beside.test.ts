import { describe, expect, it, jest } from '@jest/globals';
import { bucketDefaults } from '../../examples/bucket/src/defaults.ts';
import { explore } from '../../testing/index.ts';
import { bucketIn, type Store } from '../support/bucket.ts';
import { aStore } from './store.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

describe('a controller of a kind whose status another controller writes', () => {
  it('ends as it does with a status, in every order of events, and writes none', async () => {
    const { explored } = await explore(
      (store: Store) => ({ ...bucketIn(store), pollInterval: '10m', leavesStatus: true as const }),
      {
        resource: { spec: { versioned: false } },
        outside: aStore(),
        userEdits: { 'versioning is turned on': ({ spec }) => (spec.versioned = true) },
        externalChanges: { 'the store loses it': ({ outside }) => (outside.buckets = {}) },
        finally: ({ resource, outside }) => [
          resource &&
            outside.buckets[resource.metadata.uid]?.versioned !== resource.spec.versioned &&
            'the bucket is not as specified',
          resource?.status !== undefined && 'it has a status',
        ],
      },
    );
    expect(explored).toContain('versioning is turned on + crash');
  });

  it('can be explored as it runs there', async () => {
    const { explored } = await explore(
      { ...bucketDefaults, leavesStatus: true as const },
      {
        resource: { metadata: { labels: { tier: 'gold' } }, spec: {} },
        userEdits: { 'versioning is turned off': ({ spec }) => (spec.versioned = false) },
        finally: ({ resource }) => [resource?.spec.versioned === false && 'it is not versioned'],
      },
    );
    expect(explored).toContain('crash');
  });
});
