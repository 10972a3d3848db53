import { describe, expect, it } from '@jest/globals';
import type { BuildView } from '../../src/controllers/build/build-view.ts';
import { decideBuild } from '../../src/controllers/build/decide.ts';
import type { JobView } from '../../src/controllers/build/job-view.ts';
import type { Observation, Step } from '../../src/controllers/build/observation.ts';
import type { PodView } from '../../src/controllers/build/pod-view.ts';
import type { BuildStatus } from '../../src/controllers/build/resource.ts';
import { checkSpec, specHash } from '../../src/controllers/build/spec.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../support/builds.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const FINALIZER = 'job.finalizers.test.inspur.com';
const HASH = specHash(SAMPLE);

function aBuild(status: Partial<BuildStatus> = {}, fields: Partial<BuildView> = {}): BuildView {
  return {
    namespace: 'shop',
    name: 'sample',
    uid: 'uid-1',
    resourceVersion: '7',
    generation: 1,
    deleting: false,
    finalizers: [FINALIZER],
    skipCleanup: false,
    spec: checkSpec(SAMPLE, BUILD_DEFAULTS),
    status,
    ...fields,
  };
}

function aJob(fields: Partial<JobView> = {}): JobView {
  return {
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
    binary: 'helloworld',
    node: '',
    binaries: [],
    attempt: 1,
    createdAt: '2026-11-21T11:00:00Z',
    endedAt: '',
    failure: '',
    failureMessage: '',
    ...fields,
  };
}

function aPod(fields: Partial<PodView> = {}): PodView {
  return {
    name: 'pod-1',
    uid: 'pod-1',
    buildUid: 'uid-1',
    buildName: 'sample',
    purpose: 'build',
    hash: HASH,
    binary: 'helloworld',
    node: 'node-1',
    phase: 'unfinished',
    started: true,
    endedAt: '',
    ...fields,
  };
}

const decide = (observation: Observation): Step => decideBuild(observation, NOW_MS);
const BUILDING = { phase: 'Building', observedGeneration: 1 } as const;
const OLD_JOB = { hash: 'old', uid: 'job-0' };

describe('the finalizer', () => {
  it('comes before the first Job, behind those of others', () => {
    expect(decide({ build: aBuild({}, { finalizers: ['a/b'] }) })).toMatchObject({
      do: 'add-finalizer',
      resourceVersion: '7',
      finalizers: ['a/b', FINALIZER],
    });
  });

  it('goes alone, and leaves those of others', () => {
    const build = aBuild({}, { deleting: true, skipCleanup: true, finalizers: ['a/b', FINALIZER, 'c/d'] });
    expect(decide({ build })).toMatchObject({ do: 'remove-finalizer', finalizers: ['a/b', 'c/d'] });
  });

  it('is not added to what is being deleted', () => {
    const build = aBuild({}, { deleting: true, finalizers: ['a/b'] });
    expect(decide({ build })).toMatchObject({ do: 'converged' });
  });

  it('is not added for an invalid spec, of which no Job was ever created', () => {
    const spec = checkSpec({ ...SAMPLE, gitUrl: 'ext::sh' }, BUILD_DEFAULTS);
    expect(decide({ build: aBuild({}, { spec, finalizers: [] }) })).toMatchObject({
      do: 'write-status',
      event: { type: 'Warning', reason: 'InvalidSpec' },
    });
  });
});

describe('a success', () => {
  it('is reported from its Pod, whatever its Job says', () => {
    expect(decide({ build: aBuild(BUILDING), pods: [aPod({ phase: 'succeeded' })] })).toMatchObject({
      do: 'write-status',
      status: { phase: 'Succeeded', artifacts: [{ node: 'node-1', binary: 'helloworld' }] },
      event: { reason: 'BuildSucceeded', occasion: 'pod-1' },
    });
  });

  it('of another spec is none', () => {
    const pods = [aPod({ phase: 'succeeded', hash: 'old' })];
    expect(decide({ build: aBuild(BUILDING), pods })).toEqual({ do: 'look', at: 'jobs' });
  });

  it('is not reported while another Pod still runs, which could put the binary somewhere later', () => {
    const pods = [aPod({ phase: 'succeeded' }), aPod({ uid: 'pod-2' })];
    const jobs = [aJob({ state: 'succeeded' })];
    expect(decide({ build: aBuild(BUILDING), pods, jobs })).toMatchObject({ do: 'wait' });
  });

  it('names every node where a Pod ran, also one that failed', () => {
    const pods = [aPod({ phase: 'failed', node: 'node-2' }), aPod({ phase: 'succeeded' })];
    expect(decide({ build: aBuild(BUILDING), pods })).toMatchObject({
      status: {
        artifacts: [
          { node: 'node-1', binary: 'helloworld' },
          { node: 'node-2', binary: 'helloworld' },
        ],
      },
    });
  });
});

describe('a Job of another spec', () => {
  it('goes only after it is recorded where its Pods ran', () => {
    const build = aBuild({ ...BUILDING, observedGeneration: 0 });
    const jobs = [aJob(OLD_JOB)];
    const pods = [aPod({ hash: 'old', binary: 'old' })];
    const first = decide({ build, jobs, pods });
    expect(first).toMatchObject({
      do: 'write-status',
      status: { phase: 'Pending', artifacts: [{ node: 'node-1', binary: 'old' }], completionTime: null },
    });
    if (first.do !== 'write-status') throw new Error('it writes no status');
    const recorded = aBuild({ ...build.status, ...(first.status as Partial<BuildStatus>) });
    expect(decide({ build: recorded, jobs, pods })).toMatchObject({
      do: 'delete-job',
      job: { uid: 'job-0' },
      propagation: 'Foreground',
      event: { reason: 'JobReplaced', occasion: 'job-0' },
    });
  });

  it('that is going is awaited, and no other is created meanwhile', () => {
    const build = aBuild({});
    const jobs = [aJob({ ...OLD_JOB, deleting: true })];
    expect(decide({ build, jobs, pods: [] })).toMatchObject({
      do: 'write-status',
      status: { phase: 'Pending' },
    });
  });

  it('whose Pods run on without it is awaited as well', () => {
    const step = decide({ build: aBuild({}), jobs: [], pods: [aPod({ hash: 'old' })] });
    expect(step).toMatchObject({ do: 'write-status', status: { message: expect.stringContaining('pod-1') } });
  });

  it('is not awaited where the Pods that run on are of the same spec', () => {
    const artifacts = [{ node: 'node-1', binary: 'helloworld' }];
    const build = aBuild({ ...BUILDING, artifacts });
    expect(decide({ build, jobs: [], pods: [aPod()] })).toMatchObject({ do: 'create-build' });
  });
});

describe('while a Job runs', () => {
  const jobs = [aJob()];

  it('what keeps its Pods from starting is in the status', () => {
    const trouble = { kind: 'image', text: 'the image x cannot be pulled' } as const;
    const pods = [aPod({ started: false, trouble })];
    expect(decide({ build: aBuild(BUILDING), jobs, pods })).toMatchObject({
      status: { phase: 'Building', message: 'the image x cannot be pulled' },
    });
  });

  it('that stays in the status when its Pods go at its deadline, and goes from it when one starts', () => {
    const startTime = aJob().createdAt;
    const build = aBuild({ ...BUILDING, startTime, message: 'the image x cannot be pulled' });
    const messageOf = (step: Step) => (step.do === 'write-status' ? step.status.message : 'as it is');
    expect(messageOf(decide({ build, jobs, pods: [] }))).toBe('the image x cannot be pulled');
    expect(messageOf(decide({ build, jobs, pods: [aPod()] }))).toBe('');
  });
});

describe('a build that is deleted', () => {
  const deleting = (status: Partial<BuildStatus>) =>
    aBuild({ phase: 'Cleaning', ...status }, { deleting: true });

  it('has its running Job deleted before anything is cleaned', () => {
    const artifacts = [{ node: 'node-1', binary: 'helloworld' }];
    expect(decide({ build: deleting({ artifacts }), jobs: [aJob()], pods: [aPod()] })).toMatchObject({
      do: 'delete-job',
      propagation: 'Foreground',
    });
  });

  it('waits for Pods that run without their Job, and says which', () => {
    const artifacts = [{ node: 'node-1', binary: 'helloworld' }];
    expect(decide({ build: deleting({ artifacts }), jobs: [], pods: [aPod()] })).toMatchObject({
      do: 'write-status',
      status: { message: expect.stringContaining('pod-1') },
    });
  });

  it('takes a Job without its owner reference along', () => {
    const completionTime = '2026-11-21T11:30:00Z';
    const jobs = [aJob({ state: 'succeeded', owned: false })];
    const build = deleting({ completionTime, artifacts: [] });
    expect(decide({ build, jobs })).toMatchObject({ do: 'delete-job', job: { uid: 'job-1' } });
    const orphaning = { ...build, finalizers: [FINALIZER, 'orphan'] };
    expect(decide({ build: orphaning, jobs })).toMatchObject({ do: 'remove-finalizer' });
  });

  it('is cleaned on one node after the other, all binaries of a node at once', () => {
    const artifacts = [
      { node: 'node-1', binary: 'a' },
      { node: 'node-1', binary: 'b' },
      { node: 'node-2', binary: 'a' },
    ];
    const build = deleting({ completionTime: 'x', artifacts, jobName: SAMPLE.jobName });
    expect(decide({ build, jobs: [] })).toMatchObject({
      do: 'create-cleanup',
      wanted: { jobName: 'build-helloworld-delete', node: 'node-1', binaries: ['a', 'b'], attempt: 1 },
    });
    const done = aJob({ purpose: 'cleanup', state: 'succeeded', node: 'node-1', binaries: ['a', 'b'] });
    expect(decide({ build, jobs: [done] })).toMatchObject({
      do: 'write-status',
      status: { artifacts: [{ node: 'node-2', binary: 'a' }] },
    });
  });
});
