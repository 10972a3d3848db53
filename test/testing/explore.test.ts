import { describe, expect, it, jest } from '@jest/globals';
import { explore } from '../../testing/index.ts';
import { bucketIn, type Store } from '../support/bucket.ts';
import { aStore } from './store.ts';

// Its bounds are states. This is for what hangs.
jest.setTimeout(900_000);

const resource = { spec: { versioned: false } };

describe('explore', () => {
  it('finds nothing wrong with a bucket, whatever fails on the way', async () => {
    const explored = await explore(
      (store: Store) => ({ ...bucketIn(store), pollInterval: '10m' }),
      {
        resource,
        outside: aStore(),
        userEdits: { 'versioning is turned on': ({ spec }) => (spec.versioned = true) },
        externalChanges: { 'the store loses it': ({ outside }) => (outside.buckets = {}) },
        finally: ({ resource: bucket, outside }) => [
          bucket && outside.buckets[bucket.metadata.uid] === undefined && 'the store has no bucket',
        ],
      },
      { seconds: 300 },
    );
    expect(explored.explored).toEqual(expect.arrayContaining(['crash', 'versioning is turned on + linger']));
    expect(explored.unexplored).toEqual([]);
  });

  it('fails at the bound of states, and says what it left out', async () => {
    const explored = explore(bucketIn, { resource, outside: aStore() }, { states: 300 });
    await expect(explored).rejects.toThrow(
      /^bucket: left out: .*somebody deletes the resource \+ crash.*\nthere are more than \d+ states\n +1\. it begins/,
    );
  });

  it('does not fail when the seconds are over that its author gives it, and says what is left', async () => {
    const bounds = { seconds: 0 };
    const { explored, unexplored } = await explore(bucketIn, { resource, outside: aStore() }, bounds);
    expect(explored).toEqual([]);
    expect(unexplored).toEqual(
      expect.arrayContaining(['nothing', 'crash', 'somebody deletes the resource + crash']),
    );
  });

  it('leaves no timer behind, which would give up on an attempt that stops where the exploration leaves it', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    const before = timers();
    await explore(bucketIn, { resource, outside: aStore() }, { states: 3_000 }).catch(() => undefined);
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it('prints what each disturbance takes, and its speed, if that is asked for', async () => {
    const print = jest.spyOn(console, 'log').mockReturnValue();
    await explore(bucketIn, { resource, outside: aStore() }, { seconds: 0, verbose: true });
    const lines = print.mock.calls.map(([line]) => String(line));
    print.mockRestore();
    expect(lines[0]).toMatch(/^bucket: nothing: left out after 0 states$/);
    expect(lines.at(-1)).toMatch(/^bucket: \d+ states in [\d.]+ s, \d+ states per second$/);
  });
});
