import { describe, expect, it } from '@jest/globals';
import type { JobView } from '../../../src/controllers/git-build/views.ts';
import {
  BUILT,
  decide,
  inProgress,
  NOW,
  NOW_MS,
  ON_NODE_1,
  reasonsIn,
  settled,
  stalledBy,
  START as LONG_AGO,
} from '../../support/build-decisions.ts';
import {
  aBuildView,
  aCleanupView,
  aJobView,
  aPodView,
  FINALIZER,
  type BuildGiven,
} from '../../support/build-views.ts';
import { SAMPLE } from '../../support/build-samples.ts';

const CLEANUP = 'build-helloworld-delete';
const OLD = { node: 'node-1', binary: 'old' };

const secondsAgo = (seconds: number) => new Date(NOW_MS - seconds * 1000).toISOString();

/** Nothing builds any more, and the binary is on node-1. */
function deleting(status: object = {}, fields: Partial<BuildGiven> = {}): BuildGiven {
  const over = { phase: 'Cleaning', completionTime: LONG_AGO, jobName: SAMPLE.jobName } as const;
  const gone = { deleting: true, deletedAt: LONG_AGO, ...fields };
  return aBuildView({ ...over, artifacts: ON_NODE_1, ...status }, gone);
}

/** Built, while an earlier spec has left its binary on node-1. */
function rebuilt(status: object = {}): BuildGiven {
  const artifacts = [OLD, { node: 'node-2', binary: 'helloworld' }];
  return aBuildView({ phase: 'Succeeded', observedGeneration: 1, artifacts, ...status });
}

describe('the cleanup of a node', () => {
  it('is created for all that is on it', () => {
    expect(decide({ build: deleting() })).toMatchObject({
      do: 'createCleanupJob',
      because: 'helloworld on node-1 has to be removed',
      data: { jobName: CLEANUP, node: 'node-1', binaries: ['helloworld'] },
      deletes: {
        what: 'file',
        count: 1,
        interchangeable: 'the resource is being deleted',
        objects: expect.any(Function),
      },
    });
  });

  it('is of a name that follows from the spec, else from the resource', () => {
    const nameFor = (build: BuildGiven) => (settled(build, {})['data'] as { jobName: string }).jobName;
    const { jobName, ...unnamed } = deleting().status as { jobName: string };
    expect(jobName).toBe(SAMPLE.jobName);
    expect(nameFor({ ...deleting(), status: unnamed })).toBe(CLEANUP);
    expect(nameFor({ ...deleting(), status: unnamed, spec: {} })).toBe('uid-1-delete');
  });

  it('has at most 16 binaries, and the next Job the rest: as many as are read back from a Job', () => {
    const artifacts = Array.from({ length: 17 }, (_, i) => ({ node: 'node-1', binary: `tool-${i}` }));
    const decision = decide({ build: deleting({ artifacts }) });
    const { binaries } = decision['data'] as { readonly binaries: readonly string[] };
    expect(binaries).toEqual(artifacts.slice(0, 16).map(({ binary }) => binary));
    const cleaned = decide({
      build: deleting({ artifacts }),
      jobs: [aCleanupView({ state: 'succeeded', binaries })],
    });
    expect(cleaned).toMatchObject({ status: { artifacts: artifacts.slice(16) } });
  });

  it('that is running is in the status, and then awaited', () => {
    const jobs = [aCleanupView()];
    const first = decide({ build: deleting(), jobs });
    expect(first).toMatchObject({
      status: { phase: 'Cleaning', message: '', artifacts: ON_NODE_1 },
    });
    expect(reasonsIn(first)).toEqual(inProgress('Cleaning'));
    expect(settled(deleting(), { jobs })).toEqual({
      do: 'wait',
      for: `cleanup Job ${CLEANUP} to end`,
      recheckMs: 60_000,
    });
  });

  it('that is being deleted is awaited', () => {
    const WAIT = { do: 'wait', for: `cleanup Job ${CLEANUP} to be deleted`, recheckMs: 10_000 };
    expect(settled(deleting(), { jobs: [aCleanupView({ deleting: true })] })).toEqual(WAIT);
    const finished = aCleanupView({ deleting: true, state: 'succeeded', node: 'node-2' });
    expect(settled(deleting(), { jobs: [finished] })).toEqual(WAIT);
  });

  it.each([
    ['active', 'Foreground'],
    ['failed', 'Background'],
  ] as const)('that has nothing left to remove is deleted: it is %s', (state, propagation) => {
    for (const other of [{ node: 'node-9' }, { binaries: ['other'] }]) {
      const job = aCleanupView({ state, ...other });
      expect(decide({ build: deleting(), jobs: [job] })).toMatchObject({
        do: 'deleteJob',
        data: { name: job.name, propagation },
        because: 'there is nothing left for it to remove',
      });
    }
  });

  it('that has succeeded makes room for the next one, which needs its name', () => {
    const job = aCleanupView({ state: 'succeeded', node: 'node-2' });
    expect(decide({ build: deleting(), jobs: [job] })).toMatchObject({
      do: 'deleteJob',
      data: { name: job.name, propagation: 'Background' },
      because: 'the cleanup Job of the next node needs the same name',
    });
  });

  it('is off the status before anything else is done', () => {
    const artifacts = [...ON_NODE_1, { node: 'node-2', binary: 'helloworld' }];
    const first = decide({ build: deleting({ artifacts }), jobs: [aCleanupView({ state: 'succeeded' })] });
    expect(first).toMatchObject({
      status: { phase: 'Cleaning', message: '', artifacts: [{ node: 'node-2', binary: 'helloworld' }] },
    });
    expect(reasonsIn(first)).toEqual(inProgress('Cleaning'));
  });
});

describe('a cleanup whose Pod finds no node', () => {
  const jobs = [aCleanupView()];
  const trouble = { code: 'Unschedulable', text: 'finds no node' } as const;
  const pods = [aPodView({ purpose: 'cleanup', started: false, trouble })];

  it('asks whether its node is there', () => {
    expect(decide({ build: deleting(), jobs, pods })).toEqual({
      do: 'observe',
      because: 'lookup node node-1 has to be read',
      lookups: ['node node-1'],
    });
  });

  it('says so, and looks again sooner, where it is', () => {
    const nodes = { 'node-1': 'there' } as const;
    expect(decide({ build: deleting(), jobs, pods, nodes })).toMatchObject({
      status: { message: 'its Pod finds no node' },
    });
    expect(settled(deleting(), { jobs, pods, nodes })).toMatchObject({ do: 'wait', recheckMs: 60_000 });
  });

  it('takes what was there for gone where the node is', () => {
    const nodes = { 'node-1': 'gone' } as const;
    const artifacts = [...ON_NODE_1, { node: 'node-2', binary: 'helloworld' }];
    expect(decide({ build: deleting({ artifacts }), jobs, pods, nodes })).toMatchObject({
      do: 'updateStatus',
      status: {
        message: 'node node-1 is gone, and helloworld on node-1 with it',
        artifacts: [{ node: 'node-2', binary: 'helloworld' }],
      },
    });
  });

  it.each([
    [
      'another trouble',
      [aPodView({ purpose: 'cleanup', trouble: { code: 'ImageNotPulled', text: 'no image' } })],
    ],
    ['the trouble of another Pod', [aPodView({ purpose: 'build', phase: 'failed', trouble })]],
    ['no trouble', []],
  ] as const)('is no other: it has %s', (_, others) => {
    const nodes = { 'node-1': 'gone' } as const;
    expect(settled(deleting(), { jobs, pods: others, nodes })).toMatchObject({
      do: 'wait',
      recheckMs: 60_000,
    });
  });
});

describe('a cleanup whose Pod does not end', () => {
  const pods = [aPodView({ purpose: 'cleanup', started: false })];
  const nodes = {
    'node-1': { notReady: 'Ready=Unknown since 2026-11-21T11:00:00Z: Kubelet stopped posting node status' },
  };

  it('is left alone for 20 s, and then asks how its node is', () => {
    const young = aCleanupView({ createdAt: secondsAgo(5) });
    expect(settled(deleting(), { jobs: [young], pods })).toMatchObject({ do: 'wait', recheckMs: 15_000 });
    const ahead = aCleanupView({ createdAt: secondsAgo(-3600) });
    expect(settled(deleting(), { jobs: [ahead], pods })).toMatchObject({ do: 'wait', recheckMs: 20_000 });
    const jobs = [aCleanupView({ createdAt: secondsAgo(20) })];
    expect(decide({ build: deleting(), jobs, pods })).toMatchObject({
      do: 'observe',
      lookups: ['node node-1'],
    });
    const there = { 'node-1': 'there' } as const;
    expect(settled(deleting(), { jobs, pods, nodes: there })).toMatchObject({
      do: 'wait',
      recheckMs: 60_000,
    });
  });

  it('is stuck where its node is not ready, and says since when and what to do', () => {
    const jobs = [aCleanupView()];
    const because = `cleanup Job ${CLEANUP} cannot run: node node-1 is Ready=Unknown since 2026-11-21T11:00:00Z: Kubelet stopped posting node status`;
    const message = `${because}; bring the node back, or delete the Node if the machine is gone for good`;
    const first = decide({ build: deleting(), jobs, pods, nodes });
    expect(first).toMatchObject({
      status: { phase: 'Cleaning', message },
    });
    expect(reasonsIn(first)).toEqual(stalledBy('CleanupStuck'));
    expect(settled(deleting(), { jobs, pods, nodes })).toMatchObject({
      do: 'stalled',
      reason: 'CleanupStuck',
      message: because,
      recheckMs: 60_000,
      event: { type: 'Warning', reason: 'CleanupStuck', note: message },
    });
  });
});

describe('a cleanup that failed', () => {
  const failed = (fields: Partial<JobView> = {}) =>
    aCleanupView({ state: 'failed', endedAt: NOW, failure: 'BackoffLimitExceeded', ...fields });
  const termination = { exitCode: 2, reason: 'Error', lastLines: 'rm: busy' };
  const pods = [aPodView({ purpose: 'cleanup', jobUid: 'cleanup-1', phase: 'failed', termination })];
  const MESSAGE = `Job ${CLEANUP} failed: exit code 2: rm: busy; still to be removed: helloworld on node-1`;

  it('is reported with what it wrote last', () => {
    const first = decide({ build: deleting(), jobs: [failed()], pods });
    expect(first).toMatchObject({
      do: 'updateStatus',
      status: { phase: 'Cleaning', message: MESSAGE },
    });
    expect(reasonsIn(first)).toEqual(stalledBy('CleanupFailed'));
  });

  it.each([
    ['10 s after the first attempt', { createdAt: LONG_AGO }, 10_000],
    [
      'as long again as the cleanup had lasted before a later one',
      { createdAt: '2026-11-21T11:02:00Z' },
      120_000,
    ],
    ['after five minutes at most', { createdAt: secondsAgo(1) }, 300_000],
    ['10 s after one that nobody knows the age of', { createdAt: '' }, 10_000],
    ['counted from its end', { endedAt: secondsAgo(4) }, 6_000],
    ['from now where the end is not known', { endedAt: '' }, 10_000],
    ['from now where a clock is ahead', { endedAt: secondsAgo(-3600) }, 10_000],
  ])('is tried again %s', (_, fields, recheckMs) => {
    const build = deleting({ completionTime: '2026-11-01T11:00:00Z' });
    expect(settled(build, { jobs: [failed(fields)], pods })).toEqual({
      do: 'stalled',
      reason: 'CleanupFailed',
      message: MESSAGE,
      advice: [
        { run: `kubectl logs -n shop job/${CLEANUP} -c cleanup`, to: 'show what it wrote' },
        {
          run: 'kubectl annotate xxx sample -n shop durable-operator.dev/skip-cleanup=true',
          to: 'leave the binary on the node, and remove the finalizer',
        },
      ],
      recheckMs,
      event: { type: 'Warning', reason: 'CleanupFailed', action: 'Clean', note: MESSAGE },
    });
  });

  it('of what an earlier spec has left is tried again as often, counted from the end of the build', () => {
    const job = failed({ binaries: ['old'], createdAt: '2026-11-21T11:02:00Z' });
    const build = rebuilt({ completionTime: LONG_AGO });
    expect(settled(build, { jobs: [job], pods })).toMatchObject({
      do: 'stalled',
      advice: [{ to: 'show what it wrote' }],
      recheckMs: 120_000,
    });
  });

  it('is deleted when the next attempt is due', () => {
    const job = failed({ endedAt: secondsAgo(10) });
    expect(settled(deleting(), { jobs: [job], pods })).toMatchObject({
      do: 'deleteJob',
      data: { name: job.name, propagation: 'Background' },
      because: 'the cleanup is due for another attempt',
    });
  });
});

describe('what an earlier spec has left', () => {
  it('is removed while the build is ready, which its status goes on saying', () => {
    expect(decide({ build: rebuilt() })).toMatchObject({
      do: 'createCleanupJob',
      because: 'old on node-1 has to be removed',
      data: { jobName: CLEANUP, node: 'node-1', binaries: ['old'] },
    });
    expect(settled(rebuilt(), { jobs: [aCleanupView({ binaries: ['old'] })] })).toMatchObject({
      do: 'wait',
      for: `cleanup Job ${CLEANUP} to end`,
    });
  });

  it.each([
    ['whose Job has a name that is taken', { names: { [CLEANUP]: 'foreign' } }, 'JobNameTaken'],
  ] as const)('%s leaves the build ready, and stalled until that is over', (_, trouble, reason) => {
    const step = decide({ build: rebuilt(), ...trouble });
    expect(reasonsIn(step)).toEqual(stalledBy(reason, 'True'));
    const { conditions } = step['status'] as { readonly conditions: readonly object[] };
    const jobs = [aCleanupView({ binaries: ['old'] })];
    expect(reasonsIn(decide({ build: rebuilt({ conditions }), jobs }))).toEqual(BUILT);
  });

  it('is taken off the status, node by node', () => {
    const artifacts = [OLD, { node: 'node-3', binary: 'old' }, { node: 'node-2', binary: 'helloworld' }];
    const first = decide({
      build: rebuilt({ artifacts }),
      jobs: [aCleanupView({ binaries: ['old'], state: 'succeeded' })],
    });
    expect(first).toMatchObject({
      status: { phase: 'Succeeded', artifacts: artifacts.slice(1) },
    });
    expect(reasonsIn(first)).toEqual(BUILT);
  });

  it('is reported as removed when all of it is', () => {
    const job = aCleanupView({ binaries: ['old'], state: 'succeeded' });
    const first = decide({ build: rebuilt(), jobs: [job] });
    expect(first).toMatchObject({
      do: 'updateStatus',
      status: { phase: 'Succeeded', artifacts: [{ node: 'node-2', binary: 'helloworld' }] },
      event: {
        type: 'Normal',
        reason: 'Cleaned',
        action: 'Clean',
        note: 'Removed old on node-1, left there by an earlier spec',
      },
    });
    expect(reasonsIn(first)).toEqual(BUILT);
  });
});

describe('a build that may go', () => {
  const DONE = { do: 'removeFinalizer', finalizers: [], resourceVersion: '7' };

  it('goes without more words where no binary is on any node', () => {
    expect(decide({ build: deleting({ artifacts: [] }) })).toEqual({
      ...DONE,
      because: 'there is nothing to remove',
    });
  });

  it('goes with an Event once every node is clean', () => {
    expect(decide({ build: deleting(), jobs: [aCleanupView({ state: 'succeeded' })] })).toEqual({
      ...DONE,
      because: 'every node is clean',
      event: { type: 'Normal', reason: 'Cleaned', action: 'Clean', note: 'Removed helloworld on node-1' },
    });
  });

  it('has nothing to do where its finalizer is gone already', () => {
    expect(decide({ build: deleting({}, { finalizers: [] }) })).toEqual({
      do: 'converged',
      because: 'the resource is being deleted',
    });
  });

  it('takes a Job along that has lost its owner reference, but no other', () => {
    const lost = aJobView({ state: 'succeeded', owned: false });
    const build = deleting({ artifacts: [] });
    expect(decide({ build, jobs: [lost] })).toMatchObject({
      do: 'deleteJob',
      data: { name: lost.name, propagation: 'Background' },
      because: 'the Job has lost its owner reference',
    });
    const others = [{ ...lost, owned: true }, aCleanupView({ state: 'succeeded', owned: false })];
    for (const job of others) expect(decide({ build, jobs: [job] }).do).toBe('removeFinalizer');
    const orphaning = { ...build, finalizers: [FINALIZER, 'orphan'] };
    expect(decide({ build: orphaning, jobs: [lost] }).do).toBe('removeFinalizer');
  });

  it.each([
    ['has left its binary', deleting(), 'helloworld on node-1 stays'],
    ['has left nothing', deleting({ artifacts: [] }), 'no binary is recorded on any node'],
    ['has no status', aBuildView({}, { deleting: true }), 'no binary is recorded on any node'],
  ])('goes without cleanup where the annotation asks for that, and it %s', (_, build, stays) => {
    const because = 'the annotation asks to skip the cleanup';
    const skipping = { ...build, skipCleanup: true };
    expect(decide({ build: skipping })).toEqual({
      ...DONE,
      because,
      event: {
        type: 'Warning',
        reason: 'CleanupSkipped',
        action: 'Clean',
        note: `Cleanup was skipped because of the annotation: ${stays}`,
      },
    });
    const over = [
      aCleanupView({ state: 'succeeded' }),
      aCleanupView({ state: 'failed' }),
      aCleanupView({ deleting: true }),
    ];
    expect(decide({ build: skipping, jobs: over }).do).toBe('removeFinalizer');
    const job = aCleanupView();
    expect(settled(skipping, { jobs: [...over, job] })).toMatchObject({
      do: 'deleteJob',
      data: { name: job.name, propagation: 'Background' },
      because,
    });
  });

  it('goes where its namespace takes no new Job, with an Event on the namespace', () => {
    expect(decide({ build: deleting(), namespace: 'terminating' })).toEqual({
      ...DONE,
      because: 'its namespace accepts no new Jobs',
      event: {
        type: 'Warning',
        reason: 'CleanupSkipped',
        action: 'Clean',
        note: 'Xxx shop/sample was deleted without cleanup, because its namespace is being deleted and accepts no new Jobs: helloworld on node-1 stays',
        about: 'namespace',
      },
    });
  });
});

describe('what still builds', () => {
  const begun = { phase: 'Building', observedGeneration: 1, startTime: LONG_AGO } as const;
  const build = aBuildView(begun, { deleting: true, deletedAt: NOW });
  const running = aJobView();

  it('is stopped before anything is cleaned', () => {
    const first = decide({ build, jobs: [running] });
    expect(first).toMatchObject({
      do: 'updateStatus',
      status: {
        phase: 'Cleaning',
        startTime: running.createdAt,
        message: 'Job build-helloworld is being deleted',
      },
    });
    expect(reasonsIn(first)).toEqual(inProgress('Cleaning'));
    expect(settled(build, { jobs: [running] })).toMatchObject({
      do: 'deleteJob',
      data: { name: running.name, propagation: 'Foreground' },
      because: 'the resource is being deleted',
    });
    expect(settled(build, { jobs: [{ ...running, deleting: true }] })).toEqual({
      do: 'wait',
      for: 'Job shop/build-helloworld and its Pods to be deleted',
      recheckMs: 10_000,
    });
  });

  it('is a Pod without its Job, too', () => {
    expect(settled(build, { pods: [aPodView()] })).toEqual({
      do: 'wait',
      for: 'Pods without their Job to end',
      recheckMs: 10_000,
      cause: {
        reason: 'StrayPods',
        message: 'Pods are still running without their Job: pod-1',
        advice: [
          'delete them, or wait for their deadline',
          { run: 'kubectl delete pod pod-1 -n shop', to: 'delete them' },
        ],
      },
    });
  });

  it.each([
    ['has succeeded', [aJobView({ state: 'succeeded' })], []],
    ['has failed', [aJobView({ state: 'failed' })], []],
    ['has a Pod that has succeeded', [running], [aPodView({ phase: 'succeeded' })]],
  ])('is no Job that %s', (_, jobs, pods) => {
    expect(settled(build, { jobs, pods })).not.toMatchObject({ do: 'deleteJob' });
  });

  it('is a Job whose Pods have ended otherwise, or of whose Pods another has succeeded', () => {
    for (const pod of [aPodView({ phase: 'failed' }), aPodView({ phase: 'succeeded', jobUid: 'job-0' })])
      expect(settled(build, { jobs: [running], pods: [pod] })).toMatchObject({ do: 'deleteJob' });
  });

  it('is over when that is on record', () => {
    const cleaning = { ...build, status: { phase: 'Cleaning', startTime: LONG_AGO } as const };
    expect(decide({ build: cleaning, pods: [aPodView({ phase: 'failed' })] })).toMatchObject({
      do: 'updateStatus',
      status: { phase: 'Cleaning', artifacts: ON_NODE_1, completionTime: NOW },
    });
  });

  it('may be a Job of a create whose outcome nobody knows', () => {
    const cleaning = { ...build, status: { phase: 'Cleaning' } as const };
    expect(settled(cleaning, {}, 11_000)).toEqual({
      do: 'wait',
      for: 'a Job whose creation may still be in progress',
      recheckMs: 11_000,
    });
    expect(decide({ build: cleaning, pods: [aPodView({ phase: 'failed' })] }, 11_000)).toMatchObject({
      status: { artifacts: ON_NODE_1, message: '' },
    });
    expect(decide({ build: cleaning }).do).toBe('removeFinalizer');
  });
});
