import { describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { allow, CONFIG_MAPS, defineController, defineKind } from 'durable-operator';
import { explore } from '../../testing/index.ts';

jest.setTimeout(300_000);

const Notice = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Notice',
  description: 'A text in several namespaces.',
  spec: z.object({ namespaces: z.array(z.string()).default(['default', 'shop']) }),
});

/** Publishes the text of a ConfigMap under one name in several namespaces. */
const notice = defineController({
  name: 'notice',
  for: Notice,
  references: [{ ...CONFIG_MAPS, names: () => [{ name: 'text', namespace: 'system' }] }],
  permissions: [allow(CONFIG_MAPS, ['get', 'create', 'patch'])],
  observe: ({ resource: { spec }, kube }) =>
    Promise.all(
      ['system', ...spec.namespaces].map((namespace) =>
        kube
          .get({ type: CONFIG_MAPS, namespace, name: namespace === 'system' ? 'text' : 'notice' })
          .then((object) => object ?? null),
      ),
    ),
  steps: {
    publish: {
      summary: 'publish the text',
      external: false,
      run: async ({ observed: [source], kube }, namespace: string) => {
        const metadata = { namespace, name: 'notice' };
        const data = source?.['data'];
        await kube.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
        return `published in ${namespace}`;
      },
    },
    change: {
      summary: 'change the text',
      external: false,
      run: async ({ resource: { spec }, observed: [source, ...copies], kube }, namespace: string) => {
        const { uid = '', resourceVersion } = copies[spec.namespaces.indexOf(namespace)]?.metadata ?? {};
        const at = { type: CONFIG_MAPS, namespace, name: 'notice' };
        await kube.patch(at, { metadata: { uid, resourceVersion }, data: source?.['data'] });
        return `changed it in ${namespace}`;
      },
    },
  },
  decide({ resource: { spec, isBeingDeleted }, observed: [source, ...copies] }, next) {
    if (isBeingDeleted) return next.converged('it stays where it is published');
    const missing = spec.namespaces.find((_, place) => copies[place] === null);
    if (missing !== undefined) return next.do.publish('it is not there', missing);
    const other = spec.namespaces.find(
      (_, place) => JSON.stringify(copies[place]?.['data']) !== JSON.stringify(source?.['data']),
    );
    if (other !== undefined) return next.do.change('it is another', other);
    return next.converged('it is published');
  },
});

describe('objects of several namespaces', () => {
  it('are told apart: at home by a short key, elsewhere by a longer one, or by their metadata', async () => {
    const explored = explore(
      notice,
      {
        resource: { spec: {} },
        objects: {
          'configmaps/system/text': { data: { text: 'closed' } },
          'configmaps/notice-board': { metadata: { namespace: 'system' } },
          'namespaces/shop': {},
        },
        externalChanges: {
          'the text changes': ({ objects }) =>
            (objects['configmaps/system/text'] = {
              ...objects['configmaps/system/text'],
              data: { text: 'open' },
            }),
        },
        outcome: ({ objects }) => Object.keys(objects),
        finally: ({ resource, objects }) => [
          JSON.stringify(objects['namespaces/shop']?.['metadata']).includes('"namespace"') &&
            'a Namespace is in a namespace',
          objects['configmaps/system/notice-board'] === undefined && 'what has a namespace is elsewhere',
          ...['configmaps/notice', 'configmaps/shop/notice'].map(
            (key) =>
              resource &&
              JSON.stringify(objects[key]?.['data']) !==
                JSON.stringify(objects['configmaps/system/text']?.['data']) &&
              `${key} has another text`,
          ),
        ],
      },
      { states: 6_000 },
    );
    // It finds no mistake as far as it comes.
    await expect(explored).rejects.toThrow(': left out: ');
  });
});
