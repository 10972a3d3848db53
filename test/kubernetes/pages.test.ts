import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesList } from '../../src/api/object.ts';
import { eachPage } from '../../src/kubernetes/pages.ts';
import { aFakeApi } from '../support/fake-api.ts';
import { FakeCollection } from '../support/fake-collection.ts';

const MEGABYTE = 1024 * 1024;

let pods: FakeCollection;

const api = aFakeApi();

beforeEach(() => {
  pods = new FakeCollection();
  api.server.handle(pods.handler);
});

async function allPages(objectsMax?: number): Promise<readonly KubernetesList[]> {
  const pages: KubernetesList[] = [];
  await eachPage(
    { client: api.client, path: '/api/v1/pods' },
    { onPage: (page) => pages.push(page), objectsMax },
  );
  return pages;
}

/** Named in the order of the list. */
function put(count: number, bytes: number): void {
  for (let i = 0; i < count; i += 1)
    pods.put(`pod-${String(pods.names.length).padStart(3, '0')}`, { large: 'x'.repeat(bytes) });
}

const namesOn = (pages: readonly KubernetesList[]) =>
  pages.flatMap(({ items }) => (items ?? []).map(({ metadata }) => metadata.name));
const limits = () => api.server.requests.map(({ url }) => Number(url.searchParams.get('limit')));

describe('a collection', () => {
  it('of small objects is read 500 at a time', async () => {
    put(501, 10);
    expect(namesOn(await allPages())).toEqual(pods.names);
    expect(limits()).toEqual([500, 500]);
  });

  it('is read as a whole, in pages of at most 4 MiB, wherever its large objects are', async () => {
    put(20, 10);
    put(10, MEGABYTE);
    put(100, 10);
    const pages = await allPages();
    expect(namesOn(pages)).toEqual(pods.names);
    expect(Math.max(...pages.map((page) => JSON.stringify(page).length))).toBeLessThan(4 * MEGABYTE);
    // Pages grow again behind the large objects.
    expect(limits().at(-1)).toBeGreaterThan(20);
  });

  it('is read one by one where each object is too large', async () => {
    put(3, 5 * MEGABYTE);
    expect(namesOn(await allPages(10))).toEqual(pods.names);
    expect(limits()).toEqual([10, 1, 1, 1]);
  });
});
