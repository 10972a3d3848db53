import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ObjectMeta } from '../../src/contract/object.ts';
import { labelsFor } from '../../src/controllers/pod-set/pod.ts';
import type { Journalled } from './api-proxy.ts';
import { mostCounts, tooMany } from './counts.ts';
import { inVain } from './in-vain.ts';
import type { Evidence } from './invariants.ts';
import type { Version } from './observer.ts';
import { merged, POLICIES } from './rewrites.ts';
import { takenOut } from './taken-out.ts';

const NOTHING: Evidence = {
  place: { home: 'h', team: 't', taskQueue: 'q', secret: 's' },
  journal: [],
  versions: [],
  foreign: new Set(),
  isRestored: false,
  isRestarted: false,
};

function request(method: string, given: Partial<Journalled>): Journalled {
  const about = { resource: 'pods', namespace: 'h', name: 'it', subresource: '' };
  return { atMs: 0, method, path: '/pods', about, isWatch: false, body: undefined, status: 200, ...given };
}

const ownedBy = (kind: string) => [{ apiVersion: 'v1', kind, name: 'web', uid: 'w', controller: true }];

function pod(more: Partial<ObjectMeta> = {}): KubernetesObject {
  const ours = { labels: labelsFor('web'), ownerReferences: ownedBy('PodSet') };
  return { metadata: { name: 'it', namespace: 'h', uid: 'u', resourceVersion: '5', ...ours, ...more } };
}

const version = (atMs: number, object: KubernetesObject): Version => ({
  ...{ atMs, object, resource: 'pods', isDeleted: false },
});

describe('a Pod that is taken out', () => {
  const relabelled = pod({ labels: { app: 'somebody-elses' } });
  const versions = [version(1_000, pod()), version(2_000, relabelled)];
  const deleted = (atMs: number, answer: KubernetesObject) => [request('DELETE', { atMs, answer })];

  it('is not deleted a second later', () => {
    expect(takenOut({ ...NOTHING, versions, journal: deleted(3_000, relabelled) })).toEqual([]);
    expect(takenOut({ ...NOTHING, versions, journal: deleted(3_100, relabelled) })).toEqual([
      'I4: DELETE pods home/it deleted a Pod that had lost its labels, taken out 1100 ms before',
    ]);
  });

  it('is not deleted at all where it never was the PodSet’s', () => {
    const foreign = pod({ ownerReferences: ownedBy('ReplicaSet') });
    expect(takenOut({ ...NOTHING, journal: deleted(0, foreign) })).toEqual([
      'I4: DELETE pods home/it deleted a Pod of ReplicaSet',
    ]);
    expect(takenOut({ ...NOTHING, versions, journal: deleted(9_000, pod()) })).toEqual([]);
  });
});

describe('what admission changes', () => {
  it('is what the policy names, and nothing else', () => {
    const { patch } = POLICIES['finalizer of build'];
    const sent = { metadata: { resourceVersion: '5', finalizers: ['x'] }, spec: {} };
    expect(merged(sent, patch)).toEqual({ metadata: { resourceVersion: '5' }, spec: {} });
    const { metadata } = pod();
    expect(merged({ metadata }, POLICIES['version of Pods'].patch)).toMatchObject({
      metadata: { labels: { app: 'web', version: 'v0.2' }, ownerReferences: ownedBy('PodSet') },
    });
  });

  it('is not patched again and again', () => {
    const tries = (count: number, answered: string) =>
      Array.from({ length: count }, (_, atMs) => {
        const body = { metadata: { resourceVersion: '5' } };
        return request('PATCH', { atMs, body, answer: pod({ resourceVersion: answered }) });
      });
    expect(inVain({ ...NOTHING, journal: [...tries(10, '5'), ...tries(20, '6')] })).toEqual([]);
    expect(inVain({ ...NOTHING, journal: tries(11, '5') })).toEqual([
      'I7: PATCH pods home/it changed nothing more than 10 times in a minute, 11 in all',
    ]);
  });

  it('lets two Pods be created in vain', () => {
    const most = mostCounts({
      events: [
        { afterMs: 0, what: { fault: 'admission', changes: 'version of Pods', of: 'web', lastsMs: 1 } },
        { afterMs: 0, what: { change: 'create set', set: 'web', replicas: 5 } },
      ],
    });
    expect(tooMany(new Map([['create Pods of web', 7]]), most)).toEqual([]);
    expect(tooMany(new Map([['create Pods of web', 8]]), most)).toHaveLength(1);
  });
});
