import { describe, expect, it } from '@jest/globals';
import { PODS } from '../../src/api/index.ts';
import { sentenceOf, type Action } from '../../src/runs/decision.ts';
import type { KubernetesObject, ObjectMeta } from '../../src/api/object.ts';
import { podSet } from '../../src/controllers/pod-set/controller.ts';
import { namesOfNewPods } from '../../src/controllers/pod-set/names.ts';
import { podSetReference } from '../../src/controllers/pod-set/pod.ts';
import { statusAnswer, type Request, type ServedType } from '../../testing/explorer/api-server.ts';
import { objectKey } from '../../testing/explorer/cluster.ts';
import { AuthorWorld } from '../support/author-world.ts';

/* Steps of a PodSet `shop/front` on a fake API server. */

const FRONT = { name: 'front', uid: 'uid-of-front', namespace: 'shop' };
const OURS = podSetReference(FRONT);
const THEIRS = { ...OURS, kind: 'ReplicaSet', uid: 'uid-of-other' };
const CONFIG = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-of-c' };
const STATUS = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
/** The names tried for the first two Pods. */
const [[FIRST = '', SECOND = ''], [OTHER = '']] = namesToTry();

function namesToTry() {
  const names = namesOfNewPods({ ...FRONT, podNames: [] }, new Set());
  return [names.next().value, names.next().value] as const;
}

interface Story {
  readonly replicas: number;
  /** Called before each request: what others do meanwhile, and with what it is refused. */
  readonly meanwhile?: (request: Request) => ReturnType<typeof statusAnswer> | undefined;
  /** What a webhook makes of a new Pod. */
  readonly changes?: (metadata: Partial<ObjectMeta>) => Partial<ObjectMeta>;
}

function given({ replicas, meanwhile, changes = (metadata) => metadata }: Story) {
  const reads: string[] = [];
  const served: ServedType = {
    ...PODS,
    stored: (pod) => ({ ...pod, metadata: { ...pod.metadata, ...changes(pod.metadata) }, status: STATUS }),
  };
  const world = new AuthorWorld(podSet, {
    types: [served],
    spec: { replicas },
    refuse: (request) => {
      if (request.method === 'GET') reads.push(request.path.split('/').slice(-2).join('/'));
      return meanwhile?.(request) ?? undefined;
    },
  });
  const pods = () => world.cluster.list(PODS).map(({ object }) => object);
  const change = (key: string, fields: object, metadata: object = {}) =>
    world.cluster.change(key, (before) => ({
      ...before,
      ...fields,
      metadata: { ...before.metadata, ...metadata },
    }));
  return {
    world,
    reads,
    pods,
    podNames: () => pods().map(({ metadata }) => metadata.name),
    ownersOf: (name: string) => world.cluster.get(objectKey(PODS, name))?.metadata.ownerReferences,
    put: (name: string, metadata: object = {}) => {
      const labels = { app: 'front', version: 'v0.1' };
      world.put(PODS, { metadata: { name, labels, ownerReferences: [OURS], ...metadata }, status: STATUS });
    },
    own: (name: string, owner: object) => change(objectKey(PODS, name), {}, { ownerReferences: [owner] }),
    relabel: (name: string, labels: object) => change(objectKey(PODS, name), {}, { labels }),
    fail: (name: string) => change(objectKey(PODS, name), { status: { phase: 'Failed' } }),
    naming: (...podNames: readonly string[]) =>
      change(objectKey(podSet.for, 'front'), { status: { podNames } } satisfies Partial<KubernetesObject>),
  };
}

const said = ({ did }: { readonly did: readonly Action[] }) => sentenceOf(did);

describe('createPods', () => {
  it('creates several hundred in one step, and one Event says how many', async () => {
    const { world, pods } = given({ replicas: 300 });
    const end = await world.step('createPods', { isDurable: true });
    expect(pods()).toHaveLength(300);
    expect(said(end)).toBe('created 300 Pods');
    expect(end.events).toMatchObject([
      {
        type: 'Normal',
        reason: 'Created',
        note: expect.stringMatching(/^created 300 Pods\b.*spec\.replicas is 300$/),
      },
    ]);
    expect(await world.run()).toEqual(['updateStatus']);
    expect(world.status).toMatchObject({ readyReplicas: 300 });
  });

  it('creates no more than are missing where an earlier attempt has created some that nobody saw', async () => {
    const story = given({
      replicas: 2,
      meanwhile: ({ method }) => {
        if (method === 'POST' && !story.podNames().includes(FIRST)) story.put(FIRST);
      },
    });
    await story.world.run();
    expect(story.podNames()).toHaveLength(2);
    expect(story.podNames()).toContain(FIRST);
    expect(story.world.status).toMatchObject({ readyReplicas: 2 });
  });

  it.each([
    ['of somebody else', { ownerReferences: [THEIRS] }],
    ['that has lost the labels', { labels: {} }],
  ])('tries the next of its names where a Pod %s has the first', async (_, metadata) => {
    const { world, put, podNames } = given({ replicas: 2 });
    put(FIRST, { labels: {}, ...metadata });
    await world.run();
    expect(podNames().sort()).toEqual([FIRST, SECOND, OTHER].sort());
  });

  it('asks once where the server refuses, and the status says why', async () => {
    const quota = statusAnswer(403, { reason: 'Forbidden', message: 'exceeded quota: few' });
    const { world } = given({
      replicas: 2 ** 31 - 1,
      meanwhile: ({ method }) => (method === 'POST' ? quota : undefined),
    });
    expect(await world.run()).toEqual(['createPods', 'updateStatus', 'createPods', 'failed: refused']);
    expect(world.requests).toEqual(['POST shop/pods', 'PATCH front/status', 'POST shop/pods']);
    expect(world.condition('Stalled')).toMatchObject({ status: 'True', reason: 'QuotaExceeded' });
  });

  it('makes few Pods in vain where something takes their labels away', async () => {
    const { world, pods } = given({ replicas: 300, changes: () => ({ labels: {} }) });
    await world.run();
    expect(pods().length).toBeLessThan(10);
    expect(world.condition('Stalled')).toMatchObject({ status: 'True', reason: 'Overridden' });
  });
});

describe('deletePods', () => {
  type Act = (story: ReturnType<typeof given>) => void;
  const COSTS: Readonly<Record<string, string>> = { a: '3', b: '2', c: '1' };

  const replace: Act = ({ world, put }) => {
    world.cluster.remove(objectKey(PODS, 'c'));
    put('c', { ownerReferences: [THEIRS] });
  };

  /** Of three Pods, `c` and then `b` are to be deleted. @param before what somebody does before they are looked at again, or deleted */
  async function deleted(
    before: { readonly look?: Act; readonly delete?: Act; readonly lookMs?: number } = {},
  ) {
    let lists = 0;
    const story = given({
      replicas: 1,
      meanwhile: ({ method, path }) => {
        if (method === 'GET' && path.endsWith('/pods') && (lists += 1) === 2) {
          before.look?.(story);
          story.world.nowMs += before.lookMs ?? 0;
        }
        if (method === 'DELETE' && path.endsWith('/c')) before.delete?.(story);
      },
    });
    for (const name of ['a', 'b', 'c'])
      story.put(name, { annotations: { 'controller.kubernetes.io/pod-deletion-cost': COSTS[name] } });
    const end = await story.world.step('deletePods');
    return { ...story, end };
  }

  it('deletes those that are too many, and one Event says which', async () => {
    const { podNames, end } = await deleted();
    expect(podNames()).toEqual(['a']);
    expect(said(end)).toBe('deleted 2 Pods c, b');
    expect(end.events).toMatchObject([
      { reason: 'Deleted', note: expect.stringMatching(/^deleted 2 Pods c, b\b.*spec\.replicas is 1$/) },
    ]);
  });

  it('spares a Pod that came in the place of another', async () => {
    const { podNames } = await deleted({ delete: replace });
    expect(podNames()).toEqual(['a', 'c']);
  });

  describe.each([
    ['are listed', 0],
    ['are so many that each is read', 751],
  ])('where the Pods %s,', (_how, lookMs) => {
    it.each<[what: string, act: Act]>([
      [
        'is another of that name',
        ({ world, put }) => {
          world.cluster.remove(objectKey(PODS, 'c'));
          put('c');
        },
      ],
      ['has lost the labels', ({ relabel }) => relabel('c', {})],
      ['has got another controller', ({ own }) => own('c', THEIRS)],
      ['has failed', ({ fail }) => fail('c')],
      ['is being deleted', ({ world }) => world.cluster.markDeleted(objectKey(PODS, 'c'), ['theirs'])],
    ])('spares a Pod that by now %s', async (_, look) => {
      const { world } = await deleted({ look, lookMs });
      expect(world.requests).toEqual(['DELETE pods/b']);
    });
  });

  it('says nothing where all of them are gone by then', async () => {
    const look: Act = ({ world }) =>
      ['b', 'c'].forEach((name) => world.cluster.remove(objectKey(PODS, name)));
    const { end } = await deleted({ look });
    expect(end).toMatchObject({ did: [], events: [] });
  });

  it('deletes a Pod all the same that somebody has written since it was read', async () => {
    const { podNames } = await deleted({ delete: ({ relabel }) => relabel('c', { some: 'thing' }) });
    expect(podNames()).toEqual(['a']);
  });
});

describe('adoptPods and releasePods', () => {
  it('keep the other owners of a Pod, and say in an Event what they did', async () => {
    const { world, put, ownersOf, naming, podNames } = given({ replicas: 2 });
    put('a', { ownerReferences: [CONFIG] });
    put('b', { ownerReferences: [CONFIG, OURS], labels: {} });
    naming('b');
    const { known, ...released } = await world.step('releasePods');
    expect(ownersOf('b')).toEqual([CONFIG]);
    expect(released.events).toMatchObject([{ reason: 'Released', note: expect.stringContaining('Pod b') }]);
    const adopted = await world.step('adoptPods', { known });
    expect(ownersOf('a')).toEqual([CONFIG, OURS]);
    expect(adopted.events).toMatchObject([{ reason: 'Adopted', note: expect.stringContaining('Pod a') }]);
    expect(await world.run()).toEqual(['createPods', 'updateStatus']);
    expect(podNames()).toHaveLength(3);
  });

  it('leave a Pod alone that somebody else has written meanwhile', async () => {
    const story = given({
      replicas: 1,
      meanwhile: ({ method }) => {
        if (method === 'PATCH' && story.ownersOf('a')?.length === 0) story.relabel('a', { mine: 'yes' });
      },
    });
    story.put('a', { ownerReferences: [] });
    await story.world.run();
    expect(story.ownersOf('a')).toEqual([]);
  });
});

describe('the Pods that only the status names', () => {
  it.each([
    [2, ['pods/x-0', 'pods/x-1']],
    [5, ['shop/pods']],
  ])('are looked for, %i of them, by %j', async (count, expected) => {
    const { world, reads, naming, put } = given({ replicas: 1 });
    put('a');
    naming('a', ...Array.from({ length: count }, (_, i) => `x-${i}`));
    const before = ['shop/pods', 'podsets/front'];
    await world.step('updateStatus');
    expect(reads.toSorted()).toEqual([...before, ...expected].sort());
    expect(world.status).toMatchObject({ podNames: ['a'] });
  });
});
