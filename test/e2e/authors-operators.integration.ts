import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { applyManifest } from '../../local/manifests.ts';
import { fieldsOf, listOf } from '../../src/api/fields.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { resourcePath } from '../../src/kubernetes/paths.ts';
import { uniqueName } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aNoteKind } from '../support/notes-operator.ts';
import { aTaskQueue, startOperator } from '../support/operator.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);

const WITHIN_MS = 60_000;
const PROGRAM = join(import.meta.dirname, '../support/notes-operator.ts');
const CRDS = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps' };
const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces', namespaced: false };
const PAUSED = 'durable-operator.dev/paused';

const [memo, notice] = [aNoteKind('Memo', true), aNoteKind('Notice', false)];
const authors = {
  memos: { kind: memo, taskQueue: aTaskQueue(), env: { OPERATOR: 'memo-operator', KIND: 'Memo' } },
  notices: {
    ...{ kind: notice, taskQueue: aTaskQueue() },
    env: { OPERATOR: 'notice-operator', KIND: 'Notice', SCOPE: 'Cluster' },
  },
};
type Author = (typeof authors)[keyof typeof authors];

const { stack, cluster } = setUpStage(async () => {
  for (const { plural } of [memo, notice])
    await cluster.delete({ type: CRDS, name: `${plural}.example.com` });
});
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  for (const { kind, taskQueue, env } of Object.values(authors)) {
    await applyManifest(cluster.client, { ...kind.manifest }, 'author');
    const path = resourcePath(kind, {});
    const isServed = () =>
      cluster.client.request({ method: 'GET', path }).then(
        () => true,
        () => false,
      );
    await eventually(isServed, WITHIN_MS);
    await startOperator({ kubeconfig: stack.kubeconfig, taskQueue, program: PROGRAM, env });
  }
});

function ask({ taskQueue, env }: Author, ...args: readonly string[]): Promise<string> {
  const all = {
    ...process.env,
    ...env,
    KUBECONFIG: stack.kubeconfig,
    TEMPORAL_ADDRESS: stack.temporalAddress,
  };
  return promisify(execFile)(process.execPath, [PROGRAM, ...args, '--task-queue', taskQueue], {
    env: all,
  }).then(
    ({ stdout }) => stdout,
    (error: unknown) => String(fieldsOf(error)['stdout']),
  );
}

async function write({ kind }: Author, name: string): Promise<void> {
  const where = kind.namespaced ? { namespace } : {};
  await cluster.create(kind, {
    ...{ apiVersion: 'example.com/v1', kind: kind.kind, metadata: { name, ...where } },
    spec: { namespace, text: 'hello' },
  });
}

function at({ kind }: Author, name: string) {
  return { type: kind, name, ...(kind.namespaced && { namespace }) };
}

function textOf({ kind }: Author, name: string): Promise<KubernetesObject | undefined> {
  return cluster.get({ type: CONFIG_MAPS, namespace, name: `${kind.plural}-${name}` });
}

async function becomes(author: Author, name: string, text: string): Promise<void> {
  await eventually(async () => fieldsOf((await textOf(author, name))?.['data'])['text'] === text, WITHIN_MS);
}

describe('a cluster-scoped kind of an author', () => {
  const { notices } = authors;

  it('is reconciled, explained and listed, also if its name is that of a paused Namespace', async () => {
    const name = await cluster.aNamespace();
    await cluster.patch({ type: NAMESPACES, name }, { metadata: { annotations: { [PAUSED]: 'true' } } });
    await write(notices, name);
    await becomes(notices, name, 'hello');
    await eventually(
      async () => (await ask(notices, 'why', `notice/${name}`)).includes('is up to date'),
      WITHIN_MS,
    );
    expect(await ask(notices, 'get', 'notice', '-n', 'elsewhere')).toMatch(
      new RegExp(`notice/${name} .*UpToDate`),
    );
    expect(await ask(notices, 'history', `notice/${name}`)).toContain('wrote the note');
  });

  it('is held by its own annotation, until it is resumed', async () => {
    const name = uniqueName();
    await write(notices, name);
    await becomes(notices, name, 'hello');
    await ask(notices, 'pause', `notice/${name}`);
    await cluster.patch(at(notices, name), { spec: { text: 'goodbye' } });
    await eventually(
      async () => (await ask(notices, 'why', `notice/${name}`)).includes('is paused'),
      WITHIN_MS,
    );
    await ask(notices, 'resume', `notice/${name}`);
    await becomes(notices, name, 'goodbye');
  });

  it('is deleted once what it stands for is removed', async () => {
    const name = uniqueName();
    await write(notices, name);
    await becomes(notices, name, 'hello');
    await cluster.delete(at(notices, name));
    await eventually(async () => (await cluster.get(at(notices, name))) === undefined, WITHIN_MS);
    expect(await textOf(notices, name)).toBeUndefined();
  });
});

describe('two operators of one cluster and one Temporal namespace, with controllers of one name', () => {
  const name = uniqueName();

  it('each reconcile their own kind, and write in their own names', async () => {
    for (const author of Object.values(authors)) {
      await write(author, name);
      await becomes(author, name, 'hello');
      const written = await textOf(author, name);
      expect(listOf(fieldsOf(written?.metadata)['managedFields'])).toMatchObject([
        { manager: author.env.OPERATOR },
      ]);
    }
  });

  it('each show their own resources and runs alone', async () => {
    for (const [one, other] of [
      [authors.memos, 'notice'],
      [authors.notices, 'memo'],
    ] as const) {
      const seen = await ask(one, 'get', '-A');
      expect(seen).toContain(`${one.kind.kind.toLowerCase()}/${name}`);
      expect(seen).not.toContain(`${other}/`);
    }
  });
});
