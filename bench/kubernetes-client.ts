import { once } from 'node:events';
import { fork } from 'node:child_process';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { KubeConfig } from '@kubernetes/client-node';
import { createKubernetesClient, type KubernetesClient } from '../src/kubernetes/client.ts';
import { aSelfSignedCertificate } from '../test/support/self-signed-certificate.ts';
import { percentile } from './percentiles.ts';

/**
 * What the Kubernetes client alone costs: CPU of this process a request and a watch event, against an HTTPS server in
 * another process. `node bench/kubernetes-client.ts`; ADR 16 has the figures.
 */
const PATCHES = 20_000;
const CONCURRENCY = 20;
const EVENTS = 50_000;
const ROUNDS = 7;

const POD = '/api/v1/namespaces/default/pods/web';

interface Identity {
  readonly cert: string;
  readonly key: string;
}

async function measure(): Promise<void> {
  const [serving, client] = [aSelfSignedCertificate('server'), aSelfSignedCertificate('client')];
  const server = fork(fileURLToPath(import.meta.url), ['serve']);
  try {
    server.send({ serving, client } satisfies Served);
    const ready: unknown[] = await once(server, 'message');
    await run(createKubernetesClient(kubeConfig(String(ready[0]), serving, client)));
  } finally {
    server.kill();
  }
}

function kubeConfig(port: string, serving: Identity, client: Identity): KubeConfig {
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'c', server: `https://127.0.0.1:${port}`, caData: base64(serving.cert) }],
    users: [{ name: 'u', token: 'a-token', certData: base64(client.cert), keyData: base64(client.key) }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
  return config;
}

async function run(client: KubernetesClient): Promise<void> {
  await patch(client); // warms up
  await watch(client);
  const [patches, events]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    patches.push((await cpuOf(() => patch(client))) / PATCHES);
    events.push((await cpuOf(() => watch(client))) / EVENTS);
  }
  await client.close();
  print(`a request, of ${PATCHES} at concurrency ${CONCURRENCY}`, patches);
  print(`a watch event, of ${EVENTS}`, events);
}

/** In microseconds, user and system time. */
async function cpuOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function print(what: string, cpu: readonly number[]): void {
  const [least, median] = [percentile(cpu, 0), percentile(cpu, 0.5)].map((value) => value.toFixed(1));
  console.log(`CPU ${what}: ${median} µs (median of ${ROUNDS} rounds; least ${least})`);
}

async function patch(client: KubernetesClient): Promise<void> {
  let left = PATCHES;
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const body = { metadata: { labels: { touched: String(left) } } };
      await client.request({ method: 'PATCH', path: POD, body, metadataOnly: true });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, one));
}

async function watch(client: KubernetesClient): Promise<void> {
  let seen = 0;
  for await (const event of client.watch({ path: '/api/v1/pods', metadataOnly: true })) {
    if (event.type === 'MODIFIED') seen += 1;
  }
  if (seen !== EVENTS) throw new Error(`${seen} events of ${EVENTS}`);
}

interface Served {
  readonly serving: Identity;
  readonly client: Identity;
}

function serve({ serving, client }: Served): void {
  const server = createServer({ ...serving, ca: client.cert, requestCert: true }, (request, response) => {
    const answer = request.method === 'PATCH' ? answerPatch : answerWatch;
    answer(request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address === 'object') process.send?.(address.port);
  });
}

async function answerPatch(request: IncomingMessage, response: ServerResponse): Promise<void> {
  await text(request);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(aPod(1)));
}

/** As many events in one write as a busy API server has: some dozens. */
const BURST = 50;

async function answerWatch(_: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' });
  for (let sent = 0; sent < EVENTS; sent += BURST) {
    const burst = Array.from({ length: BURST }, (__, i) => `${anEvent(sent + i)}\n`).join('');
    if (!response.write(burst)) await once(response, 'drain');
  }
  response.end();
}

function anEvent(version: number): string {
  return JSON.stringify({ type: 'MODIFIED', object: aPod(version) });
}

/** A Pod's metadata, as a Deployment's Pod has it: about 900 bytes. */
function aPod(version: number): object {
  const uid = '0b5a4a3e-8d67-4c5f-9d1c-3e9a4a6f7b10';
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: {
      name: 'web-6f7d9c5b8-x2x7k',
      generateName: 'web-6f7d9c5b8-',
      namespace: 'default',
      uid,
      resourceVersion: String(1_000_000 + version),
      creationTimestamp: '2026-11-01T10:00:00Z',
      labels: { app: 'web', 'pod-template-hash': '6f7d9c5b8', touched: String(version) },
      annotations: { 'kubectl.kubernetes.io/restartedAt': '2026-11-01T10:00:00Z', note: 'x'.repeat(80) },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-6f7d9c5b8', uid, controller: true },
      ],
      managedFields: [
        {
          manager: 'kube-controller-manager',
          operation: 'Update',
          apiVersion: 'v1',
          time: '2026-11-01T10:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {}, 'f:pod-template-hash': {} } } },
        },
      ],
    },
  };
}

if (process.argv[2] === 'serve') process.once('message', (served: Served) => serve(served));
else await measure();
