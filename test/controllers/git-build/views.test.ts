import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ObjectMeta } from '../../../src/contract/object.ts';
import { failureOf, redacted } from '../../../src/controllers/git-build/failure.ts';
import { recorded } from '../../../src/controllers/git-build/status.ts';
import { buildView, jobView, podView, type JobView } from '../../../src/controllers/git-build/views.ts';
import { aBuildView, aJobView, aPodView } from '../../support/build-views.ts';
import { BUILD_DEFAULTS, SAMPLE } from '../../support/build-samples.ts';

const LABELS = {
  'app.kubernetes.io/managed-by': 'durable-operator',
  'durable-operator.dev/build-uid': 'uid-1',
  'durable-operator.dev/job': 'build',
};
const META: ObjectMeta = {
  name: 'a',
  namespace: 'shop',
  uid: 'u',
  resourceVersion: '7',
  labels: LABELS,
  annotations: { 'durable-operator.dev/binary-name': 'helloworld' },
};

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
  ])('with the labels %j is none of ours', (labels) => {
    expect(jobView(aJob([], { labels }))).toBeUndefined();
  });

  it('without its owner references is ours all the same', () => {
    expect(jobView(aJob([], { ownerReferences: [] }))).toMatchObject({ buildUid: 'uid-1' });
  });
});

const aPod = (status: object, nodeName?: string): KubernetesObject => ({
  metadata: META,
  spec: nodeName === undefined ? {} : { nodeName },
  status,
});
const waiting = (reason: string) => ({ image: 'golang:1.13', state: { waiting: { reason } } });
const terminated = (fields: object) => ({
  image: 'golang:1.13',
  state: { terminated: { exitCode: 1, ...fields } },
});

describe('a Pod', () => {
  const leftBy = (status: object, nodeName?: string) => {
    const pod = podView(aPod(status, nodeName));
    return recorded(aBuildView(), pod ? [pod] : []);
  };

  it.each<[string, object, boolean]>([
    [
      'whose image cannot be pulled',
      { phase: 'Pending', containerStatuses: [waiting('ErrImagePull')] },
      false,
    ],
    ['that is Running', { phase: 'Running' }, true],
    ['that has Succeeded', { phase: 'Succeeded' }, true],
    ['that has Failed in its container', { phase: 'Failed', containerStatuses: [terminated({})] }, true],
    [
      'that has Failed before its container ran',
      { phase: 'Failed', containerStatuses: [waiting('x')] },
      false,
    ],
    ['that has Failed without a word on its container', { phase: 'Failed', reason: 'Evicted' }, true],
    [
      'of unknown state whose container ran',
      { phase: 'Unknown', containerStatuses: [{ restartCount: 1 }] },
      true,
    ],
  ])('%s may have left its binary: %#', (_, status, started) => {
    expect(podView(aPod(status, 'node-1'))?.started).toBe(started);
    expect(leftBy(status, 'node-1')).toEqual(started ? [{ node: 'node-1', binary: 'helloworld' }] : []);
  });

  it('with a node may have started since it was read, so that its binary may be there', () => {
    expect(podView(aPod({ phase: 'Pending' }, 'node-1'))?.started).toBe(false);
    expect(leftBy({ phase: 'Pending' }, 'node-1')).toEqual([{ node: 'node-1', binary: 'helloworld' }]);
  });

  it('that is on no node has left nothing', () => {
    expect(leftBy({ phase: 'Failed' })).toEqual([]);
    expect(leftBy({ phase: 'Pending' })).toEqual([]);
  });

  it.each(['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName'])(
    'that waits because of %s says so, in words that stay the same',
    (reason) => {
      expect(podView(aPod({ phase: 'Pending', containerStatuses: [waiting(reason)] }))?.trouble).toEqual({
        kind: 'image',
        text: 'the image golang:1.13 cannot be pulled',
      });
    },
  );

  it('that no node takes says what the scheduler says', () => {
    const message = '0/3 nodes are available: 3 Insufficient cpu. preemption: none';
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }];
    expect(podView(aPod({ phase: 'Pending', conditions }))?.trouble).toEqual({
      kind: 'unschedulable',
      text: 'its Pod cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu',
    });
  });

  it.each(['ContainerCreating', 'PodInitializing'])('that waits because of %s is in no trouble', (reason) => {
    expect(
      podView(aPod({ phase: 'Pending', containerStatuses: [waiting(reason)] }))?.trouble,
    ).toBeUndefined();
  });
});

describe('what somebody else has written', () => {
  it.each(['../x', '-rf', 'a,b', '', 'x'.repeat(256)])(
    'is no binary that a Pod may have left: %j',
    (binary) => {
      const annotations = { 'durable-operator.dev/binary-name': binary };
      const pod = podView({ metadata: { ...META, annotations }, spec: { nodeName: 'n' } });
      expect(pod?.binary).toBe('');
      expect(recorded(aBuildView(), pod === undefined ? [] : [{ ...pod, started: true }])).toEqual([]);
    },
  );

  it.each(['-5', '0', '1e9', 'Infinity', '1.5', 'x', ''])('is no attempt of a cleanup: %j', (attempt) => {
    const annotations = { 'durable-operator.dev/attempt': attempt };
    expect(jobOf(aJob([], { annotations })).attempt).toBe(1);
  });
});

describe('why a Job failed', () => {
  const failed = (reason = 'BackoffLimitExceeded') =>
    jobOf(aJob([{ type: 'Failed', status: 'True', reason, message: 'it has reached its limit' }]));
  const podsOf = (...terminations: object[]) =>
    terminations.flatMap(
      (each) => podView(aPod({ phase: 'Failed', containerStatuses: [terminated(each)] }, 'node-1')) ?? [],
    );

  it('is the exit code and the last lines of its last Pod', () => {
    const pods = podsOf(
      { message: 'late\n', finishedAt: '2026-11-21T12:00:01Z', exitCode: 2 },
      { message: 'early', finishedAt: '2026-11-21T12:00:00Z' },
    );
    expect(failureOf(failed(), pods).message).toBe('Job a failed: exit code 2: late');
  });

  it('is cut between characters: half of one comes back as another, and would be written again each time', () => {
    for (const start of ['', 'x']) {
      const pods = podsOf({ message: start + '😀'.repeat(2000), exitCode: 1 });
      const { message } = failureOf(failed(), pods);
      expect(message).not.toMatch(/\p{Cs}/u);
      expect(Array.from(message).length).toBeLessThan(1010);
    }
  });

  it('is that it ran out of memory', () => {
    expect(failureOf(failed(), podsOf({ reason: 'OOMKilled', exitCode: 137 })).message).toBe(
      'Job a failed: it ran out of memory (OOMKilled)',
    );
  });

  it('is its deadline, and what kept its Pods from starting before', () => {
    expect(failureOf(failed('DeadlineExceeded'), [], 'the image x cannot be pulled').message).toBe(
      'Job a failed: it exceeded its deadline; before that: the image x cannot be pulled',
    );
  });

  it('is what the Job says where its Pods are gone', () => {
    expect(failureOf(failed(), []).message).toBe('Job a failed: it has reached its limit');
  });

  it('is short, with its end', () => {
    const { message } = failureOf(failed(), podsOf({ message: `${'x '.repeat(2000)}the end` }));
    expect(message.length).toBeLessThan(1100);
    expect(message.endsWith('the end')).toBe(true);
  });

  it('has no credentials in it', () => {
    const lines = "fatal: unable to access 'https://user:s3cret@example.com/a.git/': 403";
    const { message } = failureOf(failed(), podsOf({ message: lines }));
    expect(message).toContain("'https://example.com/a.git/'");
    const query = failureOf(failed(), podsOf({ message: "'https://h/a.git?private_token=s3cret/': 403" }));
    expect(query.message).toContain("'https://h/a.git?[redacted]': 403");
  });

  it('is short where it enters history, without what the build wrote', () => {
    const { reason } = failureOf(failed(), podsOf({ message: 'of the build', exitCode: 2 }));
    expect(reason).toBe('exit code 2');
  });
});

describe('the redaction of credentials', () => {
  it.each([
    ['https://u:s3cret@h/x', 'https://h/x'],
    ['ssh://git@h:22/y, mail@h', 'ssh://h:22/y, mail@h'],
    ['https://h/x.git?private_token=s3cret&a=s3cret', 'https://h/x.git?[redacted]'],
    ['https://u:s3cret@h/x?access_token=s3cret#s3cret is wrong', 'https://h/x?[redacted] is wrong'],
    ['git@h:x?token=s3cret', 'git@h:x?token=[redacted]'],
    ["'https://h/?s3cret': 'https://h/y?s3cret'", "'https://h/?[redacted]': 'https://h/y?[redacted]'"],
    ['is this a question? yes & no', 'is this a question? yes & no'],
  ])('makes of %j %j', (text, expected) => {
    expect(redacted(text)).toBe(expected);
  });

  /** As a kubelet keeps it: the last 2,048 bytes. */
  const messageAfter = (log: string) => {
    const lastLines = Buffer.from(log).subarray(-2048).toString();
    const termination = { exitCode: 128, reason: 'Error', lastLines };
    return failureOf(aJobView({ state: 'failed' }), [aPodView({ phase: 'failed', termination })]).message;
  };

  it('leaves none of a URL that the start of a log is cut in', () => {
    const url = 'https://ci:s3cret-ü-s3cret@git.example/x.git?token=s3cret';
    for (let cut = 0; cut <= url.length; cut += 1) {
      const rest = `${url.slice(cut)}': 403\n`;
      const log = `unable to access '${url}': 403\n${'.'.repeat(2048 - Buffer.byteLength(rest) - 4)} end`;
      expect(messageAfter(log)).not.toContain('cret');
      expect(messageAfter(log)).toMatch(/ end$/);
    }
    expect(messageAfter('x'.repeat(5000))).toBe('Job build-helloworld failed: exit code 128');
  });

  it('leaves a log that is whole as it is', () => {
    expect(messageAfter('make: no rule')).toBe('Job build-helloworld failed: exit code 128: make: no rule');
    const whole = `first ${'x'.repeat(2047 - 'first '.length)}`;
    expect(messageAfter(whole)).toContain(': first xxx');
  });
});

describe('a build', () => {
  const CONDITION = {
    type: 'Ready',
    status: 'False',
    observedGeneration: 1,
    lastTransitionTime: '2026-11-21T12:00:00Z',
    reason: 'Building',
  };

  const viewOf = (fields: object, metadata: Partial<ObjectMeta> = {}) =>
    buildView({ metadata: { ...META, ...metadata }, spec: SAMPLE, ...fields }, BUILD_DEFAULTS);

  it('whose status somebody has written by hand is read without what could do harm', () => {
    const { status } = viewOf({
      status: {
        phase: 'Wrong',
        jobName: '../x',
        message: 7,
        artifacts: [
          { node: 'n', binary: '../etc/passwd' },
          { node: 'n', binary: 'ok' },
          { node: '../n', binary: 'ok' },
          { node: 'n'.repeat(254), binary: 'ok' },
          { node: '' },
          'text',
        ],
        conditions: [
          { ...CONDITION, status: 'Maybe' },
          { ...CONDITION, type: '' },
          { ...CONDITION, reason: 'in words' },
          { ...CONDITION, lastTransitionTime: 'today' },
          null,
          { ...CONDITION, message: 7 },
          { ...CONDITION, message: 'twice' },
        ],
        observedGeneration: -1,
      },
    });
    expect(status).toEqual({
      artifacts: [{ node: 'n', binary: 'ok' }],
      conditions: [{ ...CONDITION, message: '' }],
    });
  });

  it.each(['True', 'yes', '', 'x'.repeat(1000)])(
    'is not let go without cleanup by the annotation %j',
    (value) => {
      const annotations = { 'durable-operator.dev/skip-cleanup': value };
      expect(viewOf({}, { annotations }).skipCleanup).toBe(false);
    },
  );
});
