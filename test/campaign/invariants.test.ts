import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ObjectMeta } from '../../src/contract/object.ts';
import type { Journalled } from './api-proxy.ts';
import { violationsIn, type Evidence } from './invariants.ts';
import type { Version } from './observer.ts';

const PLACE = { home: 'h', team: 't', taskQueue: 'q', secret: 's' };
const FINALIZER = 'job.finalizers.test.inspur.com';
const NOTHING: Evidence = {
  place: PLACE,
  journal: [],
  versions: [],
  foreign: new Set(),
  isRestored: false,
  isRestarted: false,
};

function object(metadata: Partial<ObjectMeta>, more: object = {}): KubernetesObject {
  return { metadata: { name: 'it', uid: 'u', resourceVersion: '5', namespace: 'h', ...metadata }, ...more };
}

function version(resource: string, of: KubernetesObject, isDeleted = false): Version {
  return { atMs: 0, resource, object: of, isDeleted };
}

interface Request {
  readonly method: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly body?: unknown;
  readonly answer?: unknown;
  readonly status?: number;
  readonly atMs?: number;
}

function request({
  method,
  resource,
  subresource = '',
  status = 200,
  atMs = 0,
  ...rest
}: Request): Journalled {
  const about = { resource, namespace: 'h', name: 'it', subresource };
  return {
    atMs,
    method,
    path: `/${resource}`,
    about,
    isWatch: false,
    body: rest.body,
    answer: rest.answer,
    status,
  };
}

const labels = (purpose: string) => ({
  'durable-operator.dev/build-uid': 'b',
  'durable-operator.dev/job': purpose,
});

/** A Pod that has succeeded, as a version of it. */
function ended(uid: string, purpose: 'build' | 'cleanup', controller = 'j'): Version {
  const annotations = {
    'durable-operator.dev/binary-name': 'app',
    'durable-operator.dev/binaries': 'app',
    'durable-operator.dev/node': 'n1',
  };
  const ownerReferences = [
    { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: controller, controller: true },
  ];
  const metadata = { uid, labels: labels(purpose), annotations, ownerReferences };
  return version('pods', object(metadata, { spec: { nodeName: 'n1' }, status: { phase: 'Succeeded' } }));
}

const build = (more: Partial<ObjectMeta> = {}, rest: object = {}) =>
  object({ name: 'app', uid: 'b', finalizers: [FINALIZER], ...more }, rest);
const goneBuild = version('xxxes', build({ finalizers: [], resourceVersion: '9' }), true);

describe('a delete without a UID, and an update without a resourceVersion', () => {
  it('break I3, whatever the server has answered', () => {
    const journal = [
      request({ method: 'DELETE', resource: 'pods', body: { preconditions: { resourceVersion: '1' } } }),
      request({ method: 'PATCH', resource: 'pods', body: { metadata: { labels: {} } }, status: 409 }),
      request({ method: 'PATCH', resource: 'events', body: {} }),
    ];
    expect(violationsIn({ ...NOTHING, journal })).toEqual([
      'I3: DELETE pods home/it carries no UID precondition',
      'I3: PATCH pods home/it carries no resourceVersion',
    ]);
  });
});

describe('I4', () => {
  const preconditions = { uid: 'u', resourceVersion: '5' };

  it('forbids to write what people have put there', () => {
    const body = { metadata: { resourceVersion: '5' } };
    const journal = [request({ method: 'PATCH', resource: 'rolebindings', body, answer: object({}) })];
    expect(violationsIn({ ...NOTHING, journal, foreign: new Set(['u']) })).toEqual([
      "I4: PATCH rolebindings home/it changed what is not the operator's",
    ]);
    expect(violationsIn({ ...NOTHING, journal })).toEqual([]);
  });

  it('forbids to delete what people have put there, also where that is refused, or no object is the answer', () => {
    const answer = { kind: 'Status', status: 'Success', details: { name: 'it', uid: 'u' } };
    const deleting = { method: 'DELETE', resource: 'rolebindings', answer };
    const done = request({ ...deleting, body: { preconditions: { uid: 'other', resourceVersion: '5' } } });
    expect(violationsIn({ ...NOTHING, journal: [done], foreign: new Set(['u']) })).toEqual([
      "I4: DELETE rolebindings home/it changed what is not the operator's",
    ]);
    const refused = request({
      ...deleting,
      body: { preconditions },
      status: 403,
      answer: { kind: 'Status' },
    });
    expect(violationsIn({ ...NOTHING, journal: [refused], foreign: new Set(['u']) })).toEqual([
      "I4: DELETE rolebindings home/it is about what is not the operator's",
    ]);
    expect(violationsIn({ ...NOTHING, journal: [done, refused], foreign: new Set(['x']) })).toEqual([]);
  });
});

describe('I6', () => {
  it('wants a status to be about the generation that it is written to', () => {
    const body = { metadata: { resourceVersion: '5' } };
    const status = (observedGeneration: number) =>
      request({
        method: 'PATCH',
        resource: 'podsets',
        subresource: 'status',
        body,
        answer: object({ generation: 2 }, { status: { observedGeneration } }),
      });
    expect(violationsIn({ ...NOTHING, journal: [status(2)] })).toEqual([]);
    expect(violationsIn({ ...NOTHING, journal: [status(1)] })).toEqual([
      'I6: PATCH podsets/status home/it observes generation 1 of 2',
    ]);
  });
});

describe('I6, of a status that observes no generation since a write failed', () => {
  const written = (ready: string) =>
    request({
      method: 'PATCH',
      resource: 'podsets',
      subresource: 'status',
      body: { metadata: { resourceVersion: '5' }, status: { readyReplicas: 1 } },
      answer: object(
        { generation: 2 },
        { status: { observedGeneration: 1, conditions: [{ type: 'Ready', status: ready }] } },
      ),
    });

  it('forbids to say Ready', () => {
    expect(violationsIn({ ...NOTHING, journal: [written('False')] })).toEqual([]);
    expect(violationsIn({ ...NOTHING, journal: [written('True')] })).toEqual([
      'I6: PATCH podsets/status home/it observes generation 1 of 2',
    ]);
  });
});

describe('I7', () => {
  it('forbids to try again without growing pauses', () => {
    const tries = (count: number) =>
      Array.from({ length: count }, (_, atMs) =>
        request({ method: 'POST', resource: 'jobs', body: { metadata: { name: 'j' } }, status: 403, atMs }),
      );
    expect(violationsIn({ ...NOTHING, journal: tries(20) })).toEqual([]);
    expect(violationsIn({ ...NOTHING, journal: tries(40) })).toEqual([
      'I7: POST jobs home/itj was tried more than 24 times in 10 s',
    ]);
  });
});

describe('I8', () => {
  const created = request({
    method: 'POST',
    resource: 'jobs',
    answer: object({ name: 'j', uid: 'j', resourceVersion: '7', labels: labels('build') }),
  });

  it('wants the finalizer before the Job', () => {
    const late = version('xxxes', build({ resourceVersion: '8' }));
    const early = version('xxxes', build({ resourceVersion: '6' }));
    expect(violationsIn({ ...NOTHING, journal: [created], versions: [early] })).toEqual([]);
    expect(violationsIn({ ...NOTHING, journal: [created], versions: [late] })).toEqual([
      'I8: Job j was created before the finalizer was there',
    ]);
  });

  it('wants the binary gone with the build, from every node', () => {
    const versions = [ended('p', 'build'), goneBuild];
    expect(violationsIn({ ...NOTHING, versions })).toEqual(['I8: build app is gone, and app is still on n1']);
    const cleaned = [ended('p', 'build'), ended('c', 'cleanup'), goneBuild];
    expect(violationsIn({ ...NOTHING, versions: cleaned })).toEqual([]);
  });

  describe('of a build whose Job others have deleted before it was gone', () => {
    const going = version(
      'jobs',
      object({ uid: 'j', labels: labels('build'), deletionTimestamp: '2026-01-01T00:00:00Z' }),
    );

    it('does not ask for what nobody has recorded', () => {
      const versions = [ended('p', 'build'), going, goneBuild];
      expect(violationsIn({ ...NOTHING, versions })).toEqual([]);
    });

    it('asks for what the status has named', () => {
      const named = version('xxxes', build({}, { status: { artifacts: [{ node: 'n1', binary: 'app' }] } }));
      const versions = [ended('p', 'build'), named, going, goneBuild];
      expect(violationsIn({ ...NOTHING, versions })).toEqual([
        'I8: build app is gone, and app is still on n1',
      ]);
    });

    it('asks for it where the operator has deleted the Job', () => {
      const body = { preconditions: { uid: 'j', resourceVersion: '1' } };
      const journal = [request({ method: 'DELETE', resource: 'jobs', body })];
      const versions = [ended('p', 'build'), going, goneBuild];
      expect(violationsIn({ ...NOTHING, journal, versions })).toEqual([
        'I8: build app is gone, and app is still on n1',
      ]);
    });

    it('asks for it where the build was gone before', () => {
      const versions = [ended('p', 'build'), goneBuild, going];
      expect(violationsIn({ ...NOTHING, versions })).toEqual([
        'I8: build app is gone, and app is still on n1',
      ]);
    });
  });

  it('wants nothing of the build to run when the finalizer goes', () => {
    const body = { metadata: { resourceVersion: '8', finalizers: [] } };
    const journal = [request({ method: 'PATCH', resource: 'xxxes', body, answer: build() })];
    const job = version('jobs', object({ name: 'j', uid: 'j', labels: labels('cleanup') }));
    const going = version('jobs', object({ name: 'j', uid: 'j', labels: labels('cleanup') }), true);
    expect(violationsIn({ ...NOTHING, journal, versions: [job, goneBuild] })).toEqual([
      'I8: PATCH xxxes home/it let it go while Job j runs',
    ]);
    expect(violationsIn({ ...NOTHING, journal, versions: [job, going, goneBuild] })).toEqual([]);
  });

  it('wants the Pods of a build that runs to be awaited', () => {
    const preconditions = { uid: 'j', resourceVersion: '1' };
    const job = object({ name: 'j', uid: 'j', labels: labels('build') });
    const status = { kind: 'Status', status: 'Success', details: { name: 'j', uid: 'j' } };
    const deleting = (propagationPolicy: string, answer: object) => [
      request({ method: 'DELETE', resource: 'jobs', body: { preconditions, propagationPolicy }, answer }),
    ];
    const versions = [version('jobs', job)];
    for (const answer of [job, status]) {
      expect(violationsIn({ ...NOTHING, journal: deleting('Background', answer), versions })).toEqual([
        'I8: DELETE jobs home/it does not wait for the Pods of a build that runs',
      ]);
      expect(violationsIn({ ...NOTHING, journal: deleting('Foreground', answer), versions })).toEqual([]);
    }
  });

  it('forbids the finalizer to return', () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const versions = [[], [FINALIZER]].map((finalizers) =>
      version('xxxes', build({ finalizers, deletionTimestamp })),
    );
    expect(violationsIn({ ...NOTHING, versions })).toEqual([
      'I8: the finalizer of build app returned while it is being deleted',
    ]);
  });
});

describe('I9', () => {
  it('forbids to ask for what the roles do not allow', () => {
    const message = 'nodes is forbidden: User "x" cannot list resource "nodes" in API group ""';
    const journal = [request({ method: 'GET', resource: 'nodes', status: 403, answer: { message } })];
    expect(violationsIn({ ...NOTHING, journal })).toEqual([
      `I9: GET nodes home/it is not among the permissions: ${message}`,
    ]);
  });
});
