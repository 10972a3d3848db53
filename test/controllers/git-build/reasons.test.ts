import { describe, expect, it } from '@jest/globals';
import { listed, recorded, united, without } from '../../../src/controllers/git-build/artifacts.ts';
import {
  BUILDING,
  BUILT,
  decide,
  inProgress,
  INVALID,
  NOW,
  ON_NODE_1,
  reasonsIn,
  settled,
  stalledBy,
  START,
  TROUBLED,
} from '../../support/build-decisions.ts';
import { aBuildView, aCleanupView, aJobView, aPodView, type BuildSeen } from '../../support/build-views.ts';
import { checkSpec } from '../../../src/controllers/git-build/spec.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../../support/build-samples.ts';

const old = aJobView({ hash: 'old', uid: 'job-0' });
const succeeded = aJobView({ state: 'succeeded', endedAt: NOW });
const failed = aJobView({ state: 'failed', failureMessage: 'too often', endedAt: NOW });
const succeededPod = aPodView({ phase: 'succeeded', endedAt: NOW });
const built = aBuildView({ phase: 'Succeeded', observedGeneration: 1, artifacts: ON_NODE_1 });

/** History keeps it, and the Temporal UI shows it beside each step. */
describe('the reason of a decision', () => {
  const reasonOf = (decision: ReturnType<typeof settled>) => decision['because'] ?? decision['for'];

  it.each<[because: string, decision: () => ReturnType<typeof settled>]>([
    [
      'what is made for this resource has to be removed before it',
      () => settled(aBuildView({}, { finalizers: [] }), {}),
    ],
    ['no Job builds this spec', () => settled(aBuildView(), {})],
    ['the spec has changed, or its Job is being deleted', () => settled(aBuildView(), { jobs: [old] })],
    ['the spec is no longer valid', () => settled(aBuildView({}, { spec: INVALID }), { jobs: [old] })],
    ['helloworld is built', () => settled(built, {})],
    ['Job shop/build-helloworld to end', () => settled(aBuildView(), { jobs: [aJobView()] })],
    ['helloworld is built', () => settled(aBuildView(), { jobs: [succeeded] })],
    [
      'the Pods of an earlier Job to end',
      () => settled(aBuildView(BUILDING), { jobs: [succeeded], pods: [succeededPod, aPodView()] }),
    ],
    ['Pods without their Job to end', () => settled(aBuildView(), { pods: [aPodView({ hash: 'old' })] })],
    [
      'Job shop/build-helloworld and its Pods to be deleted',
      () => settled(aBuildView(), { jobs: [{ ...old, deleting: true }] }),
    ],
  ])('is: %s', (because, decision) => {
    expect(reasonOf(decision())).toBe(because);
  });
});

describe('a report', () => {
  it('of an invalid spec is Failed, with an Event that says what is wrong', () => {
    const build = aBuildView({ artifacts: ON_NODE_1 }, { spec: INVALID });
    const first = decide({ build });
    const check = checkSpec(INVALID, BUILD_DEFAULTS);
    const message = check.ok ? '' : check.problems.join('; ');
    expect(first).toMatchObject({ status: { phase: 'Failed', message, artifacts: ON_NODE_1 } });
    expect(reasonsIn(first)).toEqual(stalledBy('InvalidSpec'));
    expect(settled(build, {})).toEqual({
      do: 'stalled',
      reason: 'InvalidSpec',
      message: message,
      advice: [{ run: 'kubectl edit xxx sample -n shop', to: 'correct the spec; that is noticed at once' }],
      event: { type: 'Warning', reason: 'InvalidSpec', action: 'Validate', note: message },
    });
  });

  it('of a success is Ready, from the start of its Job to its end', () => {
    const first = decide({ jobs: [succeeded], pods: [succeededPod] });
    expect(first).toMatchObject({
      status: { phase: 'Succeeded', message: '', startTime: START, completionTime: NOW },
      event: {
        type: 'Normal',
        reason: 'BuildSucceeded',
        action: 'Build',
        note: 'Job build-helloworld built helloworld: helloworld on node-1',
      },
    });
    expect(reasonsIn(first)).toEqual(BUILT);
  });

  it('of a success keeps the start that it has, where no Job is left to say it', () => {
    const build = aBuildView(BUILDING);
    const first = decide({ build, pods: [succeededPod] });
    expect(first).toMatchObject({ status: { phase: 'Succeeded', startTime: START } });
  });

  it.each([
    ['a success', succeeded],
    ['a failure', failed],
  ])('of %s whose end is not known is dated now', (_, job) => {
    expect(decide({ jobs: [{ ...job, endedAt: '' }] })).toMatchObject({ status: { completionTime: NOW } });
    const endedAt = '2026-11-21T11:30:00Z';
    expect(decide({ jobs: [{ ...job, endedAt }] })).toMatchObject({ status: { completionTime: endedAt } });
  });

  it('of a failure is Stalled, and then says how to go on', () => {
    const first = decide({ jobs: [failed] });
    const note = 'Job build-helloworld failed: too often';
    expect(first).toMatchObject({
      status: { phase: 'Failed', message: note, startTime: START, completionTime: NOW },
      event: { type: 'Warning', reason: 'BuildFailed', action: 'Build', note },
    });
    expect(reasonsIn(first)).toEqual(stalledBy('BuildFailed'));
    expect(settled(aBuildView(), { jobs: [failed] })).toMatchObject({
      do: 'stalled',
      reason: 'BuildFailed',
      message: 'Job build-helloworld failed: too often',
    });
  });

  it('of a running Job has its start, and no end', () => {
    const first = decide({ build: aBuildView({ completionTime: NOW }), jobs: [aJobView()] });
    expect(first).toMatchObject({
      status: { phase: 'Building', startTime: START, completionTime: null, message: '' },
    });
    expect(reasonsIn(first)).toEqual(inProgress('Building'));
  });

  it('of a Job that is gone has neither start nor end', () => {
    const first = decide({ build: aBuildView({ ...BUILDING, message: 'odd' }), pods: [] });
    expect(first).toMatchObject({
      status: { phase: 'Pending', startTime: null, completionTime: null, artifacts: [], message: '' },
    });
    expect(reasonsIn(first)).toEqual(inProgress('Pending'));
  });

  it('says the Job, the binary and the run that it is of', () => {
    expect(decide({ jobs: [aJobView()] })).toMatchObject({
      resourceVersion: '7',
      status: {
        observedGeneration: 1,
        workflowId: 'git-build/shop/sample/uid-1',
        jobName: 'build-helloworld',
        binaryName: 'helloworld',
      },
    });
    const invalid = decide({ build: aBuildView({}, { spec: INVALID }) });
    expect(invalid).toMatchObject({ status: { jobName: null } });
  });
});

describe('a Job that goes', () => {
  const replacing = { ...old, name: 'build-old' };

  it('is deleted with its Pods, and the Event says why', () => {
    expect(settled(aBuildView(), { jobs: [replacing] })).toMatchObject({
      do: 'deleteJob',
      data: { name: 'build-old', propagation: 'Foreground', isReplaced: true },
      deletes: { what: 'Job', count: 1, objects: expect.any(Function) },
      because: 'the spec has changed, or its Job is being deleted',
    });
  });

  it('is in the status by its name, once', () => {
    const jobs = [replacing, { ...replacing, uid: 'job-9' }, { ...old, name: 'build-older' }];
    const first = decide({ jobs });
    expect(first).toMatchObject({
      status: {
        phase: 'Pending',
        message: 'Job build-old, build-older is being deleted',
        startTime: null,
        completionTime: null,
      },
    });
    expect(reasonsIn(first)).toEqual(inProgress('Pending'));
  });

  it('is not waited for as long as another has to be deleted', () => {
    const jobs = [
      { ...replacing, deleting: true },
      { ...old, uid: 'job-9' },
    ];
    expect(settled(aBuildView(), { jobs })).toMatchObject({ do: 'deleteJob', data: { uid: 'job-9' } });
  });

  it('leaves Pods that the status names, with what to do about them', () => {
    const pods = [aPodView({ hash: 'old' }), aPodView({ hash: 'old', name: 'pod-2', uid: 'pod-2' })];
    expect(decide({ pods })).toMatchObject({
      status: {
        message:
          'Pods are still running without their Job: pod-1, pod-2; delete them, or wait for their deadline',
      },
    });
  });

  it.each<[string, Partial<BuildSeen>]>([
    ['of another name', { jobs: [aJobView({ name: 'build-other' })] }],
    ['of another spec', { jobs: [aJobView({ hash: 'old' })] }],
    ['that is being deleted', { jobs: [aJobView({ deleting: true })] }],
    ['that cleans up while nothing is built', { jobs: [aCleanupView({ state: 'failed' })] }],
    ['that cleans up while the build runs', { jobs: [aJobView(), aCleanupView()] }],
  ])('is one %s', (_, fields) => {
    const { status } = decide(fields) as { readonly status?: { readonly message?: string } };
    expect(status?.message).toMatch(/ is being deleted$/);
  });

  it.each<[string, Partial<BuildSeen>, does: string]>([
    ['has ended its cleanup', { jobs: [aJobView(), aCleanupView({ state: 'failed' })] }, 'wait'],
    ['is its own', { jobs: [aJobView()] }, 'wait'],
    [
      'has Pods of another spec that have ended',
      { pods: [aPodView({ hash: 'old', phase: 'failed' })] },
      'createJob',
    ],
    ['has a Pod that cleans up', { pods: [aPodView({ hash: 'old', purpose: 'cleanup' })] }, 'createJob'],
  ])('is none where the build %s', (_, fields, does) => {
    expect(settled(aBuildView(), fields).do).toBe(does);
  });

  it('is of an invalid spec only where it is active, or being deleted', () => {
    const build = aBuildView({}, { spec: INVALID });
    const does = (fields: Partial<BuildSeen>) => settled(build, fields).do;
    expect(does({ jobs: [succeeded] })).toBe('stalled');
    expect(does({ jobs: [aCleanupView()] })).toBe('stalled');
    expect(does({ jobs: [{ ...succeeded, deleting: true }] })).toBe('wait');
    expect(does({ pods: [aPodView()] })).toBe('wait');
    expect(does({ pods: [aPodView({ phase: 'failed' })] })).toBe('stalled');
    expect(does({ jobs: [aJobView()] })).toBe('deleteJob');
  });
});

describe('a Job that cannot be created', () => {
  const jobName = SAMPLE.jobName;

  it('because its name is taken is reported, and looked up again', () => {
    const names = { [jobName]: 'foreign' } as const;
    const message = `Job shop/${jobName} does not belong to this resource, so it is left alone; change spec.jobName, or delete that Job`;
    const first = decide({ names });
    expect(first).toMatchObject({
      status: { phase: 'Pending', message },
    });
    expect(reasonsIn(first)).toEqual(stalledBy('JobNameTaken'));
    expect(settled(aBuildView(), { names })).toEqual({
      do: 'stalled',
      reason: 'JobNameTaken',
      message: `Job shop/${jobName} does not belong to this resource, so it is left alone`,
      advice: [
        'change spec.jobName, or delete that Job',
        { run: `kubectl get job ${jobName} -n shop -o yaml`, to: 'see whose Job has the name' },
        { run: `kubectl delete job ${jobName} -n shop`, to: 'delete that Job' },
      ],
      recheckMs: 60_000,
      event: { type: 'Warning', reason: 'JobNameTaken', action: 'CreateJob', note: message },
    });
  });

  it('because an earlier resource of the name has left one waits until that is gone', () => {
    const left = aJobView({ buildUid: 'uid-0', uid: 'job-0' });
    expect(settled(aBuildView(), { names: { [jobName]: left } })).toMatchObject({
      do: 'deleteJob',
      data: { uid: 'job-0', propagation: 'Foreground', resourceVersion: left.resourceVersion },
      because: 'an earlier resource of the same name left it behind',
    });
    expect(settled(aBuildView(), { names: { [jobName]: { ...left, deleting: true } } })).toMatchObject({
      do: 'wait',
      for: `Job ${jobName} of an earlier resource of this name to be deleted`,
      recheckMs: 2_000,
      cause: { reason: 'JobNameTaken' },
    });
  });

  it('is created where the name is free, or its own', () => {
    expect(settled(aBuildView(), { names: { [jobName]: 'free' } }).do).toBe('createJob');
    expect(settled(aBuildView(), { names: { [jobName]: aJobView() } }).do).toBe('createJob');
  });

  it('because its namespace goes waits for that', () => {
    expect(settled(aBuildView(), { namespace: 'terminating' })).toMatchObject({
      do: 'wait',
      for: 'namespace shop to be deleted; it accepts no new Jobs',
      recheckMs: 60_000,
    });
    expect(settled(aBuildView(), { namespace: 'there' })).toMatchObject({ do: 'createJob' });
  });
});

describe('what keeps Pods from starting', () => {
  it('is said once for each, in an order of its own, of the Pods of that purpose', () => {
    const troubled = (text: string, fields = {}) =>
      aPodView({ started: false, trouble: { code: 'ContainerCannotStart', text }, ...fields });
    const pods = [
      troubled('b'),
      troubled('a'),
      troubled('b'),
      troubled('of a cleanup', { purpose: 'cleanup' }),
      aPodView({ started: false }),
    ];
    expect(decide({ jobs: [aJobView()], pods })).toMatchObject({
      status: { message: 'its Pod a; its Pod b' },
    });
  });

  it('that was reported in another phase is not that of this Job', () => {
    const build = aBuildView({ phase: 'Pending', message: 'Job old is being deleted' });
    expect(decide({ build, jobs: [aJobView()] })).toMatchObject({ status: { message: '' } });
  });

  it('is still known where only a Pod of a cleanup has started', () => {
    const build = aBuildView(TROUBLED);
    const pods = [aPodView({ purpose: 'cleanup' })];
    expect(settled(build, { jobs: [aJobView()], pods })).toMatchObject({ do: 'wait' });
    expect(decide({ build, jobs: [aJobView()], pods })).toMatchObject({
      status: { message: 'the image x cannot be pulled' },
    });
  });
});

describe('a success by a Pod', () => {
  it.each([
    ['of a cleanup', { purpose: 'cleanup' }],
    ['that has failed', { phase: 'failed' }],
    ['of another spec', { hash: 'old' }],
    ['created before the Job that the status is about', { createdAt: '2026-11-21T10:59:59Z' }],
  ] as const)('is none %s', (_, fields) => {
    const pods = [aPodView({ phase: 'succeeded', ...fields })];
    const step = decide({ build: aBuildView(BUILDING), pods });
    expect(step).not.toMatchObject({ status: { phase: 'Succeeded' } });
  });

  it('counts where it was created with the Job, and not where the status is of no Job', () => {
    const pods = [aPodView({ phase: 'succeeded', createdAt: START })];
    expect(decide({ build: aBuildView(BUILDING), pods })).toMatchObject({ status: { phase: 'Succeeded' } });
    const { startTime, ...unstarted } = BUILDING;
    expect(startTime).toBe(START);
    for (const status of [
      unstarted,
      { ...BUILDING, phase: 'Pending' } as const,
      { ...BUILDING, observedGeneration: 0 },
    ])
      expect(decide({ build: aBuildView(status), pods })).not.toMatchObject({
        status: { phase: 'Succeeded' },
      });
  });
});

describe('where binaries are', () => {
  const at = (node: string, binary = 'b') => ({ node, binary });

  it('is each once, in an order of its own', () => {
    expect(united([at('2'), at('1', 'z')], [at('1'), at('3'), at('1'), at('2')])).toEqual([
      at('1'),
      at('1', 'z'),
      at('2'),
      at('3'),
    ]);
    const some = [at('2'), at('1')];
    expect(united(some, [at('1')])).toBe(some);
    expect(without([at('1'), at('1', 'z'), at('2')], [at('1'), at('2', 'z')])).toEqual([
      at('1', 'z'),
      at('2'),
    ]);
  });

  it('is said by binary', () => {
    expect(listed([at('1'), at('2'), at('1', 'c')])).toBe('b on 1, 2; c on 1');
  });

  it.each([
    ['has started', {}, true],
    ['has failed', { phase: 'failed' }, true],
    ['may start', { started: false }, true],
    ['cannot start', { started: false, trouble: { code: 'ImageNotPulled', text: 'no' } }, false],
    ['has ended without a start', { started: false, phase: 'failed' }, false],
    ['has no node', { node: '' }, false],
    ['has no binary', { binary: '' }, false],
    ['cleans up', { purpose: 'cleanup' }, false],
  ] as const)('is where a Pod ran, or may run: it %s', (_, fields, isThere) => {
    expect(recorded({ status: {} }, [aPodView(fields)])).toEqual(isThere ? ON_NODE_1 : []);
  });
});
