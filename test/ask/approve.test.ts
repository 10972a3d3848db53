import { describe, expect, it } from '@jest/globals';
import { defineController, SERVICES } from 'durable-operator';
import type { RequestOptions } from '../../src/kubernetes/client.ts';
import { asked, aTemporal } from '../support/ask-session.ts';

/** Deletes the shelves of a Service that closes. */
function clearing(name: string) {
  return defineController({
    name,
    for: SERVICES,
    view: ({ metadata }) => ({ isClosing: metadata.labels?.['closing'] === 'yes' }),
    steps: {
      clear: {
        summary: 'clear it',
        deletes: () => ({
          ...{ what: 'Shelf', count: 2, approval: 'required' },
          objects: () => ['a', 'b'].map((shelf) => ({ name: shelf, uid: `${name} ${shelf}` })),
        }),
        run: () => Promise.resolve('cleared it'),
      },
    },
    decide: ({ resource: { view } }, next) =>
      view.isClosing ? next.do.clear('it is closing') : next.converged('it is open'),
  });
}

const SHOPS = '/api/v1/namespaces/shop/services';

/** Of Services `a` and `b`, which close, and `c`, which does not. */
async function approved(words: readonly string[], ...controllers: readonly string[]) {
  const written: string[] = [];
  const program = { name: 'shops', controllers: controllers.map(clearing) };
  const shops = ['a', 'b', 'c'].map((name) => {
    const labels = { closing: name === 'c' ? 'no' : 'yes' };
    return { metadata: { namespace: 'shop', name, uid: `uid-${name}`, resourceVersion: '7', labels } };
  });
  const answerTo = ({ method, path, body }: RequestOptions) => {
    if (path.endsWith('selfsubjectreviews')) return { status: { userInfo: { username: 'alice' } } };
    if (path === SHOPS) return { metadata: {}, items: shops };
    if (method === 'PATCH') {
      const { annotations } = (
        body as { readonly metadata: { readonly annotations: Record<string, string> } }
      ).metadata;
      written.push(
        `${path.slice(SHOPS.length + 1)} by ${annotations['durable-operator.dev/answered-by'] ?? ''}`,
      );
    }
    return shops.find(({ metadata }) => path === `${SHOPS}/${metadata.name}`);
  };
  const said = await asked(['approve', ...words], {
    ...{ program, answerTo },
    temporal: () => Promise.resolve(aTemporal()),
  });
  return { ...said, written };
}

describe('approve', () => {
  it('takes several resources, shows what each would delete, and asks once', async () => {
    const unasked = await approved(['service/a', 'service/b'], 'clearer');
    expect(unasked.stdout.match(/delete 2 Shelfs \(a, b\)/g)).toHaveLength(2);
    expect(unasked.stderr).toContain('Approve 2 plans as alice?');
    expect(unasked.written).toEqual([]);
    const { stdout, status, written } = await approved(['service/a', 'service/b', '-y'], 'clearer');
    expect(stdout).toMatch(
      /service\/a -n shop approved: plan 2-\S+, by alice\nservice\/b -n shop approved: plan 2-/,
    );
    expect([status, written]).toEqual([0, ['a by alice', 'b by alice']]);
  });

  it('names those that do not wait', async () => {
    const { stderr, status, written } = await approved(['service', 'a', 'c', '-y'], 'clearer');
    expect(stderr).toContain('service/c -n shop does not wait for approval');
    expect([status, written]).toEqual([1, ['a by alice']]);
  });

  it('answers those of a kind that wait, and no others', async () => {
    const { status, written } = await approved(['services', '-y'], 'clearer');
    expect([status, written]).toEqual([0, ['a by alice', 'b by alice']]);
  });

  it('asks for the controller where two of them wait for one resource, which holds one answer', async () => {
    const both = await approved(['service/a', '-y'], 'clearer', 'sweeper');
    expect(both.stderr).toContain(
      'service/a -n shop waits for two plans; answer one after the other: clearer/a or sweeper/a',
    );
    expect([both.status, both.written]).toEqual([2, []]);
    const one = await approved(['sweeper/a', '-y'], 'clearer', 'sweeper');
    expect([one.status, one.written]).toEqual([0, ['a by alice']]);
  });
});
