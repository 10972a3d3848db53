import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createKubernetesClient, type KubernetesClient } from '../../src/kubernetes/client.ts';
import { Quotas } from '../../src/watcher/quotas.ts';
import { eventually } from '../support/eventually.ts';
import { answerJson, FakeApiServer } from '../support/fake-api-server.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

let server: FakeApiServer;
let client: KubernetesClient;
let quotas: Quotas;
/** How many Pods are allowed, and used, by the name of the quota. */
let live: Map<string, { readonly hard: string; readonly used: string }>;
let changed: string[];
let version: number;
/** Undefined: nobody watches yet. */
let say: ((type: string, name: string, namespace?: string) => void) | undefined;

const objectOf = (name: string, namespace = 'shop') => ({
  metadata: { name, namespace, uid: `uid-of-${name}`, resourceVersion: String(version) },
  spec: { hard: { pods: live.get(name)?.hard } },
  status: { used: { pods: live.get(name)?.used } },
});

beforeEach(async () => {
  live = new Map([['pods', { hard: '7', used: '7' }]]);
  changed = [];
  version = 7;
  say = undefined;
  server = await FakeApiServer.start((request, response) => {
    if (request.url.searchParams.has('watch')) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      say = (type, of, namespace) => {
        version += 1;
        response.write(`${JSON.stringify({ type, object: objectOf(of, namespace) })}\n`);
      };
    } else {
      const items = [...live.keys()].map((name) => objectOf(name));
      answerJson(200, { metadata: { resourceVersion: '7' }, items })(request, response);
    }
  });
  client = createKubernetesClient(server.kubeConfig());
  quotas = aWatch();
});

afterEach(async () => {
  await quotas.stop();
  await client.close();
  await server.stop();
});

function aWatch(namespaces: readonly string[] = []): Quotas {
  const onChange = (namespace: string) => changed.push(namespace);
  return new Quotas({ client, namespaces, log: aRecordingLogger(), onChange });
}

async function watching(): Promise<void> {
  quotas.start();
  await eventually(() => say !== undefined);
}

describe('what the quotas of a namespace allow', () => {
  it('is no change as the first list shows it: a process that starts ends no backoff', async () => {
    await watching();
    expect(quotas.in('shop')).toBe('');
    expect(changed).toEqual([]);
  });

  it('is changed by whoever raises one, which is reported each time', async () => {
    await watching();
    live.set('pods', { hard: '20', used: '7' });
    say?.('MODIFIED', 'pods');
    await eventually(() => quotas.in('shop') === 'quotas changed 1');
    live.set('pods', { hard: '30', used: '7' });
    say?.('MODIFIED', 'pods');
    await eventually(() => quotas.in('shop') === 'quotas changed 2');
    expect(changed).toEqual(['shop', 'shop']);
    expect(quotas.in('elsewhere')).toBe('');
  });

  it('is forgotten of the namespace that nobody has asked about for longest, where there are very many', async () => {
    await watching();
    for (const namespace of ['gone', 'shop']) say?.('ADDED', 'jobs', namespace);
    await eventually(() => changed.length === 2);
    expect(quotas.in('gone')).toBe('quotas changed 1');
    expect(quotas.in('shop')).toBe('quotas changed 1');
    for (let i = 0; i < 9_999; i += 1) say?.('ADDED', 'jobs', `team-${i}`);
    await eventually(() => changed.length === 10_001);
    expect(quotas.in('gone')).toBe('');
    expect(quotas.in('shop')).toBe('quotas changed 1');
  });

  it('is watched in each namespace by itself, where only some are', async () => {
    quotas = aWatch(['shop', 'team']);
    await watching();
    await eventually(() => server.requests.filter(({ url }) => url.searchParams.has('watch')).length === 2);
    expect(new Set(server.requests.map(({ url }) => url.pathname))).toEqual(
      new Set(['shop', 'team'].map((name) => `/api/v1/namespaces/${name}/resourcequotas`)),
    );
  });
});
