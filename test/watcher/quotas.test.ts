import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Quotas } from '../../src/watcher/quotas.ts';
import { eventually } from '../../testing/eventually.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { FakeCollection } from '../support/fake-collection.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

let quotas: Quotas;
let collection: FakeCollection;
let changed: string[];

afterEach(() => quotas.stop());

const api = aFakeApi();

beforeEach(() => {
  collection = new FakeCollection();
  collection.put('pods');
  changed = [];
  api.server.handle(collection.handler);
  quotas = aWatch();
});

function aWatch(namespaces: readonly string[] = []): Quotas {
  const onChange = (namespace: string) => changed.push(namespace);
  return new Quotas({ client: api.client, namespaces, log: aRecordingLogger(), onChange });
}

async function watching(): Promise<void> {
  quotas.start();
  await eventually(() => collection.openWatches === 1);
}

/** Somebody changes how many Pods a quota allows. */
function raises(pods: number, namespace = 'default', name = 'pods'): void {
  const metadata = { name, namespace, uid: 'uid-1', resourceVersion: String(1_000 + pods) };
  const object = { metadata, spec: { hard: { pods } }, status: { used: { pods: 7 } } };
  collection.sendLine(JSON.stringify({ type: 'MODIFIED', object }));
}

describe('what the quotas of a namespace allow', () => {
  it('is no change as the first list shows it: a process that starts ends no backoff', async () => {
    await watching();
    expect(quotas.in('default')).toBe('');
    expect(changed).toEqual([]);
  });

  it('is changed by whoever raises one, which is reported each time', async () => {
    await watching();
    raises(20);
    await eventually(() => quotas.in('default') === 'quotas changed 1');
    raises(30);
    await eventually(() => quotas.in('default') === 'quotas changed 2');
    expect(changed).toEqual(['default', 'default']);
    expect(quotas.in('elsewhere')).toBe('');
  });

  it('is forgotten of the namespace that nobody has asked about for longest, where there are very many', async () => {
    await watching();
    for (const namespace of ['gone', 'shop']) raises(1, namespace, 'jobs');
    await eventually(() => changed.length === 2);
    expect(quotas.in('gone')).toBe('quotas changed 1');
    expect(quotas.in('shop')).toBe('quotas changed 1');
    for (let i = 0; i < 9_999; i += 1) raises(1, `team-${i}`, 'jobs');
    await eventually(() => changed.length === 10_001);
    expect(quotas.in('gone')).toBe('');
    expect(quotas.in('shop')).toBe('quotas changed 1');
  });

  it('is watched in each namespace by itself, where only some are', async () => {
    quotas = aWatch(['shop', 'team']);
    quotas.start();
    await eventually(() => collection.openWatches === 2);
    expect(new Set(api.server.requests.map(({ url }) => url.pathname))).toEqual(
      new Set(['shop', 'team'].map((name) => `/api/v1/namespaces/${name}/resourcequotas`)),
    );
  });
});
