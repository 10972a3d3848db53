import { describe, expect, it } from '@jest/globals';

import * as decisions from '../../support/build-decisions.ts';
import { aBuildView, aCleanupView, aJobView, aPodView, type BuildSeen } from '../../support/build-views.ts';
import { SAMPLE } from '../../support/build-samples.ts';

const { BUILDING, decide, INVALID, NOW, NOW_MS, ON_NODE_1, settled, START, TROUBLED, updated } = decisions;

describe('a success', () => {
  const jobs = [aJobView()];
  const pod = aPodView({ phase: 'succeeded', endedAt: NOW });

  it('is reported from its Pod, also while its Job says nothing yet', () => {
    expect(decide({ build: aBuildView(BUILDING), jobs, pods: [pod] })).toMatchObject({
      do: 'updateStatus',
      status: { phase: 'Succeeded', startTime: START, completionTime: NOW, artifacts: ON_NODE_1 },
      event: { reason: 'BuildSucceeded' },
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
      event: { reason: 'BuildFailed', note: message },
    });
    expect(decide({ build: aBuildView(updated(BUILDING, first)), jobs, pods })).toEqual({
      do: 'stalled',
      reason: 'BuildFailed',
      message: 'Job build-helloworld failed: exit code 2',
      advice: [
        { run: 'kubectl logs -n shop job/build-helloworld -c build', to: 'show what it wrote' },
        { run: 'kubectl delete job build-helloworld -n shop', to: 'build the same again' },
      ],
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
      data: { uid: 'job-0', propagation: 'Foreground', isReplaced: true },
    });
  });

  it('that is going may still write wherever a Pod of it is scheduled: that is recorded, too', () => {
    const jobs = [{ ...old, deleting: true }];
    const scheduled = { ...pod, started: false };
    const first = decide({ build: aBuildView(), jobs, pods: [{ ...scheduled, node: '' }] });
    const build = aBuildView(updated({}, first));
    expect(decide({ build, jobs, pods: [{ ...scheduled, node: '' }] })).toMatchObject({
      do: 'wait',
      recheckMs: 10_000,
    });
    expect(decide({ build, jobs, pods: [scheduled] })).toMatchObject({
      do: 'updateStatus',
      status: { artifacts: [{ node: 'node-1', binary: 'old' }] },
    });
  });

  it('is not awaited where the Pods that run on are of the same spec', () => {
    const build = aBuildView({ phase: 'Pending', observedGeneration: 1, artifacts: ON_NODE_1 });
    expect(decide({ build, pods: [aPodView()] })).toMatchObject({ do: 'createJob' });
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

  it('that stays in the status when its Pods go at its deadline, and goes from it when one starts', () => {
    const build = aBuildView({ ...TROUBLED, message: 'the image x cannot be pulled' });
    const messageWith = (pods: BuildSeen['pods']) => updated(build.status, decide({ build, jobs, pods }));
    expect(messageWith([])).toMatchObject({ message: 'the image x cannot be pulled' });
    expect(messageWith([aPodView()])).toMatchObject({ message: '' });
  });
});

describe('a create whose outcome nobody knows', () => {
  const jobs = [aJobView()];
  const ended = [aPodView({ phase: 'succeeded', endedAt: NOW })];
  const reported = { phase: 'Building', observedGeneration: 1 } as const;

  it('has the end of the Job wait, and where its Pod ran recorded', () => {
    const build = aBuildView(reported);
    expect(settled(build, { jobs, pods: ended }, 4_000)).toMatchObject({
      do: 'wait',
      for: 'a Job whose creation may still be in progress',
      recheckMs: 4_000,
    });
    expect(decide({ build, jobs, pods: ended }, 4_000)).toMatchObject({
      status: { phase: 'Building', artifacts: ON_NODE_1 },
    });
    expect(decide({ build, jobs, pods: ended })).toMatchObject({ status: { phase: 'Succeeded' } });
  });

  it('is looked at again as soon as its time is over, and no later than a Job without a Pod', () => {
    const build = aBuildView(reported);
    const [pods, refusedPods] = [[aPodView()], {}];
    expect(settled(build, { jobs, pods }, 4_000)).toMatchObject({ do: 'wait', recheckMs: 4_000 });
    const young = [aJobView({ createdAt: new Date(NOW_MS - 7_000).toISOString() })];
    expect(settled(build, { jobs: young, refusedPods }, 4_000)).toMatchObject({ recheckMs: 3_000 });
    expect(settled(build, { jobs: young, refusedPods }, 2_000)).toMatchObject({ recheckMs: 2_000 });
  });
});

it('where the Pods of another Job of the same name ran is recorded while the new Job runs', () => {
  const pods = [aPodView({ phase: 'succeeded', jobUid: 'job-0' })];
  expect(decide({ build: aBuildView(BUILDING), jobs: [aJobView()], pods })).toMatchObject({
    status: { phase: 'Building', artifacts: ON_NODE_1 },
  });
});

describe('a build that is deleted', () => {
  const LONG_AGO = '2026-11-21T11:00:00Z';
  const deleting = (status: object = {}, fields: object = {}) =>
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
      data: { propagation: 'Foreground' },
    });
  });

  it('is let go at once where no create can be under way', () => {
    const removal = { do: 'removeFinalizer' };
    expect(decide({ build: deleting({}, { deletedAt: NOW }) })).toMatchObject(removal);
    const over = deleting({ ...OVER, artifacts: [] }, { deletedAt: NOW });
    expect(decide({ build: over })).toMatchObject(removal);
    // The library waits for an attempt whose outcome nobody knows.
    expect(settled(over, {}, 1)).toMatchObject({ do: 'wait' });
  });

  it('writes down once that nothing builds any more, so that what is cleaned stays off the list', () => {
    const pods = [aPodView({ phase: 'failed' })];
    expect(decide({ build: deleting(), pods })).toMatchObject({
      status: { phase: 'Cleaning', artifacts: ON_NODE_1, completionTime: NOW },
    });
    const cleaned = deleting({ ...OVER, artifacts: [] });
    expect(decide({ build: cleaned, pods })).toMatchObject({ do: 'removeFinalizer' });
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
      data: { jobName: 'build-helloworld-delete', node: 'node-1', binaries: ['a', 'b'] },
    });
    const done = aCleanupView({ state: 'succeeded', binaries: ['a', 'b'] });
    expect(decide({ build, jobs: [done] })).toMatchObject({
      do: 'updateStatus',
      status: { artifacts: [{ node: 'node-2', binary: 'a' }] },
    });
  });
});

it('a build that goes without cleanup tells where its Pods have run, also what its status does not say yet', () => {
  const fields = { deleting: true, skipCleanup: true };
  const build = aBuildView({ phase: 'Building', artifacts: ON_NODE_1 }, fields);
  expect(decide({ build, pods: [aPodView({ node: 'node-2' })] })).toMatchObject({
    do: 'removeFinalizer',
    event: { note: expect.stringMatching(/helloworld on node-1, node-2 stays$/) },
  });
});

describe('the name of a Job', () => {
  const jobName = SAMPLE.jobName;

  it.each([
    ['that is not the operator’s', 'foreign' as const],
    ['of another build', aJobView({ buildUid: 'uid-9', buildName: 'other' })],
  ])('of a Job %s is left to it, and looked up again', (_, holder) => {
    const names = { [jobName]: holder };
    expect(settled(aBuildView(), { names })).toMatchObject({
      do: 'stalled',
      reason: 'JobNameTaken',
      recheckMs: 60_000,
      event: { reason: 'JobNameTaken' },
    });
    expect(settled(aBuildView(), { names: { [jobName]: 'free' } })).toMatchObject({ do: 'createJob' });
  });
});

describe('what is said of a step', () => {
  it('holds nothing of the spec, whose URL may have a password', () => {
    const spec = { ...SAMPLE, gitUrl: 'https://u:s3cret@h/x?t=s3cret', buildCommand: 's3cret' };
    const build = aBuildView({}, { spec });
    const reasons = [
      decide({ build }),
      decide({ build: { ...build, finalizers: [] } }),
      decide({ build, jobs: [aJobView({ hash: 'old' })] }),
      decide({ build: { ...build, deleting: true } }),
    ].map((decision) => JSON.stringify(decision));
    expect(reasons.join()).not.toContain('s3cret');
  });
});

describe('a Job that something changes as it is created', () => {
  const build = aBuildView({ ...BUILDING, phase: 'Pending' });
  const changed = { hash: '', createdAt: NOW };

  it('stays for a while, which the status says, and then another one takes its place', () => {
    const jobs = [aJobView(changed)];
    const said = decide({ build, jobs });
    expect(said).toMatchObject({
      do: 'updateStatus',
      status: { phase: 'Pending', message: expect.stringContaining('spec-hash') },
    });
    const rest = decide({ build: aBuildView(updated(build.status, said)), jobs });
    expect(rest).toMatchObject({ do: 'stalled', reason: 'Overridden', recheckMs: 30_000 });
    const old = [aJobView({ ...changed, createdAt: '2026-11-21T09:00:00Z' })];
    expect(settled(build, { jobs: old })).toMatchObject({ do: 'deleteJob' });
  });
});
