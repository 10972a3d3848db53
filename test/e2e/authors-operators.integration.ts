import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { fieldsOf, listOf } from '../../src/api/fields.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { uniqueName } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { aNoteKind } from '../support/notes-operator.ts';
import { setUpProgram } from '../support/programs.ts';

jest.setTimeout(300_000);

const WITHIN_MS = 60_000;
const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps' };
const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces', namespaced: false };
const PAUSED = 'durable-operator.dev/paused';

interface AuthorsEnv extends Readonly<Record<string, string>> {
  readonly OPERATOR: string;
}

function anAuthor(kind: ReturnType<typeof aNoteKind>, env: AuthorsEnv) {
  return { kind, env, ...setUpProgram({ file: 'notes-operator.ts', kinds: [kind], env }) };
}

const authors = {
  memos: anAuthor(aNoteKind('Memo', true), { OPERATOR: 'memo-operator', KIND: 'Memo' }),
  notices: anAuthor(aNoteKind('Notice', false), {
    OPERATOR: 'notice-operator',
    KIND: 'Notice',
    SCOPE: 'Cluster',
  }),
};
type Author = (typeof authors)[keyof typeof authors];

const { cluster } = authors.memos;
let namespace: string;

beforeAll(async () => {
  namespace = await cluster.aNamespace();
  for (const { start } of Object.values(authors)) await start();
});

const ask = (author: Author, ...args: readonly string[]) => author.ask(...args);

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
