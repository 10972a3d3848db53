import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubernetesObject } from '../../src/api/object.ts';
import { workflowIdFor, type ResourceRef } from '../../src/api/resource-ref.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { layoutOf } from '../../local/stack-folder.ts';
import { ask } from '../support/asking.ts';
import { PODS } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import type { FaultProxy } from '../support/fault-proxy.ts';
import { aTaskQueue, startOperator, type Operator } from '../support/operator.ts';
import { aPod } from '../support/pods.ts';
import { setUpStage } from '../support/stage.ts';
import { textsIn } from '../support/texts.ts';

jest.setTimeout(180_000);
const WITHIN_MS = 60_000;

/** What the API server says as it refuses, in one word that nothing else has. */
const REFUSAL = `refusal-${randomBytes(8).toString('hex')}`;
/** Temporal keeps 4 KiB of a failure that it retries. */
const LONG_REFUSAL = `${REFUSAL} "${'ü'.repeat(3_000)}"`;

const { stack, cluster, temporal, startProxy } = setUpStage();
const taskQueue = aTaskQueue();
const keysFile = (name: string) => join(stack.dir, `${taskQueue}.${name}.keys`);
const older = `older ${randomBytes(32).toString('base64')}\n`;
const newer = `newer ${randomBytes(32).toString('base64')}\n`;

let proxy: FaultProxy;
let namespace: KubernetesObject;
/** A namespace whose runs a second operator writes in the clear: what is looked for can be found. */
let inTheClear: KubernetesObject;

beforeAll(async () => {
  await writeFile(keysFile('older'), older);
  await writeFile(keysFile('newer-older'), newer + older);
  namespace = await cluster.createNamespace();
  inTheClear = await cluster.createNamespace();
  proxy = await startProxy();
});

interface With {
  /** The name of a keys file; none: in the clear. */
  readonly keys?: string;
  readonly of: KubernetesObject;
  readonly queue?: string;
}

function anOperator({ keys, of, queue = taskQueue }: With): Promise<Operator> {
  const own = ['--controllers', 'pod-label', '--namespaces', of.metadata.name];
  return startOperator({
    kubeconfig: proxy.kubeconfig,
    taskQueue: queue,
    args: keys === undefined ? own : [...own, '--payload-keys', keysFile(keys)],
  });
}

/** As long as a name may be: with it, the summary of a run is cut. */
const LONG_NAME = 'long'.padEnd(253, 'x');

const podIn = (of: KubernetesObject, name: string) =>
  cluster.create(PODS, aPod().in(of.metadata.name).named(name).annotated().manifest);
const refOf = ({ metadata: { namespace: ns = '', name, uid } }: KubernetesObject): ResourceRef => ({
  ...{ controller: 'pod-label', namespace: ns, name, uid },
});

async function isLabelled({ metadata: { namespace: ns = '', name } }: KubernetesObject): Promise<boolean> {
  const pod = await cluster.get({ type: PODS, namespace: ns, name });
  return pod?.metadata.labels?.[POD_NAME_LABEL] === name;
}

const plainClient = () => temporal.client;

async function statusOf(ref: ResourceRef): Promise<string> {
  return (await plainClient().workflow.getHandle(workflowIdFor(ref)).describe()).status.name;
}

/** Everything that Temporal tells of the newest run. */
async function storyOf(ref: ResourceRef): Promise<string> {
  const handle = plainClient().workflow.getHandle(workflowIdFor(ref));
  return textsIn([await handle.fetchHistory(), (await handle.describe()).raw]);
}

/** What the server has on its disk. */
async function database(): Promise<Buffer> {
  const { temporalData } = layoutOf(stack.dir);
  const files = [temporalData, `${temporalData}-wal`].filter((file) => existsSync(file));
  return Buffer.concat(await Promise.all(files.map((file) => readFile(file))));
}

/** Texts of the payloads of a run: its summary, its input, and the failure that it met. */
const textsOf = (of: KubernetesObject) => [
  `Pod ${of.metadata.name}/web: label`,
  `"namespace":"${of.metadata.name}"`,
  `${REFUSAL}-${of.metadata.name}`,
];

/** The first patch of each Pod fails; that of a Pod called `refused`, each. */
function refusingFirst(): FaultProxy['fault'] {
  const refused = new Set<string>();
  return ({ method, path }) => {
    if (method === 'PATCH' && path.includes('/pods/refused')) return { answer: 500, message: LONG_REFUSAL };
    if (method !== 'PATCH' || !path.includes('/pods/') || refused.has(path)) return undefined;
    refused.add(path);
    const [, ns = ''] = /namespaces\/([^/]+)/.exec(path) ?? [];
    return { answer: 500, message: `${REFUSAL}-${ns}` };
  };
}

/** A long refusal is no reason for `why` to be silent about it. */
async function expectWhyOfRefused(of: KubernetesObject, queue: string, ...args: readonly string[]) {
  await podIn(of, 'refused');
  await eventually(async () => {
    const where = ['-n', of.metadata.name, '--task-queue', queue];
    const { stdout } = await ask(['why', 'pod/refused', ...where, ...args]);
    expect(stdout).toContain(`is retrying: Unavailable`);
    expect(stdout).toContain(`  because   ${REFUSAL} "${'ü'.repeat(100)}`);
    return true;
  }, WITHIN_MS);
}

describe('with payload keys', () => {
  let operator: Operator;
  let web: KubernetesObject;
  let stalled: KubernetesObject;

  it('resources converge as without', async () => {
    proxy.fault = refusingFirst();
    operator = await anOperator({ keys: 'older', of: namespace });
    [web, stalled] = [await podIn(namespace, 'web'), await podIn(namespace, LONG_NAME)];
    await eventually(() => isLabelled(web), WITHIN_MS);
    await eventually(async () => (await statusOf(refOf(web))) === 'COMPLETED', WITHIN_MS);
    await eventually(async () => (await statusOf(refOf(stalled))) === 'RUNNING', WITHIN_MS);
  });

  it('inputs, results and failures of a run are readable neither in its history nor on the server’s disk', async () => {
    const queue = aTaskQueue();
    const plain = await anOperator({ of: inTheClear, queue });
    const other = await podIn(inTheClear, 'web');
    await eventually(async () => (await statusOf(refOf(other))) === 'COMPLETED', WITHIN_MS);
    await expectWhyOfRefused(inTheClear, queue);
    await plain.end('SIGTERM');

    const [itsStory, story, disk] = [
      await storyOf(refOf(other)),
      await storyOf(refOf(web)),
      await database(),
    ];
    for (const text of textsOf(inTheClear)) {
      expect(itsStory).toContain(text);
      expect({ text, isOnDisk: disk.includes(text) }).toEqual({ text, isOnDisk: true });
    }
    expect(story).toContain('binary/encrypted');
    for (const text of textsOf(namespace)) {
      expect(story).not.toContain(text);
      expect({ text, isOnDisk: disk.includes(text) }).toEqual({ text, isOnDisk: false });
    }
  });

  it('the words of a failure, however long, are read with the keys', async () => {
    await expectWhyOfRefused(namespace, taskQueue, '--payload-keys', keysFile('older'));
  });

  it('a run continues after the key was rotated', async () => {
    await operator.end('SIGTERM');
    operator = await anOperator({ keys: 'newer-older', of: namespace });
    const { name } = stalled.metadata;
    await cluster.patch(
      { type: PODS, namespace: namespace.metadata.name, name },
      { metadata: { annotations: { [POD_NAME_ANNOTATION]: null } } },
    );
    await eventually(async () => (await statusOf(refOf(stalled))) === 'COMPLETED', WITHIN_MS);
    const story = await storyOf(refOf(stalled));
    expect(story).toContain('encryption-key-id\nolder');
    expect(story).toContain('encryption-key-id\nnewer');
  });
});
