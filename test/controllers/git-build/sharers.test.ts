import { describe, expect, it } from '@jest/globals';
import { authorsKube } from '../../../activities/authors-kube.ts';
import { Sharers } from '../../../src/controllers/git-build/sharing.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../../support/build-samples.ts';
import { eventually } from '../../../testing/eventually.ts';
import { aFakeApi } from '../../support/fake-api.ts';
import { answerJson } from '../../support/fake-api-server.ts';

const ARTIFACTS = [{ node: 'node-1', binary: 'helloworld' }];
const ALL = '/apis/test.inspur.com/v1alpha1/xxxes';

const api = aFakeApi();

interface Shown {
  readonly builds: readonly object[];
  readonly pods?: readonly object[];
}

function sharers({ builds, pods = [] }: Shown, namespaces: readonly string[] = []) {
  api.server.handle((request, response) => {
    const items = request.url.pathname.endsWith('/pods') ? pods : builds;
    answerJson(200, { metadata: {}, items })(request, response);
  });
  return new Sharers(BUILD_DEFAULTS, namespaces).of(asking('uid-1'));
}

const asking = (uid: string) => ({
  ...{ uid, artifacts: ARTIFACTS, signal: new AbortController().signal },
  kube: authorsKube({ client: api.client, controller: 'git-build' }),
});

const aBuild = (name: string, status: object = {}, metadata: object = {}) => ({
  metadata: { namespace: 'team', name, uid: `uid-of-${name}`, generation: 1, ...metadata },
  spec: SAMPLE,
  status,
});
const LISTED = { phase: 'Succeeded', observedGeneration: 1, artifacts: ARTIFACTS };
const asked = () => api.server.requests.map(({ url }) => url.pathname);

describe('who else has a file', () => {
  it('is every other build that lists it, and stays', async () => {
    const builds = [
      aBuild('own', LISTED, { uid: 'uid-1' }),
      aBuild('other', LISTED),
      aBuild('going', LISTED, { deletionTimestamp: '2026-11-21T11:00:00Z' }),
    ];
    expect(await sharers({ builds })).toEqual([
      { namespace: 'team', name: 'other', uid: 'uid-of-other', artifacts: ARTIFACTS },
    ]);
  });

  it('is a build whose Pod runs on the node, although its status does not say so yet', async () => {
    const labels = { 'durable-operator.dev/build-uid': 'uid-of-other', 'durable-operator.dev/job': 'build' };
    const annotations = { 'durable-operator.dev/binary-name': 'helloworld' };
    const metadata = { name: 'p', uid: 'p', namespace: 'team', labels, annotations };
    const pod = { metadata, spec: { nodeName: 'node-1' }, status: { phase: 'Running' } };
    expect(await sharers({ builds: [aBuild('other')], pods: [pod] })).toMatchObject([{ name: 'other' }]);
    expect(asked()).toEqual([ALL, '/api/v1/namespaces/team/pods']);
    expect(api.server.requests[1]?.url.searchParams.get('labelSelector')).toBe(
      'durable-operator.dev/job=build',
    );
  });

  it('takes one list where nobody has it, and one for each namespace that the operator watches', async () => {
    await sharers({ builds: [{ ...aBuild('other'), spec: { ...SAMPLE, binaryName: 'x' } }] });
    expect(asked()).toEqual([ALL]);
    await sharers({ builds: [] }, ['shop', 'team']);
    expect(asked().slice(1)).toEqual(
      ['shop', 'team'].map((name) => ALL.replace('xxxes', `namespaces/${name}/xxxes`)),
    );
  });

  it('is read once for all who ask during a reading, after they have asked', async () => {
    let builds: readonly object[] = [];
    const answers: (() => void)[] = [];
    api.server.handle((request, response) => {
      const items = builds;
      if (request.url.pathname === ALL)
        answers.push(() => answerJson(200, { metadata: {}, items })(request, response));
      else answerJson(200, { metadata: {}, items: [] })(request, response);
    });
    const shared = new Sharers(BUILD_DEFAULTS, []);
    const askedFor = (uid: string) => shared.of(asking(uid));
    const answer = async (count: number) => {
      await eventually(() => answers.length === count);
      answers.at(-1)?.();
    };
    const first = askedFor('uid-1');
    await eventually(() => answers.length === 1);
    const later = [askedFor('uid-2'), askedFor('uid-of-other')];
    builds = [aBuild('other', LISTED)];
    await answer(1);
    expect(await first).toEqual([]);
    await answer(2);
    expect(await Promise.all(later)).toMatchObject([[{ name: 'other' }], []]);
  });

  it('is read again after a reading that failed', async () => {
    const shared = new Sharers(BUILD_DEFAULTS, []);
    const own = asking('uid-1');
    api.server.handle(answerJson(500, { message: 'etcd is away' }));
    await expect(shared.of(own)).rejects.toThrow('etcd is away');
    api.server.handle(answerJson(200, { metadata: {}, items: [] }));
    expect(await shared.of(own)).toEqual([]);
  });
});
