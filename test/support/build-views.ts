import type { ObjectMeta } from '../../src/contract/object.ts';
import type { Observation } from '../../src/controllers/git-build/observation.ts';
import type { BuildStatus } from '../../src/controllers/git-build/resource.ts';
import { checkSpec, specHash } from '../../src/controllers/git-build/spec.ts';
import type { BuildView, JobView, PodView } from '../../src/controllers/git-build/views.ts';
import { BUILD_DEFAULTS, SAMPLE } from './build-samples.ts';

export const FINALIZER = 'job.finalizers.test.inspur.com';
const HASH = specHash(SAMPLE);

/** Of the sample's Job and its Pods, as the API server has them. */
export const LABELS = {
  'app.kubernetes.io/managed-by': 'durable-operator',
  'durable-operator.dev/build-uid': 'uid-1',
  'durable-operator.dev/job': 'build',
};

/** Of an object of the sample, of which no more matters. */
export const META: ObjectMeta = {
  name: 'a',
  namespace: 'shop',
  uid: 'u',
  resourceVersion: '7',
  labels: LABELS,
};

/** Of the sample, with our finalizer. */
export function aBuildView(status: Partial<BuildStatus> = {}, fields: Partial<BuildView> = {}): BuildView {
  return {
    namespace: 'shop',
    name: 'sample',
    uid: 'uid-1',
    resourceVersion: '7',
    generation: 1,
    deleting: false,
    deletedAt: '',
    finalizers: [FINALIZER],
    skipCleanup: false,
    spec: checkSpec(SAMPLE, BUILD_DEFAULTS),
    status,
    ...fields,
  };
}

/** The running Job of the sample. */
export function aJobView(fields: Partial<JobView> = {}): JobView {
  return {
    kind: 'job',
    name: SAMPLE.jobName,
    uid: 'job-1',
    resourceVersion: '8',
    buildUid: 'uid-1',
    buildName: 'sample',
    owned: true,
    purpose: 'build',
    state: 'active',
    deleting: false,
    hash: HASH,
    node: '',
    binaries: [],
    createdAt: '2026-11-21T11:00:00Z',
    endedAt: '',
    failure: '',
    failureMessage: '',
    ...fields,
  };
}

/** The Job that removes the sample from node-1. */
export function aCleanupView(fields: Partial<JobView> = {}): JobView {
  const cleanup = { purpose: 'cleanup', hash: '', node: 'node-1', binaries: ['helloworld'] } as const;
  return aJobView({
    name: `${SAMPLE.jobName}-delete`,
    uid: 'cleanup-1',
    owned: false,
    ...cleanup,
    ...fields,
  });
}

/** The running Pod of the sample's Job. */
export function aPodView(fields: Partial<PodView> = {}): PodView {
  return {
    kind: 'pod',
    name: 'pod-1',
    uid: 'pod-1',
    buildUid: 'uid-1',
    purpose: 'build',
    jobUid: fields.purpose === 'cleanup' ? 'cleanup-1' : 'job-1',
    hash: HASH,
    binary: 'helloworld',
    node: 'node-1',
    phase: 'unfinished',
    started: true,
    createdAt: '2026-11-21T11:00:01Z',
    endedAt: '',
    ...fields,
  };
}

/**
 * What a step has read: no other Job has the names of the sample's Jobs, no Pod of them is refused, and nobody else has its
 * file.
 */
export function anObservation(fields: Partial<Observation> = {}): Observation {
  const names = { [SAMPLE.jobName]: 'free', [`${SAMPLE.jobName}-delete`]: 'free' } as const;
  const refusedPods = { 'job-1': 'none', 'cleanup-1': 'none' } as const;
  return { build: aBuildView(), jobs: [], pods: [], names, refusedPods, sharers: [], ...fields };
}
