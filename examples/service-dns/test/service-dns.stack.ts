import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { stack, type StoredObject } from 'durable-operator/testing';
import { Dns } from '../dns-server.ts';

const dns = new Dns();
dns.server.listen(0, '127.0.0.1');
await once(dns.server, 'listening');
const env = { DNS_URL: `http://127.0.0.1:${(dns.server.address() as AddressInfo).port}` };

const servers = await stack();
after(async () => {
  await servers.stop();
  dns.server.close();
  dns.server.closeAllConnections();
});

/** With the address that a cloud would give it. */
async function aService(namespace: string): Promise<StoredObject> {
  const service = await servers.applySample('samples/service.yaml', namespace);
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } };
  await servers.patch(service, { status }, 'status');
  return service;
}

const hostnames = () => [...dns.records.values()].map(({ hostname }) => hostname);
const until = (service: StoredObject, hostname: string) =>
  servers.until(service, () => hostnames().join() === hostname);

test('wherever the operator is killed, there is one record, and none in the end', async () => {
  const writes = await servers.killAfterEveryWrite(
    async (namespace) => {
      const service = await aService(namespace);
      await until(service, 'shop.example.com');
      await servers.until(service, isRemembered);
      await servers.patch(service, {
        metadata: { annotations: { 'example.com/hostname': 'www.example.com' } },
      });
      await until(service, 'www.example.com');
      await servers.delete(service);
      await servers.untilGone(service);
      assert.deepEqual(hostnames(), []);
    },
    { env },
  );
  assert.ok(writes.length > 0);
  assert.deepEqual([...new Set(writes)], ['patch services/shop']);
});

test('without its annotation, nothing is left of it, outside or on the Service', async () => {
  const operator = await servers.operator({ env });
  const service = await aService(await servers.namespace());
  await until(service, 'shop.example.com');
  await servers.patch(service, { metadata: { annotations: { 'example.com/hostname': null } } });
  await servers.until(
    service,
    ({ metadata: { finalizers = [], annotations = {} } }) =>
      !finalizers.includes('example.com/service-dns') && !isNoted(annotations),
  );
  assert.deepEqual(hostnames(), []);
  operator.expectLeastPrivilege();
  await operator.stop();
});

test('a change while a record is written does not write it twice, but once more afterwards', async () => {
  const operator = await servers.operator({ env });
  dns.writesMs = 5_000;
  dns.writes.length = 0;
  const service = await aService(await servers.namespace());
  await servers.until(service, () => dns.writes.length === 1);
  await servers.patch(service, { metadata: { annotations: { 'example.com/hostname': 'www.example.com' } } });
  await until(service, 'www.example.com');
  await servers.until(service, isRemembered);
  dns.writesMs = 0;
  assert.deepEqual(dns.writes, ['begins', 'ends', 'begins', 'ends']);
  await servers.delete(service);
  await servers.untilGone(service);
  await operator.stop();
});

test('a write whose worker is killed is not begun by another one beside it', async () => {
  const args = ['--task-queue', 'two-workers'];
  const one = await servers.operator({ env, args });
  dns.writesMs = 9_000;
  dns.writes.length = 0;
  const service = await aService(await servers.namespace());
  await servers.until(service, () => dns.writes.length === 1);
  const other = await servers.operator({ env, args });
  await one.kill();
  await servers.until(service, isRemembered, 120);
  assert.doesNotMatch(dns.writes.join(' '), /begins begins/);
  dns.writesMs = 0;
  await servers.delete(service);
  await servers.untilGone(service);
  assert.deepEqual(hostnames(), []);
  await other.stop();
});

const STATE = 'state.durable-operator.dev/service-dns-operator.service-dns';

function isNoted(annotations: Readonly<Record<string, string>>): boolean {
  return STATE in annotations;
}

function isRemembered({ metadata: { annotations = {} } }: StoredObject): boolean {
  return (annotations[STATE] ?? '').includes('"type":"Ready","status":"True"');
}
