import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { isReady, stack, type StoredObject } from 'durable-operator/testing';
import { Dns } from '../dns-server.ts';

const RECORDS = 30;

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

test('30 records at once, on a bad day: never two of one, none left of what is deleted while the operator is dead', async () => {
  const operator = await servers.operator({ env });
  const namespace = await servers.namespace();
  const records: StoredObject[] = [];
  for (let number = 0; number < RECORDS; number += 1)
    records.push(
      await servers.apply({
        apiVersion: 'example.com/v1',
        kind: 'DnsRecord',
        metadata: { name: `record-${number}`, namespace },
        spec: { hostname: `${number}.example.com`, address: '192.0.2.7' },
      }),
    );
  // Some are made, some are on their way, some were not begun.
  const [first] = records;
  assert.ok(first);
  await servers.until(first, () => dns.records.size >= RECORDS / 3);
  const [dead, alive] = [records.slice(0, RECORDS / 2), records.slice(RECORDS / 2)];
  await operator.kill();
  for (const record of dead) await servers.delete(record);
  await operator.start();
  for (const record of dead) await servers.untilGone(record, 300);
  for (const record of alive) await servers.until(record, isReady, 300);
  assert.deepEqual(hostnames(), alive.map((_, place) => `${RECORDS / 2 + place}.example.com`).toSorted());
  for (const record of alive) await servers.delete(record);
  for (const record of alive) await servers.untilGone(record, 300);
  assert.deepEqual(hostnames(), []);
  assert.deepEqual(
    [...dns.made].filter(([, times]) => times > 1),
    [],
  );
  await operator.stop();
});

function hostnames(): readonly string[] {
  return [...dns.records.values()].map(({ hostname }) => hostname).toSorted();
}
