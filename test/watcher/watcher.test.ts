import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Controller, Projection } from '../../src/contract/controller.ts';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { Watcher } from '../../src/watcher/watcher.ts';
import { eventually } from '../support/eventually.ts';
import { answerJson, answerText, FakeApiServer, type Handler } from '../support/fake-api-server.ts';
import { FakeCollection } from '../support/fake-collection.ts';
import { FakeRuns } from '../support/fake-runs.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

/** Everything that there is needs work. */
const greedy = (plural: string): Controller<Projection, never, string> => ({
  name: plural,
  workflowType: 'greedy',
  summary: ({ name }) => name,
  primary: {
    group: '',
    version: 'v1',
    plural,
    namespaced: true,
    metadataOnly: true,
    project: ({ metadata: { namespace = '', name, uid, resourceVersion } }) => ({
      key: `${namespace}/${name}`,
      uid,
      resourceVersion,
    }),
  },
  children: [],
  needsWork: () => ({ needsWork: true, reason: 'there', seen: 'it' }),
  permissions: [],
});

let server: FakeApiServer;
let client: KubernetesClient;
let webs: FakeCollection;
let others: Handler;
let runs: FakeRuns;
let watcher: Watcher;

beforeEach(async () => {
  webs = new FakeCollection();
  server = await FakeApiServer.start((request, response) => {
    if (request.url.pathname.endsWith('/webs')) webs.handler(request, response);
    else others(request, response);
  });
  client = createKubernetesClient(server.kubeConfig());
  runs = new FakeRuns();
  watcher = new Watcher({
    controllers: [greedy('webs'), greedy('others')],
    client,
    runs,
    namespaces: [],
    resyncMs: 180_000,
    concurrency: 10,
    log: aRecordingLogger(),
  });
});

afterEach(async () => {
  await watcher.stop();
  await client.close();
  await server.stop();
});

describe('a controller whose list cannot be had', () => {
  it('holds up no other, and is no problem, where its CRD is not installed', async () => {
    others = answerText(404, '404 page not found\n');
    webs.put('web');
    watcher.start();
    await eventually(() => runs.calls.length > 0);
    expect(runs.calls).toEqual(['start web']);
    await eventually(() => watcher.problems.length === 0);
  });

  it('holds up no other, but is a problem, where it is forbidden', async () => {
    others = answerJson(403, { kind: 'Status', message: 'forbidden: User "operator" cannot list' });
    webs.put('web');
    watcher.start();
    await eventually(() => runs.calls.length > 0);
    expect(runs.calls).toEqual(['start web']);
    expect(await eventually(() => watcher.problems.length > 1 && watcher.problems)).toEqual([
      'others: first list not complete',
      expect.stringContaining('403 forbidden: User "operator" cannot list'),
    ]);
  });
});
