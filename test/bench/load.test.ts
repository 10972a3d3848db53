import { describe, expect, it } from '@jest/globals';
import { Arrivals, type ArrivalsRequest } from '../../bench/arrivals.ts';
import { inFlight, timed } from '../../bench/load.ts';
import type { KubernetesClient, WatchEvent } from '../../src/kubernetes/client.ts';

/** A collection whose one watch yields what it is given, and then breaks. */
function watchYielding(...events: WatchEvent[]): KubernetesClient {
  const list: unknown = { metadata: { resourceVersion: '1' } };
  return {
    server: 'https://fake',
    request: <T>() => Promise.resolve(list as T),
    async *watch({ onOpen }) {
      onOpen?.();
      yield* events;
      await Promise.reject(new Error('the connection broke'));
    },
    close: () => Promise.resolve(),
  };
}

function seen(name: string, type: WatchEvent['type'] = 'MODIFIED'): WatchEvent {
  return { type, object: { metadata: { name, uid: name, resourceVersion: '2' } } };
}

function request(client: KubernetesClient): ArrivalsRequest {
  return { client, path: '/pods', arrivedAs: ({ metadata }) => metadata.name };
}

function arrivalsOf(client: KubernetesClient): Promise<Arrivals> {
  return Arrivals.open(request(client));
}

describe('a load', () => {
  it('has at most 20 requests in flight, and makes every one of them', async () => {
    let [underWay, most] = [0, 0];
    const called: string[] = [];
    const names = Array.from({ length: 50 }, (_, i) => `pod-${i}`);
    await inFlight(names, async (name) => {
      called.push(name);
      most = Math.max(most, ++underWay);
      await Promise.resolve();
      underWay -= 1;
    });
    expect([most, called]).toEqual([20, names]);
  });

  it('is timed for every resource, from its write to its arrival', async () => {
    const arrivals = await arrivalsOf(watchYielding(seen('a'), seen('b')));
    const written: string[] = [];
    const write = (name: string) => Promise.resolve(written.push(name));
    const { latenciesMs } = await timed({ load: 'at once', names: ['a', 'b'], write, arrivals });
    expect([written, latenciesMs.length]).toEqual([['a', 'b'], 2]);
  });
});

describe('what has not arrived', () => {
  it('fails with the reason where the watch broke', async () => {
    const arrivals = await arrivalsOf(watchYielding(seen('a')));
    await expect(arrivals.of('b')).rejects.toThrow('the connection broke');
    await expect(arrivals.of('a')).resolves.toBeGreaterThan(0);
  });

  it('is what is still there, where it is to be gone', async () => {
    const client = watchYielding(seen('a', 'DELETED'), seen('b'));
    const gone = await Arrivals.open({ ...request(client), awaited: 'gone' });
    await expect(gone.of('b')).rejects.toThrow('the connection broke');
    await expect(gone.of('a')).resolves.toBeGreaterThan(0);
  });

  it('is what was deleted', async () => {
    const arrivals = await arrivalsOf(watchYielding(seen('a', 'DELETED')));
    await expect(arrivals.of('a')).rejects.toThrow('the connection broke');
  });
});
