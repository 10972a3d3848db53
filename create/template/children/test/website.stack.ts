import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isReady, stack } from 'durable-operator/testing';

// A real API server and a real Temporal server: npm run test:stack. The first time, they are downloaded.
const servers = await stack();
after(() => servers.stop());

test('a Website becomes ready, and goes again, wherever the operator is killed', async () => {
  const writes = await servers.killAfterEveryWrite(async (namespace) => {
    const resource = await servers.applySample('samples/website.yaml', namespace);
    await servers.until(resource, isReady);
    await servers.delete(resource);
    await servers.untilGone(resource);
  });
  assert.notEqual(writes.length, 0);
});
