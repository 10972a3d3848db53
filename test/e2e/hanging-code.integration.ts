import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { applyManifest } from '../../local/manifests.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { eventually } from '../../testing/eventually.ts';
import { Errand } from '../support/errand-operator.ts';
import { aTaskQueue, endOperators, startOperator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);

const WITHIN_MS = 120_000;
const PROGRAM = join(import.meta.dirname, '../support/errand-operator.ts');
const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };

const { stack, cluster } = setUpStage(() => cluster.delete({ type: CRDS, name: 'errands.example.com' }));

beforeAll(async () => {
  await applyManifest(cluster.client, { ...Errand.manifest }, 'author');
  const path = resourcePath(Errand, {});
  const isServed = () =>
    cluster.client.request({ method: 'GET', path }).then(
      () => true,
      () => false,
    );
  await eventually(isServed, WITHIN_MS);
});

afterEach(endOperators);

const start = (taskQueue: string, env: Readonly<Record<string, string>> = {}) =>
  startOperator({
    ...{ kubeconfig: stack.kubeconfig, taskQueue, program: PROGRAM, env },
    args: ['--activity-slots', '5'],
  });

interface ErrandObject extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Readonly<Record<string, string>>[] };
}

async function create(namespace: string, name: string, how: string) {
  const at = { type: Errand, namespace, name };
  await cluster.create(Errand, {
    ...{ apiVersion: 'example.com/v1', kind: 'Errand' },
    ...{ metadata: { namespace, name }, spec: { how } },
  });
  const ready = async () => {
    const { status } = (await cluster.get<ErrandObject>(at)) ?? {};
    return status?.conditions?.find(({ type }) => type === 'Ready');
  };
  const is = (condition: Record<string, string>) =>
    eventually(async () => {
      const now = await ready();
      return Object.entries(condition).every(([field, value]) => now?.[field] === value) && now;
    }, WITHIN_MS);
  return { at, is };
}

async function ask(taskQueue: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, KUBECONFIG: stack.kubeconfig, TEMPORAL_ADDRESS: stack.temporalAddress };
  const its = [PROGRAM, ...args, '--task-queue', taskQueue];
  // `why` exits with 1 where something is wrong.
  const { stdout } = await promisify(execFile)(process.execPath, its, { env }).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout;
}

describe('code that ignores its signal', () => {
  it.each(['hangs-soon', 'unseen'])(
    '(%s) costs no slot, and people are told, until a restart',
    async (how) => {
      const taskQueue = aTaskQueue();
      const operator = await start(taskQueue);
      const namespace = await cluster.aNamespace();
      const names = Array.from({ length: 8 }, (_, index) => `stuck-${index}`);
      const stuck = await Promise.all(names.map((name) => create(namespace, name, how)));
      for (const { is } of stuck) {
        const { message } = (await is({ status: 'False', reason: 'CodeHangs' })) as { message: string };
        expect(message).toContain('the Pod in which it goes on: nothing else ends it');
      }
      const free = await create(namespace, 'free', 'quick');
      await free.is({ status: 'True' });

      expect(await ask(taskQueue, 'why', 'errand/stuck-0', '-n', namespace)).toMatch(
        /CodeHangs[\s\S]*restart /,
      );
      const said = operator.logs.filter(({ msg }) => String(msg).includes('ignores its signal and goes on'));
      expect(said).toHaveLength(names.length);

      await operator.end('SIGKILL');
      await start(taskQueue, { ERRANDS: 'go' });
      for (const { is } of stuck) await is({ status: 'True' });
    },
  );
});

describe('long steps of one namespace', () => {
  it('leave slots for others, and who gets none waits for its turn', async () => {
    const taskQueue = aTaskQueue();
    await start(taskQueue);
    const [busy, other] = [await cluster.aNamespace(), await cluster.aNamespace()];
    const names = Array.from({ length: 10 }, (_, index) => `long-${index}`);
    for (const name of names) await create(busy, name, 'hangs-long');
    // Who gets a turn is chance.
    await eventually(async () => {
      for (const name of names) {
        const text = await ask(taskQueue, 'why', `errand/${name}`, '-n', busy);
        if (text.includes(`its turn: namespace ${busy} has its share of the activity slots`)) return true;
      }
      return false;
    }, WITHIN_MS);
    const quick = await create(other, 'quick', 'quick');
    await quick.is({ status: 'True' });
  });
});
