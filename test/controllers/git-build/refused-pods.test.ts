import { describe, expect, it } from '@jest/globals';
import type { Cause } from '../../../src/api/cause.ts';

import type { JobView } from '../../../src/controllers/git-build/views.ts';
import {
  BUILDING,
  decide,
  NOW,
  NOW_MS,
  ON_NODE_1,
  reasonsIn,
  settled,
  stalledBy,
  START,
  updated,
} from '../../support/build-decisions.ts';
import {
  aBuildView,
  aCleanupView,
  aJobView,
  aPodView,
  type BuildGiven,
  type BuildSeen,
} from '../../support/build-views.ts';

const SHOW = { run: 'kubectl get namespace shop', to: 'show it' };
const PRIVILEGED =
  'set the label pod-security.kubernetes.io/enforce of the namespace to privileged, since builds write to the nodes';
const SKIP = { to: 'leave the binary on the node, and remove the finalizer' };
const AGAIN = 'the Job tries again within a minute';

const refusal = (reason: string, message: string): Cause => ({
  reason: reason,
  message: message,
  advice: ['change the Pods', SHOW],
});
const ENFORCED = refusal('PodSecurity', 'violates PodSecurity "baseline:latest": hostPath');
const secondsAgo = (seconds: number) => new Date(NOW_MS - seconds * 1000).toISOString();

/** As far as the phase says, and with a Job that has no Pod. */
interface Case {
  readonly build: BuildGiven;
  readonly jobOf: (fields: Partial<JobView>) => JobView;
  readonly uid: string;
}

const CASES: Readonly<Record<string, Case>> = {
  'a build': { build: aBuildView(BUILDING), jobOf: aJobView, uid: 'job-1' },
  'the cleanup of a deletion': {
    build: aBuildView(
      { phase: 'Cleaning', completionTime: START, artifacts: ON_NODE_1 },
      { deleting: true, deletedAt: START },
    ),
    jobOf: aCleanupView,
    uid: 'cleanup-1',
  },
  'the cleanup after an earlier spec': {
    build: aBuildView({
      phase: 'Succeeded',
      observedGeneration: 1,
      artifacts: [{ node: 'node-1', binary: 'old' }],
    }),
    jobOf: (fields) => aCleanupView({ binaries: ['old'], ...fields }),
    uid: 'cleanup-1',
  },
};
const each = Object.entries(CASES);
const phaseOf = ({ status }: BuildGiven) => (status as { readonly phase: string }).phase;

function refused({ jobOf, uid }: Case, cause: Cause): Partial<BuildSeen> {
  return { jobs: [jobOf({ createdAt: secondsAgo(10) })], refusedPods: { [uid]: cause } };
}

describe.each(each)('the Pods of %s', (_, given) => {
  const { build, jobOf, uid } = given;

  it('may take 10 s to come', () => {
    const young = [jobOf({ createdAt: secondsAgo(4) })];
    const seen = { refusedPods: {} };
    expect(settled(build, { jobs: young, ...seen })).toMatchObject({ do: 'wait', recheckMs: 6_000 });
    const ahead = [jobOf({ createdAt: secondsAgo(-3600) })];
    expect(settled(build, { jobs: ahead, ...seen })).toMatchObject({ do: 'wait', recheckMs: 10_000 });
  });

  it('are looked for again after a minute where their Job has no such Event', () => {
    const jobs = [jobOf({})];
    expect(settled(build, { jobs, refusedPods: { [`not ${uid}`]: ENFORCED } })).toMatchObject({
      do: 'wait',
      recheckMs: 60_000,
    });
  });

  it('that are refused stall it, in the words of the server', () => {
    const seen = refused(given, ENFORCED);
    const [job] = seen.jobs ?? [];
    const because = `Pods of Job ${job?.name} are refused: violates PodSecurity "baseline:latest": hostPath`;
    const message = `${because}; ${PRIVILEGED}; ${AGAIN}`;
    const first = decide({ build, ...seen });
    expect(first).toMatchObject({
      do: 'updateStatus',
      status: { phase: phaseOf(build), message },
    });
    const isReady = phaseOf(build) === 'Succeeded';
    expect(reasonsIn(first)).toEqual(stalledBy('PodsRefused', isReady ? 'True' : 'False'));
    const advice = [PRIVILEGED, AGAIN, SHOW, ...(build.deleting ? [expect.objectContaining(SKIP)] : [])];
    expect(settled(build, seen)).toEqual({
      do: 'stalled',
      reason: 'PodsRefused',
      message: because,
      advice,
      recheckMs: 60_000,
      event: { type: 'Warning', reason: 'PodsRefused', action: 'CreatePod', note: message },
    });
  });

  it('are refused no more once the Job has one', () => {
    const seen = refused(given, ENFORCED);
    const status = updated(build.status, decide({ build, ...seen }));
    const purpose = jobOf({}).purpose;
    const pods = [aPodView({ purpose, started: false })];
    const stalledBefore = { ...build, status };
    const after = decide({ ...seen, build: stalledBefore, pods });
    expect(reasonsIn(after)?.[1]).toBe('Stalled False: NotStalled');
    expect(settled(stalledBefore, { ...seen, pods })).toMatchObject({ do: 'wait' });
  });
});

describe('refused Pods of a build', () => {
  const given = CASES['a build'];
  if (given === undefined) throw new Error('there is no such case');
  const { build } = given;

  it.each([
    ['QuotaExceeded', 'raise the quota'],
    ['Refused', 'change what refuses them'],
  ] as const)('say what to do about what refuses them: %s', (code, words) => {
    const first = decide({ build, ...refused(given, refusal(code, 'no')) });
    expect(reasonsIn(first)).toEqual(stalledBy('PodsRefused'));
    expect(first).toMatchObject({ status: { message: expect.stringContaining(`refused: no; ${words}`) } });
  });

  it.each([
    ['exceeded quota: x, used: pods=5', 'exceeded quota: x, used: pods=6, cpu=2', true],
    ['denied (request a3f) "web-x"', 'denied (request b4c) "web-y"', true],
    ['denied: no owner, no limits', 'denied: no limits, no owner', true],
    ['denied: no owner', 'denied: no owner, no limits', false],
    ['denied: not ready', 'denied: notready', false],
  ])('say the same by %j as by %j: %j', (before, after, isSame) => {
    const of = (words: string) => refused(given, refusal('QuotaExceeded', words));
    const status = updated(build.status, decide({ build, ...of(before) }));
    const then = decide({ ...of(after), build: { ...build, status } });
    expect(then.do).toBe(isSame ? 'stalled' : 'updateStatus');
  });

  it('keep the time at which the Job began: a create is in progress only without it', () => {
    const pending = aBuildView({ phase: 'Pending', observedGeneration: 1 });
    expect(decide({ ...refused(given, ENFORCED), build: pending })).toMatchObject({
      status: { startTime: secondsAgo(10) },
    });
  });

  it('are no reason to forget where an earlier Job of the same name has run', () => {
    const pods = [aPodView({ jobUid: 'job-0' })];
    expect(decide({ build, ...refused(given, ENFORCED), pods })).toMatchObject({
      status: { artifacts: ON_NODE_1 },
    });
  });

  it('are why it failed, where its deadline has passed since', () => {
    const status = updated(build.status, decide({ build, ...refused(given, ENFORCED) }));
    const jobs = [aJobView({ state: 'failed', failure: 'DeadlineExceeded', endedAt: NOW })];
    expect(decide({ build: { ...build, status }, jobs })).toMatchObject({
      status: {
        phase: 'Failed',
        message: expect.stringContaining('it exceeded its deadline; before that: Pods of Job'),
      },
    });
  });
});
