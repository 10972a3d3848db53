import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { KubernetesObject } from 'durable-operator';
import { isReady, stack } from 'durable-operator/testing';
import { Directory } from '../directory.ts';

const directory = new Directory();
directory.server.listen(0, '127.0.0.1');
await once(directory.server, 'listening');
const env = {
  DURABLE_OPERATOR_DIRECTORY_URL: `http://127.0.0.1:${(directory.server.address() as AddressInfo).port}`,
};

const servers = await stack();
after(async () => {
  await servers.stop();
  directory.server.close();
  directory.server.closeAllConnections();
});

const aDatabase = (namespace: string) => servers.applySample('samples/database.yaml', namespace);
const [SECRET, STATEFUL_SET, SERVICE, APP, MONITOR] = [
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'shop' } },
  { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'shop' } },
  { apiVersion: 'v1', kind: 'Service', metadata: { name: 'shop' } },
  { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shop-app' } },
  { apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor', metadata: { name: 'shop' } },
] as const;

function inNamespace<T extends { readonly metadata: object }>(namespace: string, object: T) {
  return { ...object, metadata: { ...object.metadata, namespace } } as T & {
    readonly metadata: { readonly name: string; readonly namespace: string };
  };
}

async function passwordIn(namespace: string): Promise<string> {
  const secret = await servers.get(inNamespace(namespace, SECRET));
  return (secret?.['data'] as { readonly password?: string } | undefined)?.password ?? '';
}

test('wherever the operator is killed, the password stays, and nothing is left in the end', async () => {
  const writes = await servers.killAfterEveryWrite(
    async (namespace) => {
      const database = await aDatabase(namespace);
      await servers.until(inNamespace(namespace, SECRET), () => true);
      const password = await passwordIn(namespace);
      assert.notEqual(password, '');
      await servers.until(database, isReady);
      assert.equal(await passwordIn(namespace), password);
      assert.equal(directory.accounts.size, 1);
      await servers.delete(database);
      await servers.untilGone(inNamespace(namespace, APP));
      await servers.untilGone(database);
      for (const each of [STATEFUL_SET, SECRET]) await servers.untilGone(inNamespace(namespace, each));
      assert.equal(directory.accounts.size, 0);
    },
    { env },
  );
  // Two passwords would be the worst of it.
  assert.ok(writes.includes('patch secrets/shop'));
});

test('it says what it waits for, and goes on: a quota, an adoption, outages, a rotation, a CRD, its deletion', async () => {
  const operator = await servers.operator({ env });
  const namespace = await servers.namespace();
  const at = <T extends { readonly metadata: object }>(object: T) => inNamespace(namespace, object);
  const [secretAt, setAt, serviceAt] = [at(SECRET), at(STATEFUL_SET), at(SERVICE)];
  const [appAt, monitorAt] = [at(APP), at(MONITOR)];
  const why = async (words: RegExp) =>
    assert.match(await operator.ask('why', 'database/shop', '-n', namespace), words);
  // Somebody had made a Service before, and no Pod is allowed.
  const ports = [{ port: 5432, targetPort: 1 }];
  await servers.apply({ ...serviceAt, spec: { selector: { app: 'other' }, ports } });
  const quota = at(QUOTA);
  await servers.apply({ ...quota, spec: { hard: { pods: '0' } } });
  const database = await aDatabase(namespace);
  await servers.until(
    database,
    isSaying(/StatefulSet .*\/shop is not ready yet; Deployment .* waits for it/),
  );
  await why(/StatefulSet .*\/shop is not ready yet; Deployment .*\/shop-app waits for it/);
  assert.equal(await servers.get(appAt), undefined);
  await servers.delete(quota);
  await servers.until(database, isReady, 120);
  await why(/up to date/);
  const adopted = await servers.get(serviceAt);
  assert.deepEqual(
    adopted?.metadata.ownerReferences?.map(({ uid }) => uid),
    [database.metadata.uid],
  );
  const first = await passwordIn(namespace);

  await servers.outage('temporal', () => servers.patch(database, { spec: { app: 'shop:2' } }));
  await servers.until(appAt, (object) => JSON.stringify(object).includes('shop:2'));
  await servers.outage('kubernetes', () => operator.kill());
  await operator.start();
  await servers.until(database, isReady);
  assert.equal(await passwordIn(namespace), first);
  // A restart lists what it watches, and starts nothing.
  await operator.expectCosts({ calls: 12, runs: 0, events: 0 }, async () => {
    await operator.stop();
    await operator.start();
  });

  await servers.delete(secretAt);
  const secret = await servers.until(secretAt, ({ metadata }) => metadata.deletionTimestamp === undefined);
  const second = await passwordIn(namespace);
  assert.notEqual(second, first);
  for (const each of [setAt, appAt])
    await servers.until(each, (object) =>
      JSON.stringify(object).includes(`"example.com/password":"${secret.metadata.uid}"`),
    );
  await servers.until(database, isReady);
  await servers.apply(CRD);
  await servers.until(monitorAt, () => true);
  await servers.until(database, isReady);

  await servers.patch(appAt, { metadata: { finalizers: ['example.com/hold'] } });
  await servers.delete(database);
  await servers.until(appAt, ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await servers.until(database, isSaying(/waiting for Deployment .*\/shop-app to be deleted/));
  await why(/for +Deployment .*\/shop-app to be deleted/);
  assert.equal((await servers.get(setAt))?.metadata.deletionTimestamp, undefined);
  assert.equal(directory.accounts.size, 1);
  await servers.patch(appAt, { metadata: { finalizers: null } });
  await servers.untilGone(database);
  assert.equal(directory.accounts.size, 0);

  const told = [
    JSON.stringify(operator.logs),
    await operator.ask('history', 'database/shop', '-n', namespace),
    await operator.ask('history', 'database/shop', '-n', namespace, '-o', 'json'),
  ].join('\n');
  assert.match(told, /created Secret shop/);
  for (const password of [first, second].flatMap((each) => [each, Buffer.from(each, 'base64').toString()]))
    assert.ok(!told.includes(password));
  // Nobody took a name in between, and nothing was declared no longer.
  const types = ['secrets', 'services', 'servicemonitors.monitoring.coreos.com'];
  const read = [...types, 'statefulsets.apps', 'deployments.apps'].map((type) => `get ${type}`);
  const deleted = [...types, 'statefulsets.apps'].map((type) => `delete ${type}`);
  operator.expectLeastPrivilege({ unused: [...read, ...deleted, 'create services'] });
  await operator.stop();
});

const QUOTA = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' } };

function isSaying(words: RegExp) {
  return ({ status }: KubernetesObject) => words.test(JSON.stringify(status));
}

const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'servicemonitors.monitoring.coreos.com' },
  spec: {
    group: 'monitoring.coreos.com',
    scope: 'Namespaced',
    names: { plural: 'servicemonitors', kind: 'ServiceMonitor' },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
};
