import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ObjectMeta } from '../../../src/api/object.ts';
import { gitBuild } from '../../../src/controllers/git-build/controller.ts';
import { listedBuildView } from '../../../src/controllers/git-build/facts.ts';
import { definedController } from '../../../src/engine/defined-controller.ts';
import { jobView, type JobView } from '../../../src/controllers/git-build/views.ts';
import { aJobView, FINALIZER, LABELS, META } from '../../support/build-views.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../../support/build-samples.ts';

const CREATED = '2026-11-21T11:00:00Z';
const ENDED = '2026-11-21T12:00:00Z';
const OTHER_OWNER = { apiVersion: 'test.inspur.com/v1alpha1', kind: 'Xxx', name: 'other', uid: 'uid-0' };
/** Of an object of which there is little. */
const BARE = { name: 'a', uid: 'u', resourceVersion: '7' };

const aJob = (conditions: readonly object[], metadata: Partial<ObjectMeta> = {}): KubernetesObject => ({
  metadata: { ...META, ...metadata },
  status: { conditions },
});

function jobOf(object: KubernetesObject): JobView {
  const view = jobView(object);
  if (view === undefined) throw new Error('it is not ours');
  return view;
}

describe('a Job', () => {
  it('is read with all that decisions need of it', () => {
    const metadata = {
      name: 'build-helloworld',
      uid: 'job-1',
      resourceVersion: '8',
      labels: LABELS,
      annotations: { 'durable-operator.dev/build-name': 'sample', 'durable-operator.dev/spec-hash': 'f00' },
      ownerReferences: [OTHER_OWNER, { ...OTHER_OWNER, name: 'sample', uid: 'uid-1' }],
      creationTimestamp: CREATED,
    };
    const failed = {
      type: 'Failed',
      status: 'True',
      reason: 'BackoffLimitExceeded',
      message: 'of the server',
    };
    expect(jobView(aJob([{ ...failed, lastTransitionTime: ENDED }], metadata))).toEqual(
      aJobView({
        state: 'failed',
        hash: 'f00',
        createdAt: CREATED,
        endedAt: ENDED,
        failure: 'BackoffLimitExceeded',
        failureMessage: 'of the server',
      }),
    );
  });

  it('is read as what it cleans, where it is a cleanup', () => {
    const metadata = {
      labels: { ...LABELS, 'durable-operator.dev/job': 'cleanup' },
      annotations: {
        'durable-operator.dev/node': 'node-1',
        'durable-operator.dev/binaries': 'helloworld,old',
      },
      deletionTimestamp: ENDED,
    };
    const complete = { type: 'Complete', status: 'True', lastTransitionTime: ENDED };
    expect(jobOf(aJob([complete], metadata))).toMatchObject({
      purpose: 'cleanup',
      node: 'node-1',
      binaries: ['helloworld', 'old'],
      state: 'succeeded',
      deleting: true,
      endedAt: ENDED,
    });
  });

  it('has little of which there is little', () => {
    expect(jobOf({ metadata: { ...BARE, labels: LABELS } })).toEqual({
      ...BARE,
      kind: 'job',
      buildUid: 'uid-1',
      buildName: '',
      owned: false,
      purpose: 'build',
      state: 'active',
      deleting: false,
      hash: '',
      node: '',
      binaries: [],
      createdAt: '',
      endedAt: '',
      failure: '',
      failureMessage: '',
    });
  });

  it.each([[[]], [[OTHER_OWNER]]])('is not owned by its build where its owners are %j', (ownerReferences) => {
    expect(jobOf(aJob([], { ownerReferences })).owned).toBe(false);
  });

  it.each<[string, readonly object[], string]>([
    ['is active without conditions', [], 'active'],
    [
      'is active while its success is only foreseen',
      [{ type: 'SuccessCriteriaMet', status: 'True' }],
      'active',
    ],
    ['is active while its failure is only foreseen', [{ type: 'FailureTarget', status: 'True' }], 'active'],
    ['is active where Complete is False', [{ type: 'Complete', status: 'False' }], 'active'],
    ['has succeeded when it is Complete', [{ type: 'Complete', status: 'True' }], 'succeeded'],
    [
      'has failed when it is Failed',
      [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded' }],
      'failed',
    ],
  ])('%s', (_, conditions, state) => {
    expect(jobOf(aJob(conditions)).state).toBe(state);
  });

  it.each([
    [{}],
    [{ ...LABELS, 'app.kubernetes.io/managed-by': 'Helm' }],
    [{ ...LABELS, 'durable-operator.dev/job': 'other' }],
    [{ 'app.kubernetes.io/managed-by': 'durable-operator' }],
    [{ 'app.kubernetes.io/managed-by': 'durable-operator', 'durable-operator.dev/job': 'build' }],
  ])('with the labels %j is none of ours', (labels) => {
    expect(jobView(aJob([], { labels }))).toBeUndefined();
  });

  it('belongs to the build that its annotation names, in its namespace', () => {
    const annotations = { 'durable-operator.dev/build-name': 'sample' };
    const [jobs] = definedController(gitBuild).children;
    const keyOf = (metadata: ObjectMeta) => jobs?.ownerKey({ metadata });
    expect(keyOf({ ...META, annotations })).toBe('shop/sample');
    expect(keyOf(META)).toBeUndefined();
    expect(keyOf(BARE)).toBeUndefined();
  });
});

describe('a build', () => {
  const viewOf = (fields: object, metadata: Partial<ObjectMeta> = {}) =>
    listedBuildView({ metadata: { ...META, ...metadata }, spec: SAMPLE, ...fields }, BUILD_DEFAULTS);

  it('is read with its spec, all of its status and what was asked of it', () => {
    const status = {
      phase: 'Cleaning',
      jobName: 'build-helloworld',
      binaryName: 'helloworld',
      artifacts: [{ node: 'node-1', binary: 'helloworld' }],
      startTime: CREATED,
      completionTime: ENDED,
      message: 'the binary is being removed',
      observedGeneration: 3,
      workflowId: 'xxx/shop/sample',
    };
    const metadata = {
      name: 'sample',
      uid: 'uid-1',
      generation: 3,
      annotations: { 'durable-operator.dev/skip-cleanup': 'true' },
      finalizers: ['example.com/other', FINALIZER],
      deletionTimestamp: ENDED,
    };
    const { generation } = metadata;
    expect(viewOf({ status }, metadata)).toMatchObject({
      ...{ name: 'sample', uid: 'uid-1', generation, observedGeneration: 3, status: { phase: 'Cleaning' } },
      ...{ deleting: true, deletedAt: ENDED, skipCleanup: true, isOrphaning: false },
    });
  });

  it('has little of which there is little', () => {
    const { spec, ...view } = listedBuildView({ metadata: BARE }, BUILD_DEFAULTS);
    expect(view).toStrictEqual({
      ...{ name: 'a', uid: 'u', namespace: '', generation: 0, observedGeneration: undefined },
      ...{ deleting: false, deletedAt: '', isOrphaning: false, skipCleanup: false },
      ...{ status: {}, conditions: [] },
    });
    expect(spec.ok).toBe(false);
  });

  it('whose status somebody has written by hand is read without what could do harm', () => {
    const artifacts = [
      { node: 'n', binary: '../etc/passwd' },
      { node: 'n', binary: 'ok' },
      { node: '../n', binary: 'ok' },
      { node: 'n'.repeat(254), binary: 'ok' },
    ];
    const { status } = viewOf({ status: { jobName: '../x', artifacts } });
    expect(status).toStrictEqual({ artifacts: [{ node: 'n', binary: 'ok' }] });
  });

  it.each(['True', 'yes', '', 'x'.repeat(1000)])(
    'is not let go without cleanup by the annotation %j',
    (value) => {
      const annotations = { 'durable-operator.dev/skip-cleanup': value };
      expect(viewOf({}, { annotations }).skipCleanup).toBe(false);
    },
  );
});
