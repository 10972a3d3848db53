import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ObjectMeta } from '../../src/contract/object.ts';
import type { Journalled } from './api-proxy.ts';
import { heldBack } from './held-back.ts';
import type { Evidence } from './invariants.ts';
import type { Version } from './observer.ts';

const OUR = 'durable-operator.dev/';
const PAUSED = { [`${OUR}paused`]: 'true' };
const REQUIRED = { [`${OUR}approval`]: 'required' };
const APPROVED = { ...REQUIRED, [`${OUR}approved`]: '1-3f9c2a1b' };
const OWNER = { apiVersion: 'v1', kind: 'PodSet', name: 'web', uid: 's', controller: true };

const POD: KubernetesObject = {
  metadata: { name: 'web-a', namespace: 'h', uid: 'p', resourceVersion: '7', ownerReferences: [OWNER] },
  status: { phase: 'Running' },
};

/** At which second the PodSet had which metadata. */
type History = readonly (readonly [second: number, metadata: Partial<ObjectMeta>])[];

function versionsOf(resource: string, name: string, history: History): Version[] {
  return history.map(([second, metadata]) => ({
    ...{ atMs: second * 1000, resource, isDeleted: false },
    object: {
      metadata: { name, uid: resource === 'podsets' ? 's' : 'n', resourceVersion: '5', ...metadata },
    },
  }));
}

function write(second: number, method: string, subresource = ''): Journalled {
  const about = {
    resource: subresource === '' ? 'pods' : 'podsets',
    namespace: 'h',
    name: 'web',
    subresource,
  };
  const answer = subresource === '' ? POD : { metadata: { name: 'web', uid: 's' } };
  return {
    ...{ atMs: second * 1000, method, path: '/', about, isWatch: false, body: {} },
    status: 200,
    answer,
  };
}

const NOTHING: Evidence = {
  ...{ place: { home: 'h', team: 't', taskQueue: 'q', secret: 's' }, journal: [], versions: [] },
  ...{ foreign: new Set(), isRestored: false, isRestarted: false },
};

function violations(versions: readonly Version[], ...journal: readonly Journalled[]): readonly string[] {
  return heldBack({ ...NOTHING, versions, journal });
}

const set = (...history: History) => versionsOf('podsets', 'web', history);

describe('I12', () => {
  const paused = set([0, {}], [10, { annotations: PAUSED }], [40, {}]);

  it('is that nothing is written for what is paused', () => {
    expect(violations(paused, write(30, 'POST'))).toEqual([
      'I12: POST pods home/web was written although it was paused',
    ]);
  });

  it('allows what was begun before, what comes after, and the status', () => {
    expect(violations(paused, write(5, 'POST'), write(20, 'POST'), write(41, 'POST'))).toEqual([]);
    expect(violations(paused, write(30, 'PATCH', 'status'))).toEqual([]);
  });

  it('allows the end of what is being deleted', () => {
    const deletionTimestamp = '2026-11-22T10:00:00Z';
    const deleted = set([10, { annotations: PAUSED }], [25, { annotations: PAUSED, deletionTimestamp }]);
    expect(violations(deleted, write(30, 'DELETE'))).toEqual([]);
  });

  it('is about all that is in a Namespace that is paused', () => {
    const namespace = versionsOf('namespaces', 'h', [[10, { annotations: PAUSED }]]);
    expect(violations([...set([0, {}]), ...namespace], write(30, 'POST'))).toHaveLength(1);
  });
});

describe('I13', () => {
  it('is that nothing is deleted that nobody has approved', () => {
    expect(violations(set([10, { annotations: REQUIRED }]), write(20, 'DELETE'))).toEqual([
      'I13: DELETE pods home/web was deleted although nobody had approved that',
    ]);
  });

  it('allows what was approved, what was begun before that was required, and what deletes nothing', () => {
    const approved = set([10, { annotations: REQUIRED }], [15, { annotations: APPROVED }]);
    expect(violations(approved, write(20, 'DELETE'))).toEqual([]);
    expect(violations(set([10, { annotations: REQUIRED }]), write(11, 'DELETE'), write(20, 'POST'))).toEqual(
      [],
    );
  });

  it('counts an approval once: not what is deleted after the status has repeated it', () => {
    const required = (second: number, status: object): Version => ({
      ...{ atMs: second * 1000, resource: 'podsets', isDeleted: false },
      object: { metadata: { name: 'web', uid: 's', resourceVersion: '5', annotations: APPROVED }, status },
    });
    const versions = [required(10, {}), required(15, { lastHandledApproval: '1-3f9c2a1b' })];
    expect(violations(versions, write(14, 'DELETE'))).toEqual([]);
    expect(violations(versions, write(30, 'DELETE'))).toHaveLength(1);
  });

  it('does not count what was approved and rejected', () => {
    const both = { ...APPROVED, [`${OUR}rejected`]: '1-3f9c2a1b' };
    expect(violations(set([10, { annotations: both }]), write(20, 'DELETE'))).toHaveLength(1);
  });
});

describe('I13, of an operator that asks for approval over two', () => {
  const LABELS = { app: 'web', version: 'v0.1' };

  /** Wants so many from that second on. */
  const wants = (second: number, replicas: number, annotations = {}): Version => ({
    ...{ atMs: second * 1000, resource: 'podsets', isDeleted: false },
    object: {
      metadata: { name: 'web', namespace: 'h', uid: 's', resourceVersion: '5', annotations },
      spec: { replicas },
    },
  });

  /** From second 0, until it goes. */
  function podsUntil(...ends: readonly number[]): Version[] {
    return ends.flatMap((end, index) => {
      const name = `web-${index}`;
      const metadata = { ...POD.metadata, name, uid: name, labels: LABELS };
      const object = { ...POD, metadata };
      const pod = { resource: 'pods', object };
      return [
        { ...pod, atMs: 0, isDeleted: false },
        { ...pod, atMs: end * 1000, isDeleted: true },
      ];
    });
  }

  const remove = (second: number, pod: number): Journalled => ({
    ...write(second, 'DELETE'),
    answer: { ...POD, metadata: { ...POD.metadata, name: `web-${pod}`, uid: `web-${pod}`, labels: LABELS } },
  });

  const over = (versions: readonly Version[], ...journal: readonly Journalled[]) =>
    heldBack({ ...NOTHING, requireApprovalOver: 2, journal, versions: sorted(versions) });
  const sorted = (versions: readonly Version[]) => versions.toSorted((a, b) => a.atMs - b.atMs);

  it('is that no PodSet loses more at once that nobody has approved', () => {
    const versions = [wants(0, 4), wants(10, 1), ...podsUntil(10.2, 10.3, 10.4, 99)];
    expect(over(versions, remove(10.1, 0), remove(10.2, 1), remove(10.3, 2))).toEqual(
      [0, 1, 2].map(
        () => 'I13: DELETE pods home/web was one of more than 2 at once, and nobody had approved that',
      ),
    );
  });

  it('allows two, and two more later', () => {
    const versions = [wants(0, 4), wants(10, 2), wants(20, 0), ...podsUntil(10.2, 10.2, 20.2, 20.2)];
    const deletes = [remove(10.1, 0), remove(10.1, 1), remove(20.1, 2), remove(20.1, 3)];
    expect(over(versions, ...deletes)).toEqual([]);
  });

  it('allows two, where two more are too many a moment later', () => {
    const versions = [wants(0, 4), wants(10, 2), wants(10.5, 0), ...podsUntil(11, 11, 99, 99)];
    expect(over(versions, remove(10.6, 0), remove(10.6, 1))).toEqual([]);
  });

  it('allows two that the operator has seen to be too many a moment before the observer', () => {
    const versions = [wants(0, 4), wants(10, 0), wants(10.5, 2), ...podsUntil(11, 11, 99, 99)];
    expect(over(versions, remove(10.4, 0), remove(10.4, 1))).toEqual([]);
  });

  it('allows what was approved', () => {
    const approved = { [`${OUR}approved`]: '3-3f9c2a1b' };
    const versions = [wants(0, 4), wants(10, 1), wants(15, 1, approved), ...podsUntil(15.2, 15.2, 15.2, 99)];
    expect(over(versions, remove(15.1, 0), remove(15.1, 1), remove(15.1, 2))).toEqual([]);
  });

  it('is not of an operator without the option', () => {
    const versions = sorted([wants(0, 4), wants(10, 0), ...podsUntil(10.2, 10.2, 10.2, 10.2)]);
    expect(violations(versions, remove(10.1, 0), remove(10.1, 1))).toEqual([]);
  });
});
