import { describe, expect, it } from '@jest/globals';
import { failureOf } from '../../../src/controllers/git-build/failure.ts';
import { cleanupJob, buildJob } from '../../../src/controllers/git-build/jobs.ts';
import { jobView, podView } from '../../../src/controllers/git-build/views.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../../support/build-samples.ts';
import { BUILDING, decide, NOW_MS, ON_NODE_1, reasonsIn, settled } from '../../support/build-decisions.ts';
import { aBuildView, aCleanupView, aJobView, aPodView, LABELS, META } from '../../support/build-views.ts';

/** Others add containers to Pods, suspend Jobs and shut nodes down. */

const before = (ms: number) => new Date(NOW_MS - ms).toISOString();
const running = { running: { startedAt: before(1_000) } };
const ended = (exitCode: number, message = '') => ({
  terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', message, finishedAt: before(0) },
});
const aPod = (phase: string, containers: Readonly<Record<string, object>>, purpose = 'build') =>
  podView({
    metadata: { ...META, labels: { ...LABELS, 'durable-operator.dev/job': purpose } },
    spec: { nodeName: 'node-1' },
    status: {
      phase,
      containerStatuses: Object.entries(containers).map(([name, state]) => ({ name, state })),
    },
  });

describe('a node on which the build has run', () => {
  const job = aJobView();
  const exceeded = aJobView({ state: 'failed', failure: 'DeadlineExceeded' });

  it('is in the status as soon as its container has started, and stays there when the deadline takes the Pod', () => {
    const first = decide({ build: aBuildView(BUILDING), jobs: [job], pods: [aPodView()] });
    expect(first).toMatchObject({ do: 'updateStatus', status: { artifacts: ON_NODE_1 } });
    const build = aBuildView({ ...BUILDING, artifacts: ON_NODE_1 });
    expect(decide({ build, jobs: [exceeded] })).toMatchObject({
      status: { phase: 'Failed', message: expect.not.stringContaining('nobody saw'), artifacts: ON_NODE_1 },
    });
  });

  it('is none where only another container has started', () => {
    const waiting = { waiting: { reason: 'PodInitializing' } };
    expect(aPod('Running', { proxy: running, build: waiting })).toMatchObject({ started: false });
    expect(aPod('Running', { proxy: running, build: running })).toMatchObject({ started: true });
    const pods = [aPodView({ started: false })];
    expect(settled(aBuildView(BUILDING), { jobs: [job], pods }).do).toBe('wait');
  });

  it('is one from which a Pod is taken before it could say whether it has started', () => {
    const metadata = { ...META, annotations: { 'durable-operator.dev/binary-name': 'helloworld' } };
    const lost = { spec: { nodeName: 'node-1' }, status: { phase: 'Pending' } };
    const going = podView({ ...lost, metadata: { ...metadata, deletionTimestamp: before(0) } });
    const pods = [aPodView({ ...going, jobUid: job.uid, hash: job.hash })];
    expect(decide({ build: aBuildView(BUILDING), jobs: [job], pods })).toMatchObject({
      status: { phase: 'Building', artifacts: ON_NODE_1 },
    });
    const trouble = { code: 'ImageNotPulled', text: 'no image' };
    const never = [aPodView({ ...going, jobUid: job.uid, hash: job.hash, trouble })];
    expect(decide({ build: aBuildView(BUILDING), jobs: [job], pods: never })).toMatchObject({
      status: { artifacts: [] },
    });
  });

  it('is said not to be known where its Pods went unseen', () => {
    const message = expect.stringContaining('nobody saw whether they ran');
    const end = decide({ build: aBuildView(BUILDING), jobs: [exceeded] });
    expect(end).toMatchObject({ status: { phase: 'Failed', message, artifacts: [] } });
  });
});

describe('a Pod with another container', () => {
  it('has failed as its own container says, or else as the other one does', () => {
    const own = aPod('Failed', { proxy: ended(0), build: ended(2, 'no rule') });
    expect(own?.termination).toEqual({ exitCode: 2, reason: 'Error', lastLines: 'no rule' });
    const others = aPod('Failed', { build: ended(0), proxy: ended(1, 'lost') });
    expect(others?.termination).toMatchObject({ exitCode: 1, container: 'proxy' });
    const job = aJobView({ state: 'failed', failure: 'BackoffLimitExceeded' });
    const pods = others === undefined ? [] : [{ ...others, purpose: 'build' as const }];
    expect(failureOf(job, pods)).toContain('exit code 1 of the container proxy, which was added to its Pod');
  });

  it('holds up the Job of a build, which is said half a minute after that has ended', () => {
    const pod = aPod('Running', { build: ended(0), proxy: running });
    expect(pod).toMatchObject({ exitCode: 0, running: ['proxy'] });
    const build = aBuildView({ ...BUILDING, artifacts: ON_NODE_1 });
    const after = (ms: number) => {
      const pods = [aPodView({ exitCode: 0, running: ['proxy'], endedAt: before(ms) })];
      return {
        first: decide({ build, jobs: [aJobView()], pods }),
        rest: settled(build, { jobs: [aJobView()], pods }),
      };
    };
    expect(after(10_000).rest).toMatchObject({ do: 'wait', recheckMs: 20_000 });
    const { first } = after(30_000);
    expect(reasonsIn(first)).toContain('Ready False: ContainerRunning');
    expect(first).toMatchObject({
      status: { message: expect.stringContaining('in its Pod pod-1 still runs proxy') },
    });
  });

  it('does not hold up a deletion once its container has cleaned', () => {
    const build = aBuildView(
      { phase: 'Cleaning', observedGeneration: 1, artifacts: ON_NODE_1, completionTime: before(0) },
      { deleting: true, deletedAt: before(1_000) },
    );
    const pods = [aPodView({ purpose: 'cleanup', binary: '', exitCode: 0, running: ['proxy'] })];
    for (const state of ['active', 'failed'] as const)
      expect(decide({ build, jobs: [aCleanupView({ state })], pods })).toMatchObject({
        do: 'removeFinalizer',
        event: { reason: 'Cleaned' },
      });
    const failed = [aPodView({ purpose: 'cleanup', binary: '', exitCode: 1, phase: 'failed' })];
    expect(decide({ build, jobs: [aCleanupView({ state: 'failed' })], pods: failed }).do).not.toBe(
      'removeFinalizer',
    );
  });
});

describe('a suspended Job', () => {
  const aJob = (metadata: object) =>
    jobView({ metadata: { ...META, ...metadata }, spec: { suspend: true }, status: {} });

  it('is said to be so, and by whom where that can be told', () => {
    expect(aJob({})?.suspendedBy).toBe('');
    expect(aJob({ labels: { ...LABELS, 'kueue.x-k8s.io/queue-name': 'team' } })?.suspendedBy).toBe('Kueue');
    const managedFields = [{ manager: 'kubectl-patch', fieldsV1: { 'f:spec': { 'f:suspend': {} } } }];
    expect(aJob({ managedFields })?.suspendedBy).toBe('kubectl-patch');
    const jobs = [aJobView({ suspendedBy: 'Kueue' })];
    const decision = decide({ build: aBuildView(BUILDING), jobs });
    expect(reasonsIn(decision)).toContain('Ready False: Suspended');
    expect(decision).toMatchObject({
      status: { message: expect.stringContaining('Job shop/build-helloworld is suspended by Kueue') },
    });
  });
});

it('a Pod whose node is shut down is no failure of its Job, and no Pod lands on another system', () => {
  const owner = { namespace: 'shop', name: 'sample', uid: 'uid-1' };
  const build = buildJob(owner, { spec: SAMPLE, hash: 'f00' }, BUILD_DEFAULTS);
  const cleaning = { jobName: 'a', node: 'node-1', binaries: ['b'] };
  for (const job of [build, cleanupJob(owner, cleaning, BUILD_DEFAULTS)])
    expect(job.spec.podFailurePolicy.rules).toEqual([
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    ]);
  expect(build.spec.template.spec).toMatchObject({ nodeSelector: { 'kubernetes.io/os': 'linux' } });
});
