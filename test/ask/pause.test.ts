import { describe, expect, it } from '@jest/globals';
import type { RequestOptions } from '../../src/kubernetes/client.ts';
import { asked } from '../support/ask-session.ts';
import { aPodSet } from '../support/pod-sets.ts';

const POD_SETS = '/apis/batch.tutorial.kubebuilder.io/v1/namespaces/shop/podsets';

/** Of PodSets a and b in namespace shop, of which b is paused. */
async function paused(...words: readonly string[]) {
  const requests: RequestOptions[] = [];
  const annotations = { 'durable-operator.dev/paused': 'true' };
  const [a, b] = ['a', 'b'].map((name) => aPodSet().in('shop').named(name).object);
  const objects = [a, { ...b, metadata: { ...b?.metadata, annotations } }];
  const said = await asked(['pause', ...words], {
    answerTo: (request) => {
      requests.push(request);
      if (request.path === POD_SETS) return { metadata: { resourceVersion: '1' }, items: objects };
      return objects.find((each) => request.path === `${POD_SETS}/${each?.metadata.name ?? ''}`);
    },
  });
  const written = requests.filter(({ method }) => method === 'PATCH').map(({ path }) => path);
  return { ...said, requests, written };
}

describe('pause', () => {
  it.each([
    ['KIND/NAME', ['podset/a', 'podset/b']],
    ['KIND NAME', ['podset', 'a', 'b']],
  ])('takes several, as kubectl does: %s', async (_, words) => {
    const { stdout, written, status } = await paused(...words);
    expect(stdout).toBe('podset/a -n shop paused\npodset/b -n shop is already paused\n');
    expect(written).toEqual([`${POD_SETS}/a`]);
    expect(status).toBe(0);
  });

  it('takes labels', async () => {
    const { stdout, requests } = await paused('podset', '-l', 'app=web', '-y');
    expect(requests[0]).toMatchObject({ path: POD_SETS, query: { labelSelector: 'app=web' } });
    expect(stdout).toBe('podset/a -n shop paused\n1 of 2 is already paused\n');
  });

  it.each([
    [['podset/a', '-l', 'app=web'], '-l and the name "a" exclude each other; leave one out'],
    [['podset/a', '-A'], '-A and the name "a" exclude each other; leave one out'],
    [['podset/a', 'podset'], '"podset/a podset" is more than one resource; write KIND/NAME'],
  ])('refuses %j', async (words, problem) => {
    const { stderr, status, requests } = await paused(...words);
    expect(stderr).toContain(problem);
    expect(status).toBe(2);
    expect(requests).toEqual([]);
  });
});
