import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '../../local/ports.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { eventually } from '../../testing/eventually.ts';
import { uniqueName } from '../support/cluster.ts';
import { Lamp } from '../support/lamp-operator.ts';
import { aTaskQueue, endOperators } from '../support/operator.ts';
import { setUpProgram } from '../support/programs.ts';

jest.setTimeout(300_000);

const WITHIN_MS = 60_000;

/** By UID of the resource. */
const lit = new Set<string>();
/** Each look at a lamp, by UID. */
const looks: string[] = [];
const lamps = createServer(({ method, url = '' }, response) => {
  const uid = url.slice(1);
  if (method === 'GET') looks.push(uid);
  else lit.add(uid);
  response.end(lit.has(uid) ? 'on' : 'off');
});

const { cluster, temporal, ...program } = setUpProgram({ file: 'lamp-operator.ts', kinds: [Lamp] });
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  lamps.listen(0, '127.0.0.1');
  await once(lamps, 'listening');
});

afterAll(() => {
  lamps.close();
  lamps.closeAllConnections();
});

interface Starting {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Resolves once its webhook listens. */
async function start(taskQueue: string, { command, args, env }: Starting = {}) {
  const hookPort = await freePort();
  const { port } = lamps.address() as AddressInfo;
  const operator = await program.start({
    taskQueue,
    ...(command && { command }),
    ...(args && { args }),
    env: { LAMPS_URL: `http://127.0.0.1:${port}`, HOOK_PORT: String(hookPort), ...env },
  });
  const call = async (name: string) => {
    const answer = await fetch(`http://127.0.0.1:${hookPort}/${namespace}/${name}`, { method: 'POST' });
    return `${answer.status} ${await answer.text()}`;
  };
  await eventually(
    () =>
      call('nobody').then(
        (answer) => answer === '204 ',
        () => false,
      ),
    WITHIN_MS,
  );
  return { operator, call };
}

async function aLamp(): Promise<KubernetesObject> {
  const name = uniqueName();
  const manifest = { apiVersion: 'example.com/v1', kind: 'Lamp', metadata: { namespace, name }, spec: {} };
  const { metadata } = await cluster.create(Lamp, manifest);
  await temporal.untilCompleted(refOf({ metadata }), WITHIN_MS);
  return read(name);
}

async function read(name: string): Promise<KubernetesObject> {
  const lamp = await cluster.get({ type: Lamp, namespace, name });
  if (lamp === undefined) throw new Error(`there is no lamp ${name}`);
  return lamp;
}

function refOf({ metadata: { name, uid } }: KubernetesObject) {
  return { controller: 'lamp', namespace, name, uid };
}

const looksAt = ({ metadata }: KubernetesObject) => looks.filter((uid) => uid === metadata.uid).length;

async function isRepairedBy(call: (name: string) => Promise<string>, lamp: KubernetesObject): Promise<void> {
  const runs = await temporal.runsOf(refOf(lamp));
  lit.delete(lamp.metadata.uid);
  expect(await call(lamp.metadata.name)).toBe('204 ');
  await eventually(() => lit.has(lamp.metadata.uid), WITHIN_MS);
  await temporal.untilCompleted(refOf(lamp), WITHIN_MS);
  expect((await temporal.runsOf(refOf(lamp))).length).toBe(runs.length + 1);
}

describe('a webhook that says to look at a resource', () => {
  it('makes at most one observation a second, and no run, if nothing is to be done', async () => {
    const { call } = await start(aTaskQueue());
    const lamp = await aLamp();
    const [runs, before] = [await temporal.runsOf(refOf(lamp)), looksAt(lamp)];
    const beganMs = performance.now();
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => call(lamp.metadata.name)));
    const seconds = (performance.now() - beganMs) / 1_000;
    expect(new Set(answers)).toEqual(new Set(['204 ']));
    const made = looksAt(lamp) - before;
    expect(made).toBeGreaterThanOrEqual(1);
    expect(made).toBeLessThanOrEqual(1 + seconds);
    expect(await temporal.runsOf(refOf(lamp))).toEqual(runs);
    expect(await read(lamp.metadata.name)).toEqual(lamp);
    await isRepairedBy(call, lamp);
    await endOperators();
  });

  it('works in a program that embeds the operator, which then ends in order', async () => {
    const { operator, call } = await start(aTaskQueue(), { env: { IS_EMBEDDED: 'yes' } });
    await isRepairedBy(call, await aLamp());
    expect(await operator.end('SIGTERM')).toBe(0);
  });

  it('works in a process that only watches, in one that only works, and in one that does not lead', async () => {
    const taskQueue = aTaskQueue();
    const lease = ['--enable-leader-election', '--leader-election-namespace', namespace];
    const started = [
      await start(taskQueue, { command: 'watch', args: lease }),
      await start(taskQueue, { command: 'work' }),
      await start(taskQueue, { args: lease }),
    ];
    const lamp = await aLamp();
    for (const { call } of started) await isRepairedBy(call, lamp);
    await endOperators();
  });
});
