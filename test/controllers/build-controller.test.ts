import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ObjectMeta } from '../../src/contract/object.ts';
import { build, type BuildChild } from '../../src/controllers/build/controller.ts';
import { buildJob, cleanupJob } from '../../src/controllers/build/jobs.ts';
import type { BuildStatus } from '../../src/controllers/build/resource.ts';
import { specHash } from '../../src/controllers/build/spec.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../support/builds.ts';

const controller = build(BUILD_DEFAULTS);
const OWNER = { namespace: 'shop', name: 'sample', uid: 'uid-1' };
const FINALIZER = 'job.finalizers.test.inspur.com';

interface Given {
  readonly status?: Partial<BuildStatus>;
  readonly spec?: object;
  readonly metadata?: Partial<ObjectMeta>;
}

function projectionOf({ status, spec = SAMPLE, metadata = {} }: Given) {
  const object: KubernetesObject = {
    metadata: { ...OWNER, resourceVersion: '7', generation: 1, finalizers: [FINALIZER], ...metadata },
    spec,
    ...(status && { status }),
  };
  const projection = controller.primary.project(object);
  if (projection === undefined) throw new Error('every build is of interest');
  return projection;
}

const [jobs, pods] = controller.children;

function stored(
  manifest: { metadata: object },
  fields: object = {},
  metadata: object = {},
): KubernetesObject {
  const meta = { name: 'job', uid: 'job-uid', resourceVersion: '8', ...manifest.metadata, ...metadata };
  return { ...manifest, ...fields, metadata: meta };
}

const ended = (type: string) => ({ status: { conditions: [{ type, status: 'True' }] } });
const buildManifest = (spec = SAMPLE) => buildJob(OWNER, { spec, hash: specHash(spec) }, BUILD_DEFAULTS);
const cleanupManifest = () =>
  cleanupJob(OWNER, { jobName: 'x-delete', node: 'n', binaries: ['helloworld'], attempt: 1 }, BUILD_DEFAULTS);

function jobOf(manifest: { metadata: object }, fields: object = {}, metadata: object = {}): BuildChild {
  const child = jobs?.project(stored(manifest, fields, metadata));
  if (child === undefined) throw new Error('it is not ours');
  return child;
}

function podWith(status: object, purpose: 'build' | 'cleanup' = 'build'): BuildChild | undefined {
  const { template } = (purpose === 'build' ? buildManifest() : cleanupManifest()).spec;
  const metadata = { ...template.metadata, name: 'pod', namespace: 'shop', uid: 'p', resourceVersion: '9' };
  return pods?.project({ metadata, spec: {}, status });
}

const UNPULLABLE = {
  phase: 'Pending',
  containerStatuses: [{ image: 'golang:1.13', state: { waiting: { reason: 'ErrImagePull' } } }],
};

function trouble(): BuildChild {
  const pod = podWith(UNPULLABLE);
  if (pod === undefined) throw new Error('it is in no trouble');
  return pod;
}

const verdict = (given: Given, ...children: BuildChild[]) =>
  controller.needsWork(projectionOf(given), children);
const SUCCEEDED: Partial<BuildStatus> = { phase: 'Succeeded', observedGeneration: 1, completionTime: 'x' };
const BUILDING: Partial<BuildStatus> = { phase: 'Building', observedGeneration: 1, message: '' };
const DELETING = { deletionTimestamp: '2026-11-21T12:00:00Z' };
const IDLE = { needsWork: false };

describe('a build needs a run', () => {
  it('when it is new, which may add the finalizer unread', () => {
    expect(verdict({ metadata: { finalizers: [] } })).toEqual({
      needsWork: true,
      reason: 'it is to be built',
      about: 'generation 1',
      seen: { step: 'add-finalizer', resourceVersion: '7', generation: 1 },
    });
  });

  it('that reads first where there is a finalizer of somebody else, or a status', () => {
    for (const given of [
      { metadata: { finalizers: ['a/b'] } },
      { metadata: { finalizers: [] }, status: BUILDING },
    ]) {
      expect(verdict(given)).toMatchObject({ seen: { step: 'look' } });
    }
  });

  it('not when this generation has succeeded, whatever became of its Job', () => {
    expect(verdict({ status: SUCCEEDED })).toEqual(IDLE);
    expect(verdict({ status: SUCCEEDED }, jobOf(buildManifest(), ended('Complete')))).toEqual(IDLE);
  });

  it('when its spec is another, when its finalizer was taken away, and when an old binary is left', () => {
    const artifacts = [{ node: 'n', binary: 'old' }];
    for (const given of [
      { status: SUCCEEDED, metadata: { generation: 2 } },
      { status: SUCCEEDED, metadata: { finalizers: [] } },
      { status: { ...SUCCEEDED, artifacts } },
    ]) {
      expect(verdict(given)).toMatchObject({ needsWork: true });
    }
  });

  it('that awaits its running Job by itself', () => {
    expect(verdict({ status: BUILDING }, jobOf(buildManifest()))).toMatchObject({ underWay: true });
    expect(verdict({}, jobOf(buildManifest()))).toMatchObject({ underWay: true });
  });

  it.each(['Complete', 'Failed'])('that is told when its Job is %s', (type) => {
    const running = verdict({ status: BUILDING }, jobOf(buildManifest()));
    const over = verdict({ status: BUILDING }, jobOf(buildManifest(), ended(type)));
    expect(over).not.toHaveProperty('underWay');
    expect(over).not.toMatchObject({ about: 'about' in running && running.about });
  });

  it('that is told of a Job of another spec, and awaits by itself that it goes', () => {
    const old = buildManifest({ ...SAMPLE, buildCommand: 'old' });
    expect(verdict({ status: BUILDING, metadata: { generation: 2 } }, jobOf(old))).not.toHaveProperty(
      'underWay',
    );
    expect(
      verdict({ status: BUILDING, metadata: { generation: 2 } }, jobOf(old, {}, DELETING)),
    ).toMatchObject({
      underWay: true,
    });
  });

  it('that is told when somebody else deletes its Job, while its Pods are still there', () => {
    expect(verdict({ status: BUILDING }, jobOf(buildManifest(), {}, DELETING))).not.toHaveProperty(
      'underWay',
    );
  });

  it('that is told of trouble once, and again when it is over', () => {
    const message = 'the image golang:1.13 cannot be pulled';
    const job = jobOf(buildManifest());
    expect(verdict({}, job, trouble())).not.toHaveProperty('underWay');
    expect(verdict({ status: BUILDING }, job, trouble())).not.toHaveProperty('underWay');
    expect(verdict({ status: { ...BUILDING, message } }, job, trouble())).toMatchObject({ underWay: true });
    expect(verdict({ status: { ...BUILDING, message } }, job)).not.toHaveProperty('underWay');
  });

  it('that stays open, untold, when it has failed and said so', () => {
    const status = { ...BUILDING, phase: 'Failed' } as const;
    expect(verdict({ status }, jobOf(buildManifest(), ended('Failed')))).toMatchObject({ underWay: true });
    expect(verdict({ status })).not.toHaveProperty('underWay');
  });

  it('when it is being deleted, which may report so unread', () => {
    const metadata = { ...DELETING, generation: 2 };
    expect(verdict({ status: SUCCEEDED, metadata })).toMatchObject({
      needsWork: true,
      about: 'generation 2, deleting',
      seen: { step: 'start-cleaning', resourceVersion: '7', generation: 2 },
    });
    expect(verdict({ status: BUILDING, metadata })).toMatchObject({ seen: { step: 'look' } });
  });

  it('not when it is being deleted without our finalizer', () => {
    expect(verdict({ status: SUCCEEDED, metadata: { ...DELETING, finalizers: ['a/b'] } })).toEqual(IDLE);
  });

  it('that awaits its cleanup by itself, and is told when it ends, or is to be skipped', () => {
    const status = { ...SUCCEEDED, phase: 'Cleaning', message: '' } as const;
    const annotations = { 'durable-operator.dev/skip-cleanup': 'true' };
    const job = jobOf(cleanupManifest());
    expect(verdict({ status, metadata: DELETING }, job)).toMatchObject({ underWay: true });
    expect(
      verdict({ status, metadata: DELETING }, jobOf(cleanupManifest(), ended('Complete'))),
    ).not.toHaveProperty('underWay');
    expect(verdict({ status, metadata: { ...DELETING, annotations } }, job)).not.toHaveProperty('underWay');
  });

  it('that stays open, untold, when its spec is invalid and it has said so', () => {
    const spec = { ...SAMPLE, gitUrl: 'ext::sh' };
    expect(verdict({ spec })).not.toHaveProperty('underWay');
    const problem = verdictMessage(spec);
    const stalled = { type: 'Stalled', status: 'True', reason: 'InvalidSpec', message: problem } as const;
    const conditions = [{ ...stalled, observedGeneration: 1, lastTransitionTime: 'x' }];
    expect(verdict({ spec, status: { ...BUILDING, phase: 'Failed', conditions } })).toMatchObject({
      underWay: true,
    });
  });
});

function verdictMessage(spec: { gitUrl: string }): string {
  expect(spec.gitUrl).toBe('ext::sh');
  return (
    'spec.gitUrl must be a URL, or git@host:path: begin with a letter or digit, have no "::", and of other ' +
    'characters only ._~/@+,=%&?#![]:-; write others as %XX'
  );
}

describe('what a run is told', () => {
  it('holds nothing of the spec, whose URL may have a password', () => {
    const spec = { ...SAMPLE, gitUrl: 'https://user:s3cret@example.com/a.git' };
    expect(JSON.stringify(verdict({ spec, metadata: { finalizers: [] } }))).not.toContain('s3cret');
  });

  it('does not change by what the run writes itself', () => {
    const first = verdict({ metadata: { finalizers: [] } });
    const later = verdict({ status: BUILDING });
    expect('about' in later && later.about).toBe('about' in first && first.about);
  });
});

describe('of Pods', () => {
  it.each([{ phase: 'Pending' }, { phase: 'Running' }, { phase: 'Succeeded' }, { phase: 'Failed' }])(
    'nothing is kept while they are %j without trouble',
    (status) => {
      expect(podWith(status)).toBeUndefined();
    },
  );

  it('that cannot start, it is kept why, under their build', () => {
    expect(trouble()).toMatchObject({ belongsTo: 'shop/sample', kind: 'pod', buildUid: 'uid-1' });
  });
});
