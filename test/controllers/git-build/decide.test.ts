import { describe, expect, it } from '@jest/globals';
import { decideBuild } from '../../../src/controllers/git-build/decide.ts';
import type { BuildDecision, Observation } from '../../../src/controllers/git-build/observation.ts';
import type { BuildStatus, StatusPatch } from '../../../src/controllers/git-build/resource.ts';
import { checkSpec } from '../../../src/controllers/git-build/spec.ts';
import type { BuildView } from '../../../src/controllers/git-build/views.ts';
import {
  aBuildView,
  aCleanupView,
  aJobView,
  anObservation,
  aPodView,
  FINALIZER,
} from '../../support/build-views.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../../support/build-samples.ts';

const NOW = '2026-11-21T12:00:00Z';
const NOW_MS = Date.parse(NOW);
const decide = (fields: Partial<Observation>): BuildDecision => decideBuild(anObservation(fields), NOW_MS);

const START = '2026-11-21T11:00:00Z';
const BUILDING = { phase: 'Building', observedGeneration: 1, startTime: START } as const;
const ON_NODE_1 = [{ node: 'node-1', binary: 'helloworld' }];
const INVALID = checkSpec({ ...SAMPLE, gitUrl: 'ext::sh' }, BUILD_DEFAULTS);

/** The status after an update. */
function updated(status: Partial<BuildStatus>, decision: BuildDecision): Partial<BuildStatus> {
  if (decision.do !== 'updateStatus') throw new Error(`it does ${decision.do}`);
  const merged = Object.entries({ ...status, ...decision.status } satisfies StatusPatch);
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

/** What is decided once the status says so. */
function settled(build: BuildView): BuildDecision {
  return decide({ build: { ...build, status: updated(build.status, decide({ build })) } });
}

describe('the finalizer', () => {
  it('comes before the first Job', () => {
    expect(decide({ build: aBuildView({}, { finalizers: [] }) })).toEqual({
      do: 'addFinalizer',
      because: 'the binary must be removed with the resource',
      resourceVersion: '7',
    });
  });

  it('is not added to what is being deleted', () => {
    const build = aBuildView({}, { deleting: true, finalizers: [] });
    expect(decide({ build })).toMatchObject({ do: 'converged' });
  });

  it('is not added for an invalid spec, of which no Job was ever created', () => {
    expect(decide({ build: aBuildView({}, { spec: INVALID, finalizers: [] }) })).toMatchObject({
      do: 'updateStatus',
      event: { type: 'Warning', reason: 'InvalidSpec' },
    });
  });
});

describe('a Job of the spec', () => {
  it('that has succeeded while a Pod of an earlier one still runs: where both ran is recorded before the wait', () => {
    const pods = [
      aPodView({ uid: 'p1', jobUid: 'earlier', node: 'node-1', phase: 'unfinished', started: true }),
      aPodView({ uid: 'p2', node: 'node-2', phase: 'succeeded' }),
    ];
    const known = { ...BUILDING, artifacts: ON_NODE_1 };
    const record = decide({ build: aBuildView(known), jobs: [], pods });
    const artifacts = [...ON_NODE_1, { node: 'node-2', binary: 'helloworld' }];
    expect(record).toMatchObject({ do: 'updateStatus', status: { phase: 'Building', artifacts } });
    expect(decide({ build: aBuildView(updated(known, record)), jobs: [], pods })).toMatchObject({
      do: 'wait',
      for: 'the Pods of an earlier Job to end',
    });
  });

  it('that has gone before it succeeded is created again, under a status without a start', () => {
    const first = decide({ build: aBuildView(BUILDING) });
    expect(first).toMatchObject({
      do: 'updateStatus',
      status: { phase: 'Pending', startTime: null, completionTime: null },
    });
    expect(decide({ build: aBuildView(updated(BUILDING, first)) })).toMatchObject({ do: 'createJob' });
  });

  it('is created only once it is known that no other Job has its name', () => {
    const { jobName } = SAMPLE;
    expect(decide({ names: undefined })).toMatchObject({ do: 'observe', what: 'name', jobName });
  });
});

describe('a success', () => {
  const jobs = [aJobView()];
  const pod = aPodView({ phase: 'succeeded', endedAt: NOW });

  it('is reported from its Pod, also while its Job says nothing yet', () => {
    expect(decide({ build: aBuildView(BUILDING), jobs, pods: [pod] })).toMatchObject({
      do: 'updateStatus',
      status: { phase: 'Succeeded', startTime: START, completionTime: NOW, artifacts: ON_NODE_1 },
      event: { reason: 'BuildSucceeded', occasion: 'job-1' },
    });
  });

  it('is reported from its Pod where its Job is gone', () => {
    expect(decide({ build: aBuildView(BUILDING), pods: [pod] })).toMatchObject({
      status: { phase: 'Succeeded' },
    });
  });

  it.each([
    ['another spec', { hash: 'old' }],
    ['another Job', { jobUid: 'job-0' }],
  ])('of %s is none', (_, fields) => {
    const pods = [aPodView({ ...pod, ...fields })];
    expect(decide({ build: aBuildView({ ...BUILDING, message: '' }), jobs, pods })).not.toMatchObject({
      status: { phase: 'Succeeded' },
    });
  });

  it('of a Job before this one is none, where no Job is left', () => {
    const build = aBuildView({ ...BUILDING, startTime: NOW });
    expect(decide({ build, pods: [pod] })).toMatchObject({ status: { phase: 'Pending' } });
  });

  it('that only the Job shows is reported without where the binary is', () => {
    const over = [aJobView({ state: 'succeeded', endedAt: NOW })];
    expect(decide({ build: aBuildView(BUILDING), jobs: over })).toMatchObject({
      status: { phase: 'Succeeded', artifacts: [] },
    });
  });

  it('is not reported while another Pod still runs, which could put the binary somewhere later', () => {
    const pods = [pod, aPodView({ uid: 'pod-2', jobUid: 'job-0' })];
    const over = [aJobView({ state: 'succeeded' })];
    const build = aBuildView({ ...BUILDING, artifacts: ON_NODE_1 });
    expect(decide({ build, pods, jobs: over })).toMatchObject({ do: 'wait' });
  });

  it('names every node where a Pod ran, also one that failed', () => {
    const pods = [aPodView({ phase: 'failed', node: 'node-2' }), pod];
    expect(decide({ build: aBuildView(BUILDING), jobs, pods })).toMatchObject({
      status: { artifacts: [...ON_NODE_1, { node: 'node-2', binary: 'helloworld' }] },
    });
  });

  it('is final, whatever becomes of its Job', () => {
    const build = aBuildView({ phase: 'Succeeded', observedGeneration: 1, artifacts: ON_NODE_1 });
    expect(decide({ build })).toMatchObject({ do: 'converged' });
    expect(decide({ build, jobs: [aJobView({ deleting: true })] })).toMatchObject({ do: 'converged' });
  });

  it('does not hide that the Job of another spec has appeared since', () => {
    const build = aBuildView({ phase: 'Succeeded', observedGeneration: 1, artifacts: ON_NODE_1 });
    const late = aJobView({ hash: 'old', uid: 'job-0', name: 'old' });
    expect(decide({ build, jobs: [late] })).toMatchObject({
      do: 'updateStatus',
      status: { phase: 'Pending', message: 'Job old is being deleted' },
    });
  });
});

describe('a failure', () => {
  const jobs = [aJobView({ state: 'failed', failure: 'BackoffLimitExceeded', failureMessage: 'limit' })];
  const termination = { exitCode: 2, reason: 'Error', lastLines: 'of the build' };
  const pods = [aPodView({ phase: 'failed', termination })];

  it('is reported with what the Pod wrote last, which does not enter history', () => {
    const first = decide({ build: aBuildView(BUILDING), jobs, pods });
    const message = 'Job build-helloworld failed: exit code 2: of the build';
    expect(first).toMatchObject({
      status: { phase: 'Failed', message, artifacts: ON_NODE_1 },
      event: { reason: 'BuildFailed', note: message, occasion: 'job-1' },
    });
    expect(decide({ build: aBuildView(updated(BUILDING, first)), jobs, pods })).toEqual({
      do: 'stalled',
      because: 'Job build-helloworld failed: exit code 2; change the spec, or delete Job build-helloworld',
    });
  });

  it('without Pods is reported in the words of the Job', () => {
    expect(decide({ build: aBuildView(BUILDING), jobs })).toMatchObject({
      status: { message: 'Job build-helloworld failed: limit' },
    });
  });
});

describe('a Job of another spec', () => {
  const old = aJobView({ hash: 'old', uid: 'job-0' });
  const pod = aPodView({ hash: 'old', binary: 'old', jobUid: 'job-0' });

  it('goes only after it is recorded where its Pods ran', () => {
    const build = aBuildView({ ...BUILDING, observedGeneration: 0 });
    const first = decide({ build, jobs: [old], pods: [pod] });
    expect(first).toMatchObject({
      do: 'updateStatus',
      status: {
        phase: 'Pending',
        artifacts: [{ node: 'node-1', binary: 'old' }],
        startTime: null,
        completionTime: null,
      },
    });
    const recorded = aBuildView(updated(build.status, first));
    expect(decide({ build: recorded, jobs: [old], pods: [pod] })).toMatchObject({
      do: 'deleteJob',
      job: { uid: 'job-0' },
      propagation: 'Foreground',
      event: { reason: 'JobReplaced', occasion: 'job-0' },
    });
  });

  it('that is going may still write wherever a Pod of it is scheduled: that is recorded, too', () => {
    const jobs = [{ ...old, deleting: true }];
    const scheduled = { ...pod, started: false };
    const first = decide({ build: aBuildView(), jobs, pods: [{ ...scheduled, node: '' }] });
    const build = aBuildView(updated({}, first));
    expect(decide({ build, jobs, pods: [{ ...scheduled, node: '' }] })).toMatchObject({
      do: 'wait',
      atMostMs: 10_000,
    });
    expect(decide({ build, jobs, pods: [scheduled] })).toMatchObject({
      do: 'updateStatus',
      status: { artifacts: [{ node: 'node-1', binary: 'old' }] },
    });
  });

  it('has left nothing where the kubelet says that its Pod cannot start', () => {
    const trouble = { kind: 'image', text: 'the image x cannot be pulled' } as const;
    const pods = [{ ...pod, started: false, trouble }];
    expect(decide({ build: aBuildView(), jobs: [old], pods })).toMatchObject({ status: { artifacts: [] } });
  });

  it('is awaited until it is gone, and no other is created meanwhile', () => {
    const jobs = [{ ...old, deleting: true }];
    const first = decide({ build: aBuildView(), jobs });
    expect(first).toMatchObject({ do: 'updateStatus', status: { phase: 'Pending' } });
    expect(decide({ build: aBuildView(updated({}, first)), jobs })).toMatchObject({ do: 'wait' });
  });

  it('whose Pods run on without it is awaited as well', () => {
    expect(decide({ pods: [pod] })).toMatchObject({
      do: 'updateStatus',
      status: { message: expect.stringContaining('pod-1') },
    });
  });

  it('is not awaited where the Pods that run on are of the same spec', () => {
    const build = aBuildView({ phase: 'Pending', observedGeneration: 1, artifacts: ON_NODE_1 });
    expect(decide({ build, pods: [aPodView()] })).toMatchObject({ do: 'createJob' });
  });

  it('goes where the spec is no longer valid, before that is reported', () => {
    const build = aBuildView(BUILDING, { spec: INVALID, generation: 2 });
    expect(decide({ build, jobs: [aJobView()] })).toMatchObject({ status: { phase: 'Pending' } });
    const refused = updated({}, decide({ build }));
    expect(refused).toMatchObject({ phase: 'Failed', message: expect.stringContaining('spec.gitUrl') });
    expect(decide({ build: { ...build, status: refused } })).toMatchObject({ do: 'stalled' });
    expect(decide({ build: { ...build, status: refused }, jobs: [aJobView()] })).toMatchObject({
      do: 'updateStatus',
    });
  });

  it('that is valid again by the options is reported by its Job, as before', () => {
    const jobs = [aJobView({ state: 'failed', failure: 'BackoffLimitExceeded', failureMessage: 'x' })];
    const refused = updated({}, decide({ build: aBuildView({}, { spec: INVALID }), jobs }));
    expect(refused).toMatchObject({ phase: 'Failed', observedGeneration: 1 });
    const again = decide({ build: aBuildView(refused), jobs });
    const conditions = [{ reason: 'BuildFailed' }, { reason: 'BuildFailed' }, {}];
    expect(again).toMatchObject({ do: 'updateStatus', status: { phase: 'Failed', conditions } });
    expect(decide({ build: aBuildView(updated(refused, again)), jobs }).do).toBe('stalled');
  });
});

describe('while a Job runs', () => {
  const jobs = [aJobView()];

  it('what keeps its Pods from starting is in the status', () => {
    const trouble = { kind: 'image', text: 'the image x cannot be pulled' } as const;
    expect(
      decide({ build: aBuildView(BUILDING), jobs, pods: [aPodView({ started: false, trouble })] }),
    ).toMatchObject({
      status: { phase: 'Building', message: 'the image x cannot be pulled' },
    });
  });

  it('that stays in the status when its Pods go at its deadline, and goes from it when one starts', () => {
    const build = aBuildView({ ...BUILDING, message: 'the image x cannot be pulled' });
    const messageWith = (pods: Observation['pods']) =>
      updated(build.status, decide({ build, jobs, pods })).message;
    expect(messageWith([])).toBe('the image x cannot be pulled');
    expect(messageWith([aPodView()])).toBe('');
  });

  it('its end is awaited, by name', () => {
    const status = updated({}, decide({ jobs }));
    expect(decide({ build: aBuildView(status), jobs })).toEqual({
      do: 'wait',
      for: 'Job shop/build-helloworld to end',
      atMostMs: 300_000,
    });
  });
});

describe('a build that is deleted', () => {
  const LONG_AGO = '2026-11-21T11:00:00Z';
  const deleting = (status: Partial<BuildStatus> = {}, fields: object = {}) =>
    aBuildView({ phase: 'Cleaning', ...status }, { deleting: true, deletedAt: LONG_AGO, ...fields });
  const OVER = { completionTime: LONG_AGO, jobName: SAMPLE.jobName, artifacts: ON_NODE_1 };

  it('reports so in one write with where its Pods are, and has its running Job deleted', () => {
    const jobs = [aJobView()];
    const pods = [aPodView()];
    const first = decide({ build: deleting(BUILDING), jobs, pods });
    expect(first).toMatchObject({
      do: 'updateStatus',
      status: { phase: 'Cleaning', artifacts: ON_NODE_1, startTime: START },
    });
    expect(decide({ build: deleting(updated(BUILDING, first)), jobs, pods })).toMatchObject({
      do: 'deleteJob',
      propagation: 'Foreground',
    });
  });

  it('waits for Pods that run without their Job, and says which', () => {
    expect(decide({ build: deleting(OVER), pods: [aPodView()] })).toMatchObject({
      do: 'updateStatus',
      status: { message: expect.stringContaining('pod-1') },
    });
  });

  it('is let go once its cleanup has succeeded', () => {
    const done = aCleanupView({ state: 'succeeded' });
    expect(decide({ build: deleting(OVER), jobs: [done] })).toMatchObject({
      do: 'removeFinalizer',
      event: { reason: 'Cleaned', note: 'Removed helloworld on node-1' },
    });
  });

  it.each([
    ['just now', NOW, 15_000],
    ['4 s ago', '2026-11-21T11:59:56Z', 11_000],
    ['by a clock that is ahead', '2026-11-21T13:00:00Z', 15_000],
  ])('%s is not let go as long as the create of a Job may be under way', (_, deletedAt, atMostMs) => {
    expect(settled(deleting({}, { deletedAt }))).toMatchObject({ do: 'wait', atMostMs });
  });

  it('is let go at once where no create can be under way', () => {
    const removal = { do: 'removeFinalizer' };
    expect(decide({ build: deleting({}, { deletedAt: LONG_AGO }) })).toMatchObject(removal);
    const deletedAt = NOW;
    expect(decide({ build: deleting({ startTime: START }, { deletedAt }) })).toMatchObject(removal);
    expect(settled(deleting({ startTime: NOW }, { deletedAt }))).toMatchObject({ do: 'wait' });
    const byHand = deleting({ startTime: '9999-12-31T23:59:59Z' }, { deletedAt: LONG_AGO });
    expect(decide({ build: byHand })).toMatchObject(removal);
    const over = deleting({ ...OVER, artifacts: [] }, { deletedAt });
    expect(decide({ build: over })).toMatchObject(removal);
  });

  it('has where its Pods ran on record before it waits for a create: they may be gone after that', () => {
    const pods = [aPodView({ phase: 'succeeded' })];
    const build = deleting({}, { deletedAt: NOW });
    const first = decide({ build, pods });
    expect(first).toMatchObject({ do: 'updateStatus', status: { artifacts: ON_NODE_1 } });
    const recorded = deleting(updated({}, first), { deletedAt: NOW });
    expect(decide({ build: recorded, pods })).toMatchObject({ do: 'wait' });
    expect(decide({ build: deleting(updated({}, first)), pods: [] })).toMatchObject({
      do: 'updateStatus',
      status: { artifacts: ON_NODE_1, completionTime: NOW },
    });
  });

  it('writes down once that nothing builds any more, so that what is cleaned stays off the list', () => {
    const pods = [aPodView({ phase: 'failed' })];
    expect(decide({ build: deleting(), pods })).toMatchObject({
      status: { phase: 'Cleaning', artifacts: ON_NODE_1, completionTime: NOW },
    });
    const cleaned = deleting({ ...OVER, artifacts: [] });
    expect(decide({ build: cleaned, pods })).toMatchObject({ do: 'removeFinalizer' });
  });

  it('takes a Job without its owner reference along', () => {
    const jobs = [aJobView({ state: 'succeeded', owned: false })];
    const build = deleting({ ...OVER, artifacts: [] });
    expect(decide({ build, jobs })).toMatchObject({ do: 'deleteJob', job: { uid: 'job-1' } });
    const orphaning = { ...build, finalizers: [FINALIZER, 'orphan'] };
    expect(decide({ build: orphaning, jobs })).toMatchObject({ do: 'removeFinalizer' });
  });

  it('is cleaned on one node after the other, all binaries of a node at once', () => {
    const artifacts = [
      { node: 'node-1', binary: 'a' },
      { node: 'node-1', binary: 'b' },
      { node: 'node-2', binary: 'a' },
    ];
    const build = deleting({ ...OVER, artifacts });
    expect(decide({ build })).toMatchObject({
      do: 'createCleanupJob',
      cleanup: { jobName: 'build-helloworld-delete', node: 'node-1', binaries: ['a', 'b'] },
    });
    const done = aCleanupView({ state: 'succeeded', binaries: ['a', 'b'] });
    expect(decide({ build, jobs: [done] })).toMatchObject({
      do: 'updateStatus',
      status: { artifacts: [{ node: 'node-2', binary: 'a' }] },
    });
  });

  it('awaits its running cleanup, which the watcher shows', () => {
    const status = updated({}, decide({ build: deleting(OVER), jobs: [aCleanupView()] }));
    expect(decide({ build: deleting({ ...OVER, ...status }), jobs: [aCleanupView()] })).toMatchObject({
      do: 'wait',
      for: 'cleanup Job build-helloworld-delete to end',
    });
  });

  it('without cleanup goes only after a cleanup that is running, which would remove what is said to stay', () => {
    const build = deleting(OVER, { skipCleanup: true });
    expect(decide({ build, jobs: [aCleanupView()] })).toMatchObject({
      do: 'deleteJob',
      job: { uid: 'cleanup-1' },
    });
    expect(decide({ build, jobs: [aCleanupView({ deleting: true })] })).toMatchObject({
      do: 'removeFinalizer',
      event: { type: 'Warning', reason: 'CleanupSkipped', note: expect.stringContaining('on node-1 stays') },
    });
  });
});

describe('a build that goes without cleanup', () => {
  const noteOf = (decision: BuildDecision) =>
    decision.do === 'removeFinalizer' ? decision.event?.note : undefined;

  it.each([
    ['the annotation', { skipCleanup: true }, {}],
    ['its namespace', {}, { namespace: 'terminating' }],
  ] as const)(
    'because of %s tells where its Pods have run, also what its status does not say yet',
    (_, fields, seen) => {
      const build = aBuildView({ phase: 'Building', artifacts: ON_NODE_1 }, { deleting: true, ...fields });
      const pods = [aPodView({ node: 'node-2' })];
      const decision = decide({ build, pods, ...seen });
      expect(decision).toMatchObject({ do: 'removeFinalizer' });
      expect(noteOf(decision)).toMatch(/helloworld on node-1, node-2 stays$/);
    },
  );
});

describe('the name of a Job', () => {
  it('may be one that every object of JavaScript has', () => {
    const spec = checkSpec({ ...SAMPLE, jobName: 'constructor' }, BUILD_DEFAULTS);
    expect(decide({ build: aBuildView({}, { spec }) })).toMatchObject({ do: 'observe', what: 'name' });
  });

  const jobName = SAMPLE.jobName;
  const named = (holder: NonNullable<Observation['names']>[string]) =>
    decide({ names: { [jobName]: holder } });

  it.each([
    ['that is not the operator’s', 'foreign' as const],
    ['of another build', aJobView({ buildUid: 'uid-9', buildName: 'other' })],
  ])('of a Job %s is left to it, and looked up again', (_, holder) => {
    const first = named(holder);
    expect(first).toMatchObject({ do: 'updateStatus', event: { reason: 'JobNameTaken' } });
    const build = aBuildView(updated({}, first));
    expect(decide({ build, names: { [jobName]: holder } })).toMatchObject({ do: 'wait', atMostMs: 60_000 });
    expect(decide({ build, names: undefined })).toMatchObject({ do: 'observe', what: 'name', jobName });
    expect(decide({ build, names: { [jobName]: 'free' } })).toMatchObject({ do: 'createJob' });
  });

  it('of a Job that an earlier build of the same name has left is freed', () => {
    const left = aJobView({ buildUid: 'uid-0', uid: 'job-0' });
    expect(named(left)).toMatchObject({ do: 'deleteJob', job: { uid: 'job-0' } });
    expect(named({ ...left, deleting: true })).toMatchObject({ do: 'wait', atMostMs: 2_000 });
  });
});

describe('what is said of a step', () => {
  it('holds nothing of the spec, whose URL may have a password', () => {
    const spec = checkSpec(
      { ...SAMPLE, gitUrl: 'https://u:s3cret@h/x?t=s3cret', buildCommand: 's3cret' },
      BUILD_DEFAULTS,
    );
    const build = aBuildView({}, { spec });
    const reasons = [
      decide({ build }),
      decide({ build: { ...build, finalizers: [] } }),
      decide({ build, jobs: [aJobView({ hash: 'old' })] }),
      decide({ build: { ...build, deleting: true } }),
    ].map((decision) => ('because' in decision ? decision.because : ''));
    expect(reasons.join()).not.toContain('s3cret');
  });
});
