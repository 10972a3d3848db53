import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Author } from '../support/author.ts';
import { NAMESPACES } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(180_000);

const POLICIES = { group: 'networking.k8s.io', version: 'v1', plural: 'networkpolicies' };
const WITHIN_MS = 60_000;
const stage = setUpStage(() => author.remove(stage));
const { cluster } = stage;
let author: Author;

beforeAll(async () => {
  author = await Author.begin('isolation');
  await author.start(stage);
});

async function isolate(namespace: string, value: 'true' | null): Promise<void> {
  const metadata = { labels: { 'example.com/isolated': value } };
  await cluster.patch({ type: NAMESPACES, name: namespace }, { metadata });
}

const policyIn = (namespace: string) => cluster.get({ type: POLICIES, namespace, name: 'isolated' });

async function eventuallyHistory(namespace: string, wanted: RegExp): Promise<void> {
  await eventually(
    async () => wanted.test(await author.ask(stage, 'history', `namespace/${namespace}`)),
    WITHIN_MS,
  );
}

describe('the example isolation, on the packed package', () => {
  it('compiles', async () => {
    await author.compile();
  });

  it('keeps a NetworkPolicy in a Namespace whose label asks for it, and deletes it with the label', async () => {
    const namespace = await cluster.aNamespace();
    await isolate(namespace, 'true');
    await eventually(async () => (await policyIn(namespace)) !== undefined, WITHIN_MS);
    await eventuallyHistory(namespace, /isolate .*created NetworkPolicy isolated/);
    await cluster.delete({ type: POLICIES, namespace, name: 'isolated' });
    await eventually(async () => (await policyIn(namespace)) !== undefined, WITHIN_MS);
    await isolate(namespace, null);
    await eventually(async () => (await policyIn(namespace)) === undefined, WITHIN_MS);
    await eventuallyHistory(namespace, /open .*deleted NetworkPolicy isolated/);
  });

  it('leaves the NetworkPolicy of somebody else as it is, and says so', async () => {
    const namespace = await cluster.aNamespace();
    await cluster.create(POLICIES, {
      ...{
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { namespace, name: 'isolated' },
      },
      spec: { podSelector: {} },
    });
    await isolate(namespace, 'true');
    const said = async () =>
      /NameTaken[^]*is somebody else's/.test(await author.ask(stage, 'why', `namespace/${namespace}`));
    await eventually(said, WITHIN_MS);
    await isolate(namespace, null);
    await eventually(async () => !(await said()), WITHIN_MS);
    expect(await policyIn(namespace)).toMatchObject({ spec: { podSelector: {} } });
  });
});
