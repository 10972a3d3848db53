import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NAMESPACES, SECRETS } from '../../src/api/index.ts';
import { workflowIdFor } from '../../src/api/resource-ref.ts';
import { fieldsOf } from '../../src/api/fields.ts';
import { Author } from '../support/author.ts';
import { uniqueName } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Operator } from '../support/operator.ts';
import { conditionIn } from '../support/programs.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(300_000);

const COPIES = { group: 'example.com', version: 'v1', plural: 'secretcopies' };
const WITHIN_MS = 60_000;
const stage = setUpStage(() => author.remove(stage));
const { cluster } = stage;
const label = uniqueName();

let author: Author;
let operator: Operator;
/** With the Secrets, and those that get copies. */
let source: string;
let target: string;

beforeAll(async () => {
  author = await Author.begin('secret-copy');
  await author.applyKinds(stage, 'src/crd.ts');
  [source, target] = [await cluster.aNamespace(), await cluster.aNamespace()];
  operator = await author.start(stage);
});

function aSecret(name: string, text: string) {
  const metadata = { name, namespace: source };
  const data = { text: Buffer.from(text).toString('base64') };
  return cluster.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, data });
}

function aCopy(name: string, spec: object) {
  const metadata = { name, namespace: source };
  return cluster.create(COPIES, { apiVersion: 'example.com/v1', kind: 'SecretCopy', metadata, spec });
}

async function textIn(namespace: string, name: string): Promise<string | undefined> {
  const secret = await cluster.get({ type: SECRETS, namespace, name });
  const text = fieldsOf(secret?.['data'])['text'];
  return typeof text === 'string' ? Buffer.from(text, 'base64').toString() : undefined;
}

async function becomes(namespace: string, name: string, text: string | undefined): Promise<void> {
  await eventually(async () => (await textIn(namespace, name)) === text, WITHIN_MS);
}

function change(name: string, text: string) {
  const data = { text: Buffer.from(text).toString('base64') };
  return cluster.patch({ type: SECRETS, namespace: source, name }, { data });
}

function labelled(name: string, value: string | null) {
  return cluster.patch(
    { type: NAMESPACES, name },
    { metadata: { labels: { [`example.com/${label}`]: value } } },
  );
}

async function isReady(name: string): Promise<boolean> {
  const object = await cluster.get({ type: COPIES, namespace: source, name });
  return conditionIn(object, 'Ready')['status'] === 'True';
}

async function refOf(name: string) {
  const copy = await cluster.get({ type: COPIES, namespace: source, name });
  return { controller: 'secret-copy', namespace: source, name, uid: copy?.metadata.uid ?? '' };
}

describe('the example secret-copy, on the packed package', () => {
  it('compiles, with the code of the pages about references and outside systems', async () => {
    for (const page of ['references', 'outside-systems']) {
      const text = await readFile(join(import.meta.dirname, `../../docs/${page}.md`), 'utf8');
      for (const [, path = '', code = ''] of text.matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs))
        await author.write(path, code);
    }
    await author.compile();
  });

  it('waits for a Secret that is absent, and copies it once it is there', async () => {
    await aCopy('late', { secretName: 'late', namespaces: [target] });
    const missing = async () =>
      (await author.ask(stage, 'why', 'secretcopy/late', '-n', source)).includes('there is no Secret late');
    await eventually(missing, WITHIN_MS);
    await aSecret('late', 'one');
    await becomes(target, 'late', 'one');
  });

  it('logs what its author logs, with the resource, the step, the attempt and the run', async () => {
    const ref = await refOf('late');
    const runIds = (await stage.temporal.runsOf(ref)).map(({ runId }) => runId);
    const line = operator.logs.find(({ msg }) => msg === 'copied the Secret');
    expect(line).toMatchObject({
      ...{ level: 'debug', target, controller: 'secret-copy', namespace: source, name: 'late' },
      ...{ step: 'copy', attempt: 1, workflowId: workflowIdFor(ref) },
    });
    expect(runIds).toContain(line?.['runId']);
  });

  it('lets a change of a Secret reach all who refer to it', async () => {
    const other = await cluster.aNamespace();
    await aCopy('again', { secretName: 'late', namespaces: [other] });
    await becomes(other, 'late', 'one');
    await change('late', 'two');
    await Promise.all([becomes(target, 'late', 'two'), becomes(other, 'late', 'two')]);
  });

  it('follows the labels of namespaces, also of new ones', async () => {
    await aSecret('chosen', 'one');
    await aCopy('chosen', { secretName: 'chosen', namespaceLabels: { [`example.com/${label}`]: 'yes' } });
    const added = await cluster.aNamespace();
    await labelled(added, 'yes');
    await becomes(added, 'chosen', 'one');
    await labelled(added, null);
    await becomes(added, 'chosen', undefined);
  });

  it('notices at its start what changed while it was away, and makes no run for the rest', async () => {
    await eventually(async () => (await isReady('late')) && isReady('chosen'), WITHIN_MS);
    const [late, chosen] = [await refOf('late'), await refOf('chosen')];
    // A resource is Ready before its run has ended.
    await Promise.all([late, chosen].map((ref) => stage.temporal.untilCompleted(ref, WITHIN_MS)));
    const before = await stage.temporal.runsOf(chosen);
    await operator.end('SIGTERM');
    await change('late', 'three');
    operator = await author.start(stage);
    await becomes(target, 'late', 'three');
    expect(await stage.temporal.runsOf(chosen)).toEqual(before);
  });

  it('removes the copies with the resource', async () => {
    await cluster.delete({ type: COPIES, namespace: source, name: 'late' });
    await eventually(
      async () => (await cluster.get({ type: COPIES, namespace: source, name: 'late' })) === undefined,
      WITHIN_MS,
    );
    expect(await textIn(target, 'late')).toBeUndefined();
  });
});
