import { describe, expect, it } from '@jest/globals';
import { listWatched, readWatched } from '../../activities/objects/watched.ts';
import type { WatchedType } from '../../src/api/watched.ts';
import { NAMESPACES, PODS } from '../../src/api/index.ts';
import type { KubernetesClient, RequestOptions } from '../../src/kubernetes/client.ts';

const SELECTED = { labelSelector: 'app=web', fieldSelector: 'status.phase!=Failed' };
const PLACE = { namespace: 'shop', name: 'web' };

function aClient() {
  const requests: RequestOptions[] = [];
  const request = (asked: RequestOptions) => {
    requests.push(asked);
    return Promise.resolve({ metadata: {}, items: [] });
  };
  return { requests, client: { request } as unknown as KubernetesClient };
}

describe('an object is read as the watch selects it', () => {
  it.each<[how: string, type: WatchedType, path: string, query: object | undefined]>([
    ['by name', PODS, '/api/v1/namespaces/shop/pods/web', undefined],
    [
      'by name and fields in a list, since a get has no selectors',
      { ...PODS, ...SELECTED },
      '/api/v1/namespaces/shop/pods',
      { ...SELECTED, fieldSelector: 'metadata.name=web,status.phase!=Failed' },
    ],
    [
      'of the cluster without the namespace in which its runs are',
      { ...NAMESPACES, labelSelector: 'app=web' },
      '/api/v1/namespaces',
      { labelSelector: 'app=web', fieldSelector: 'metadata.name=web' },
    ],
  ])('%s', async (_, type, path, query) => {
    const { client, requests } = aClient();
    await readWatched(client, type, PLACE);
    const [asked] = requests;
    expect(asked).toMatchObject({ method: 'GET', path });
    if (query === undefined) expect(asked?.query).toBeUndefined();
    else expect(asked?.query).toMatchObject(query);
  });

  it('like all of a namespace, with metadata alone where the watch has no more', async () => {
    const { client, requests } = aClient();
    await listWatched(
      client,
      { ...PODS, ...SELECTED, metadataOnly: true },
      'shop',
      ({ metadata }) => metadata,
    );
    expect(requests).toMatchObject([
      { path: '/api/v1/namespaces/shop/pods', query: SELECTED, metadataOnly: 'list' },
    ]);
  });
});
