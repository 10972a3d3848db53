import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isReady, stack } from 'durable-operator/testing';

const servers = await stack();
after(() => servers.stop());

const child = (kind: string, namespace: string) => {
  const apiVersion = kind === 'Service' ? 'v1' : 'apps/v1';
  return { apiVersion, kind, metadata: { name: 'shop', namespace } };
};

test('wherever the operator is killed, a website gets what it declares, and leaves nothing', async () => {
  const writes = await servers.killAfterEveryWrite(async (namespace) => {
    const website = await servers.applySample('samples/website.yaml', namespace);
    await servers.until(website, isReady);
    await servers.patch(website, { spec: { replicas: 1 } });
    await servers.until(website, isReady);
    await servers.delete(website);
    for (const kind of ['Deployment', 'Service']) await servers.untilGone(child(kind, namespace));
  });
  assert.deepEqual(writes.slice(0, 2), ['patch deployments/shop', 'patch services/shop']);
});

test('it asks for no more than it needs, and may do no more than it does', async () => {
  const operator = await servers.operator();
  const namespace = await servers.namespace();
  await operator.expectCosts({ calls: 6, runs: 2, events: 2 }, async () => {
    await servers.until(await servers.applySample('samples/website.yaml', namespace), isReady);
  });
  // No name was taken, nothing was declared no longer, and there was no Secret.
  const children = ['deployments.apps', 'services'].flatMap((type) => [`get ${type}`, `delete ${type}`]);
  operator.expectLeastPrivilege({ unused: [...children, 'get secrets'] });
  await operator.stop();
});
