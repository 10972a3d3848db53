import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { isReady, stack } from 'durable-operator/testing';
import { Store } from '../store.ts';

const store = new Store();
store.server.listen(0, '127.0.0.1');
await once(store.server, 'listening');
const env = { STORE_URL: `http://127.0.0.1:${(store.server.address() as AddressInfo).port}` };

const servers = await stack();
after(async () => {
  await servers.stop();
  store.server.close();
  store.server.closeAllConnections();
});

const aBucket = (namespace: string) => servers.applySample('samples/bucket.yaml', namespace);

test('wherever the operator is killed, there is one bucket, and none in the end', async () => {
  const writes = await servers.killAfterEveryWrite(
    async (namespace) => {
      const bucket = await aBucket(namespace);
      await servers.until(bucket, isReady);
      assert.equal(store.buckets.size, 1);
      await servers.delete(bucket);
      await servers.untilGone(bucket);
      assert.equal(store.buckets.size, 0);
    },
    { env },
  );
  // The finalizer; that it is made; Ready; that it is removed; the finalizer again.
  const [status, resource] = ['patch buckets/photos/status', 'patch buckets/photos'];
  assert.deepEqual(writes, [resource, status, status, status, resource]);
});

test('what changes while a server is down is done afterwards, with the rights that it has', async () => {
  const operator = await servers.operator({ env });
  const bucket = await aBucket(await servers.namespace());
  await servers.until(bucket, isReady);
  await servers.outage('temporal', () => servers.patch(bucket, { spec: { versioned: false } }));
  await servers.until(bucket, isReady);
  assert.deepEqual([...store.buckets.values()].map(versioned), [false]);
  await servers.outage('kubernetes', () => operator.kill());
  await operator.start();
  await servers.patch(bucket, { spec: { versioned: true } });
  await servers.until(bucket, isReady);
  assert.deepEqual([...store.buckets.values()].map(versioned), [true]);
  assert.match(
    await operator.ask('why', 'bucket/photos', '-n', bucket.metadata.namespace ?? ''),
    /up to date/,
  );
  // A restart lists what it watches, and starts nothing.
  await operator.expectCosts({ calls: 5, runs: 0, events: 0 }, async () => {
    await operator.stop();
    await operator.start();
  });
  await servers.delete(bucket);
  await servers.untilGone(bucket);
  operator.expectLeastPrivilege();
  await operator.stop();
});

function versioned(bucket: object): unknown {
  return 'versioned' in bucket && bucket.versioned;
}
