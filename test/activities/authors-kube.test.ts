import { describe, expect, it } from '@jest/globals';
import { authorsKube } from '../../activities/authors-kube.ts';
import { PODS } from '../../src/api/kinds.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { answerJson, type Handler } from '../support/fake-api-server.ts';

const api = aFakeApi();

const pod = (name: string) => ({ metadata: { name, namespace: 'shop', uid: `uid-${name}` } });
const at = { type: PODS, namespace: 'shop', name: 'web' };

/** Lists these, two on a page. */
function inPages(...names: readonly string[]): Handler {
  return ({ url }, response) => {
    const from = Number(url.searchParams.get('continue') ?? 0);
    const items = names.slice(from, from + 2).map(pod);
    const next = from + 2 < names.length ? { continue: String(from + 2) } : {};
    answerJson(200, { metadata: next, items })({} as never, response);
  };
}

const listed = (selection: object) =>
  authorsKube({ client: api.client, controller: 'web' }).list(PODS, { namespace: 'shop', ...selection });

describe('what an author reads', () => {
  it.each([
    ['all of an object', {}, 'application/json'],
    ['its metadata alone', { metadataOnly: true }, 'as=PartialObjectMetadata;'],
  ])('is %s', async (_, only, accepted) => {
    api.server.handle(answerJson(200, pod('web')));
    await authorsKube({ client: api.client, controller: 'web' }).get(at, only);
    expect(api.server.lastRequest.headers.accept).toContain(accepted);
  });

  it('is a list of what the selectors choose, or its metadata', async () => {
    api.server.handle(inPages());
    await listed({ labelSelector: 'app=web', fieldSelector: 'spec.nodeName=a', metadataOnly: true });
    const { url, headers } = api.server.lastRequest;
    expect(url.pathname).toBe('/api/v1/namespaces/shop/pods');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      labelSelector: 'app=web',
      fieldSelector: 'spec.nodeName=a',
      limit: '500',
    });
    expect(headers.accept).toContain('as=PartialObjectMetadataList;');
  });

  it('is all pages of a list, and of each object what its view keeps', async () => {
    api.server.handle(inPages('a', 'b', 'c'));
    const names = await authorsKube({ client: api.client, controller: 'web' }).list(
      PODS,
      {},
      ({ metadata: { name } }) => (name === 'b' ? undefined : name),
    );
    expect(names).toEqual(['a', 'c']);
  });

  it('is one page where a limit is given, and nothing where that is too long', async () => {
    api.server.handle(inPages('a', 'b', 'c'));
    expect((await listed({ limit: 2 })).map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(api.server.requests.map(({ url }) => url.searchParams.get('limit'))).toEqual(['2']);
    api.server.handle(inPages('x'.repeat(1024 * 1024)));
    expect(await listed({ limit: 2 })).toEqual([]);
  });
});

describe('what an author writes', () => {
  const metadata = { uid: 'uid-web', resourceVersion: '7' };
  it.each([
    ['create', (kube: ReturnType<typeof authorsKube>) => kube.create(PODS, pod('web'))],
    ['patch', (kube: ReturnType<typeof authorsKube>) => kube.patch(at, { metadata })],
    ['delete', (kube: ReturnType<typeof authorsKube>) => kube.delete(at, metadata)],
  ])('ends with the signal of its step: %s', async (_, write) => {
    const superseded = new AbortController();
    // It never answers.
    api.server.handle(() => superseded.abort());
    await expect(
      write(authorsKube({ client: api.client, controller: 'web', signal: superseded.signal })),
    ).rejects.toThrow(/: aborted$/);
    expect(api.server.requests).toHaveLength(1);
  });
});

describe('an object without a name', () => {
  const metadata = { uid: 'uid-web', resourceVersion: '7' };
  it.each([
    ['get', (kube: ReturnType<typeof authorsKube>) => kube.get({ ...at, name: '' })],
    ['patch', (kube: ReturnType<typeof authorsKube>) => kube.patch({ ...at, name: '' }, { metadata })],
    ['delete', (kube: ReturnType<typeof authorsKube>) => kube.delete({ ...at, name: '' }, metadata)],
    [
      'delete the namespace',
      (kube: ReturnType<typeof authorsKube>) => kube.delete({ ...at, name: '..' }, metadata),
    ],
  ])('is refused before any request: %s', async (_, ask) => {
    api.server.handle(answerJson(200, { metadata: {}, items: [] }));
    await expect(ask(authorsKube({ client: api.client, controller: 'web' }))).rejects.toMatchObject({
      classification: 'refused',
      words: expect.stringContaining('a name is needed'),
    });
    expect(api.server.requests).toEqual([]);
  });
});
