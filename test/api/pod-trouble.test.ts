import { describe, expect, it } from '@jest/globals';
import { podTrouble, troubleIn } from '../../src/api/pod-trouble.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { aPodOf, aPodSet } from '../support/pod-sets.ts';

const pod = aPodOf(aPodSet());
const waiting = (reason: string, more: object = {}) => ({ state: { waiting: { reason, ...more } } });
const ended = (exitCode: number, reason: string) => ({ terminated: { exitCode, reason } });
const troubleOf = (container: object) => troubleIn(pod.withContainer(container).object);
const scheduling = (words: string) => troubleIn(pod.unschedulable(words).object)?.text;

describe('the trouble of a Pod', () => {
  it.each<[code: string | undefined, text: string | undefined, container: object]>([
    ['ImageNotPulled', 'cannot pull the image busybox', waiting('ErrImagePull', { message: 'i/o timeout' })],
    ['ImageNotPulled', 'cannot pull the image busybox', waiting('ImagePullBackOff', { message: 'Back-off' })],
    ['ImageNotPulled', 'cannot pull the image B:x', { image: 'B:x', ...waiting('InvalidImageName') }],
    [
      'ContainerCannotStart',
      'cannot start the container busybox: CreateContainerConfigError: secret "x" not found',
      waiting('CreateContainerConfigError', { message: 'secret "x" not found' }),
    ],
    [
      'ContainerCannotStart',
      'cannot start the container busybox: RunContainerError',
      waiting('RunContainerError', { message: 'container 0a1b' }),
    ],
    [
      'ContainerCannotStart',
      'cannot start the container busybox: RunContainerError',
      { ...waiting('CrashLoopBackOff'), lastState: ended(128, 'StartError') },
    ],
    [
      'CrashLooping',
      'cannot keep the container busybox running: it ended with exit code 137 (OOMKilled)',
      { ...waiting('CrashLoopBackOff'), lastState: ended(137, 'OOMKilled') },
    ],
    [
      'CrashLooping',
      'cannot keep the container busybox running: it ended with exit code 1 (Error)',
      { state: ended(1, 'Error'), restartCount: 1 },
    ],
    [undefined, undefined, { state: ended(1, 'Error') }],
    [undefined, undefined, { state: ended(0, 'Completed'), restartCount: 1 }],
    [undefined, undefined, waiting('ContainerCreating')],
    [undefined, undefined, { state: { running: {} }, lastState: ended(1, 'Error'), restartCount: 1 }],
  ])('is %s: %s', (code, text, container) => {
    expect(troubleOf(container)).toEqual(code && { code, text });
  });

  it('is that of an init container, too', () => {
    const { containerStatuses } = pod.withContainer(waiting('ErrImagePull')).object.status ?? {};
    const status = { initContainerStatuses: containerStatuses };
    expect(troubleIn({ ...pod.object, status })?.code).toBe('ImageNotPulled');
  });

  it('is that no node suits it, in the same words however many nodes there are', () => {
    const few = '0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu.';
    const many = '0/30 nodes are available: 20 node(s) had untolerated taint {a: b}, 10 Insufficient cpu.';
    const words =
      'cannot be scheduled: no node is suitable: Insufficient cpu, node(s) had untolerated taint {a: b}';
    expect(scheduling(few)).toBe(words);
    expect(scheduling(`${many} preemption: 0/30 nodes are available: 30 No preemption victims.`)).toBe(words);
    expect(scheduling('no nodes available to schedule pods')).toBe(
      'cannot be scheduled: no nodes available to schedule pods',
    );
  });

  it('is a gate that keeps it from being scheduled, by its name', () => {
    expect(troubleIn(pod.gated('example.com/quota').object)).toMatchObject({
      code: 'SchedulingGated',
      text: expect.stringContaining('example.com/quota'),
    });
  });

  it('is none of a Pod that was scheduled', () => {
    expect(troubleIn(pod.object)).toBeUndefined();
  });

  it('is short, whatever its status says', () => {
    expect(scheduling('x'.repeat(1_000))).toHaveLength('cannot be scheduled: '.length + 300);
  });
});

describe('what authors are told of a Pod', () => {
  const hanging = pod.withContainer(waiting('ImagePullBackOff')).object;
  const { name, namespace } = hanging.metadata;
  const node = (status: string) => {
    const conditions = [{ type: 'Ready', status, lastTransitionTime: '2026-01-01T00:00:00Z' }];
    return { metadata: { ...hanging.metadata, name: 'n1' }, status: { conditions } };
  };

  it('names it, and says what to do', () => {
    expect(podTrouble(hanging)).toMatchObject({
      reason: 'ImageNotPulled',
      message: `Pod ${name} cannot pull the image busybox`,
      advice: [expect.stringContaining('image'), { run: `kubectl describe pod ${name} -n ${namespace}` }],
    });
  });

  it('is about its node where nothing else is wrong with it, and the node is not ready', () => {
    const starting = pod.pending().object;
    expect(podTrouble(starting, { node: node('Unknown') })).toMatchObject({
      reason: 'NodeNotReady',
      message: `Pod ${name} is on node n1, which is not ready since 2026-01-01T00:00:00Z`,
      advice: [{ run: 'kubectl describe node n1' }, expect.anything()],
    });
    expect(podTrouble(starting, { node: node('True') })).toBeUndefined();
    expect(podTrouble(hanging, { node: node('Unknown') })?.reason).toBe('ImageNotPulled');
  });

  it('is nothing of one that is Ready, has finished, or is being deleted', () => {
    const { status } = fieldsIn(hanging);
    const conditions = [{ type: 'Ready', status: 'True' }];
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(podTrouble({ ...hanging, status: { ...status, conditions } })).toBeUndefined();
    expect(podTrouble({ ...hanging, status: { ...status, phase: 'Failed' } })).toBeUndefined();
    expect(podTrouble({ ...hanging, metadata: { ...hanging.metadata, deletionTimestamp } })).toBeUndefined();
  });
});

function fieldsIn({ status }: KubernetesObject) {
  return { status: status as object };
}
