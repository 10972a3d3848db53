import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { recorded } from '../../../src/controllers/git-build/artifacts.ts';
import { podView, type PodView } from '../../../src/controllers/git-build/views.ts';
import { aPodView, LABELS, META } from '../../support/build-views.ts';

const BUILDING = { ...META, annotations: { 'durable-operator.dev/binary-name': 'helloworld' } };
const CREATED = '2026-11-21T11:00:00Z';
const ENDED = '2026-11-21T12:00:00Z';

const aPod = (status: object, nodeName?: string): KubernetesObject => ({
  metadata: BUILDING,
  spec: nodeName === undefined ? {} : { nodeName },
  status,
});
const waiting = (reason: string) => ({ image: 'golang:1.13', state: { waiting: { reason } } });
const terminated = (fields: object) => ({
  image: 'golang:1.13',
  state: { terminated: { exitCode: 1, ...fields } },
});

describe('a Pod', () => {
  it('is read with all that decisions need of it', () => {
    const metadata = {
      name: 'pod-1',
      uid: 'pod-1',
      resourceVersion: '9',
      labels: { ...LABELS, 'batch.kubernetes.io/controller-uid': 'job-1' },
      annotations: {
        'durable-operator.dev/build-name': 'sample',
        'durable-operator.dev/spec-hash': 'f00',
        'durable-operator.dev/binary-name': 'helloworld',
      },
      creationTimestamp: CREATED,
    };
    const end = { exitCode: 2, reason: 'Error', message: 'no rule to make target', finishedAt: ENDED };
    const status = { phase: 'Failed', containerStatuses: [terminated(end)] };
    expect(podView({ metadata, spec: { nodeName: 'node-1' }, status })).toEqual(
      aPodView({
        hash: 'f00',
        phase: 'failed',
        termination: { exitCode: 2, reason: 'Error', lastLines: 'no rule to make target' },
        createdAt: CREATED,
        endedAt: ENDED,
      }),
    );
  });

  it('has little of which there is little', () => {
    expect(
      podView({ metadata: { name: 'a', uid: 'u', resourceVersion: '7', labels: LABELS } }),
    ).toStrictEqual({
      kind: 'pod',
      name: 'a',
      uid: 'u',
      buildUid: 'uid-1',
      purpose: 'build',
      jobUid: '',
      hash: '',
      binary: '',
      node: '',
      phase: 'unfinished',
      started: false,
      createdAt: '',
      endedAt: '',
    });
  });

  it.each([
    [{}],
    [{ 'durable-operator.dev/build-uid': 'uid-1' }],
    [{ 'durable-operator.dev/job': 'build' }],
    [{ ...LABELS, 'durable-operator.dev/job': 'other' }],
  ])('with the labels %j is none of ours', (labels) => {
    expect(podView({ metadata: { ...BUILDING, labels } })).toBeUndefined();
  });

  it.each<[string, PodView['phase']]>([
    ['Pending', 'unfinished'],
    ['Running', 'unfinished'],
    ['Unknown', 'unfinished'],
    ['Succeeded', 'succeeded'],
    ['Failed', 'failed'],
  ])('that is %s is %s', (phase, expected) => {
    expect(podView(aPod({ phase }))?.phase).toBe(expected);
  });

  const leftBy = (status: object, nodeName?: string) => {
    const pod = podView(aPod(status, nodeName));
    return recorded({ status: {} }, pod ? [pod] : []);
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
    [
      'of unknown state whose container runs',
      { phase: 'Unknown', containerStatuses: [{ state: { running: {} } }] },
      true,
    ],
    [
      'of unknown state whose container has ended before',
      { phase: 'Unknown', containerStatuses: [{ lastState: { terminated: { exitCode: 1 } } }] },
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
    expect(podView(aPod({ phase: 'Running' }))?.started).toBe(false);
    expect(leftBy({ phase: 'Failed' })).toEqual([]);
    expect(leftBy({ phase: 'Pending' })).toEqual([]);
  });

  const troubleOf = (status: object) => podView(aPod({ phase: 'Pending', ...status }))?.trouble;

  it('that cannot start says why, until it has ended', () => {
    const containerStatuses = [waiting('ErrImagePull')];
    const trouble = { code: 'ImageNotPulled', text: 'cannot pull the image golang:1.13' };
    expect(troubleOf({ containerStatuses })).toEqual(trouble);
    expect(troubleOf({ containerStatuses, phase: 'Failed' })).toBeUndefined();
  });

  const terminationOf = (status: object) => podView(aPod(status))?.termination;

  it.each<[string, object, object]>([
    [
      'by the kubelet before its container ended',
      { reason: 'DeadlineExceeded', message: 'Pod was active too long', containerStatuses: [waiting('x')] },
      { reason: 'DeadlineExceeded', lastLines: 'Pod was active too long' },
    ],
    ['without a message', { reason: 'Evicted' }, { reason: 'Evicted', lastLines: '' }],
    ['without a reason', { message: 'The node is gone' }, { reason: '', lastLines: 'The node is gone' }],
  ])('that was ended %s has no exit code, but the words of its status', (_, status, words) => {
    expect(terminationOf({ phase: 'Failed', ...status })).toEqual({ exitCode: -1, ...words });
  });

  it('whose container said nothing as it ended has its exit code', () => {
    const status = { phase: 'Failed', containerStatuses: [terminated({ exitCode: 137 })] };
    expect(terminationOf(status)).toEqual({ exitCode: 137, reason: '', lastLines: '' });
  });

  it.each<[string, object]>([
    ['that says nothing of its end', { phase: 'Failed' }],
    ['that has succeeded', { phase: 'Succeeded', containerStatuses: [terminated({ exitCode: 0 })] }],
    ['that still runs', { phase: 'Running', reason: 'NodeLost', message: 'of its node' }],
  ])('%s has not ended badly', (_, status) => {
    expect(terminationOf(status)).toBeUndefined();
  });
});
