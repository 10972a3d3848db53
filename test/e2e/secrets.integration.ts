import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubernetesObject } from '../../src/api/object.ts';
import { BUILDS, type StoredBuild as Build } from '../../src/controllers/git-build/kind.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { aBuild } from '../support/builds.ts';
import { aCertificateAuthority } from '../support/certificate-authority.ts';
import { NAMESPACES, PODS, refOf, ROLE_BINDINGS, type Manifest } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import type { FaultProxy } from '../support/fault-proxy.ts';
import { aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { aRoleBinding } from '../support/role-bindings.ts';
import { setUpStage } from '../support/stage.ts';
import { startTemporalGate, type TemporalGate } from '../support/temporal-gate.ts';
import { textsIn } from '../support/texts.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 60_000;
/** Every text that nobody may find again holds it; it is a label's value, too. */
const CANARY = `canary-${randomBytes(8).toString('hex')}`;

const { stack, cluster, temporal, startProxy } = setUpStage(() => gate.close());
const taskQueue = aTaskQueue();
let proxy: FaultProxy;
let gate: TemporalGate;
/** Of the client certificate. */
let privateKey: string;
let operator: Operator;
let namespace: KubernetesObject;

beforeAll(async () => {
  proxy = await startProxy();
  const credentials = await gated();
  operator = await startOperator({
    temporalAddress: gate.address,
    kubeconfig: proxy.kubeconfig,
    taskQueue,
    args: ['--controllers', 'pod-label,namespace-role-binding,git-build'],
    env: credentials,
  });
});

/** Temporal takes an API key and a certificate. @returns the variables by which the operator has both */
async function gated(): Promise<Record<string, string>> {
  const authority = await aCertificateAuthority('ours');
  const [server, client] = [await authority.issue('temporal'), await authority.issue('operator')];
  privateKey = client.key;
  const file = (name: string) => join(stack.dir, `${taskQueue}.${name}`);
  await writeFile(file('ca.crt'), authority.cert);
  await writeFile(file('client.crt'), client.cert);
  await writeFile(file('client.key'), client.key, { mode: 0o600 });
  const apiKey = `${CANARY}-api-key`;
  const tls = { ...server, ca: authority.cert, requestCert: true, rejectUnauthorized: true };
  gate = await startTemporalGate({ temporalAddress: stack.temporalAddress, tls, apiKey });
  return {
    TEMPORAL_API_KEY: apiKey,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('ca.crt'),
    TEMPORAL_TLS_CLIENT_CERT_PATH: file('client.crt'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: file('client.key'),
  };
}

/** What the operator reads of it, it could tell; what it does not read, it had better not. */
function withCanaries(pod: Manifest): Manifest {
  const { annotations } = pod.metadata;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { 'test.durable-operator.dev/secret': CANARY },
      annotations: { ...(annotations ?? {}), 'test.durable-operator.dev/secret': CANARY },
    },
    spec: {
      schedulingGates: [{ name: 'test.durable-operator.dev/nobody-else-writes-it' }],
      containers: [
        { name: 'web', image: 'nginx', env: [{ name: 'PASSWORD', value: CANARY }], command: [CANARY] },
      ],
    },
  };
}

const create = (name: string) =>
  cluster.create(PODS, withCanaries(aPod().in(namespace.metadata.name).named(name).annotated().manifest));
const buildOf = (name: string) =>
  cluster.get<Build>({ type: BUILDS, namespace: namespace.metadata.name, name });

/** One fails, and the transport of the other is refused. */
async function createBuilds(): Promise<void> {
  const urls = {
    failing: `https://user:${CANARY}@host.invalid/x`,
    refused: `git://user:${CANARY}@host.invalid/x`,
  };
  for (const [name, gitUrl] of Object.entries(urls)) {
    const { manifest } = aBuild(namespace.metadata.name, name).failing().with({ gitUrl, jobName: name });
    await cluster.create(BUILDS, manifest);
  }
}

const at = (name: string) => ({ type: PODS, namespace: namespace.metadata.name, name });

describe('a secret of the cluster, or of the operator itself,', () => {
  it('is there while runs succeed, fail and stall', async () => {
    namespace = await cluster.createNamespace(undefined, { 'test.durable-operator.dev/secret': CANARY });
    const { name } = namespace.metadata;
    await cluster.patch(
      { type: NAMESPACES, name },
      { metadata: { annotations: { 'test.durable-operator.dev/secret': CANARY } } },
    );
    proxy.fault = failing();
    // A build takes half a minute to fail.
    await createBuilds();
    const pods = [await create('web'), await create('long'.padEnd(70, 'x'))];
    await eventually(async () => {
      expect((await cluster.get(at('web')))?.metadata.labels).toMatchObject({ [POD_NAME_LABEL]: 'web' });
      return true;
    }, WITHIN_MS);
    await cluster.patch(at('web'), { metadata: { annotations: { [POD_NAME_ANNOTATION]: CANARY } } });
    await eventually(async () => {
      const reasons = (await cluster.eventsIn(name)).map(({ reason }) => reason);
      expect(reasons).toEqual(expect.arrayContaining(['Created', 'NameTooLong']));
      return true;
    }, WITHIN_MS);
    const foreign = aRoleBinding(name).of(CANARY).foreign().manifest;
    await eventually(async () => {
      await cluster.delete({ type: ROLE_BINDINGS, namespace: name, name: `ad-kubernetes-${name}` });
      return cluster.create(ROLE_BINDINGS, foreign);
    }, WITHIN_MS);
    await eventually(async () => {
      const reasons = (await cluster.eventsIn(name)).map(({ reason }) => reason);
      return reasons.includes('ForeignRoleBinding');
    }, WITHIN_MS);
    expect(pods).toHaveLength(2);
  });

  it('is in the URLs of builds that fail and that are refused', async () => {
    await eventually(async () => (await buildOf('failing'))?.status?.phase === 'Failed', WITHIN_MS);
    await eventually(async () => JSON.stringify(await buildOf('refused')).includes('InvalidSpec'), WITHIN_MS);
  });

  it('is in no status', async () => {
    for (const name of ['failing', 'refused']) {
      const status = JSON.stringify((await buildOf(name))?.status);
      expect(status).toContain('message');
      expectNoSecretIn(status);
    }
  });

  it('is in the history of no run', async () => {
    const histories = await allHistories();
    expect(histories).toContain(refOf('pod-label', namespace).name);
    expect(histories).toContain('the fault proxy says so');
    expectNoSecretIn(histories);
  });

  it('is in no Event', async () => {
    const events = JSON.stringify(await cluster.eventsIn(namespace.metadata.name));
    expect(events).toContain('NameTooLong');
    expectNoSecretIn(events);
  });

  it('is in no log line, not even at level debug', () => {
    const logs = JSON.stringify(operator.logs);
    expect(logs).toContain('the fault proxy says so');
    expectNoSecretIn(logs);
  });
});

/** The first write of each kind fails, with words of the server. */
function failing(): FaultProxy['fault'] {
  const failed = new Set<string>();
  return ({ method, path }) => {
    const kind = `${method} ${/\/(pods|rolebindings|events)\b/.exec(path)?.[1] ?? ''}`;
    if (method === 'GET' || failed.has(kind)) return undefined;
    failed.add(kind);
    return { answer: 500 };
  };
}

function expectNoSecretIn(text: string): void {
  expect(text).not.toContain(CANARY);
  expect(text).not.toContain(tokenOf(stack.operatorKubeconfig));
  expect(text).not.toContain(privateKey.split('\n')[1]);
}

function tokenOf(file: string): string {
  const config = new KubeConfig();
  config.loadFromFile(file);
  const token = config.getCurrentUser()?.token;
  if (token === undefined || token.length < 10) throw new Error(`${file} has no token`);
  return token;
}

/** Everything that Temporal keeps of the runs of this operator, payloads decoded. */
async function allHistories(): Promise<string> {
  const texts: string[] = [];
  for await (const { workflowId, runId } of temporal.client.workflow.list({
    query: `TaskQueue = '${taskQueue}'`,
  })) {
    const handle = temporal.client.workflow.getHandle(workflowId, runId);
    const [history, description] = [await handle.fetchHistory(), await handle.describe()];
    texts.push(workflowId, textsIn(history), textsIn(description.raw));
  }
  return texts.join('\n');
}
