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

function violations(versions: readonly Version[], ...journal: readonly Journalled[]): readonly string[] {
  const place = { home: 'h', team: 't', taskQueue: 'q', secret: 's' };
  const evidence: Evidence = {
    ...{ place, journal, versions, foreign: new Set() },
    ...{ isRestored: false, isRestarted: false },
  };
  return heldBack(evidence);
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
});
