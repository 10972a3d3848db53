import { describe, expect, it, jest } from '@jest/globals';
import { explore } from '../../testing/index.ts';
import { bucketIn, type Store } from '../support/bucket.ts';
import { aStore } from './store.ts';

jest.setTimeout(300_000);

const resource = { spec: { versioned: false } };

describe('explore', () => {
  it('finds nothing wrong with a bucket, whatever fails on the way', async () => {
    const explored = await explore(
      (store: Store) => ({ ...bucketIn(store), poll: { every: '10m' } }),
      {
        resource,
        outside: aStore(),
        edits: { 'versioning is turned on': ({ spec }) => (spec.versioned = true) },
        others: { 'the store loses it': ({ outside }) => (outside.buckets = {}) },
        finally: ({ resource: bucket, outside }) => [
          bucket && outside.buckets[bucket.metadata.uid] === undefined && 'the store has no bucket',
        ],
      },
      { seconds: 300 },
    );
    expect(explored.explored).toEqual(expect.arrayContaining(['crash', 'versioning is turned on + linger']));
    expect(explored.notExplored).toEqual([]);
  });

  it('says what it left out', async () => {
    const { explored, notExplored } = await explore(
      bucketIn,
      { resource, outside: aStore() },
      { states: 300 },
    );
    expect(explored).toContain('nothing');
    expect(notExplored).toContain('somebody deletes the resource + crash');
  });
});
