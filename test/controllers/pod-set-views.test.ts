import { describe, expect, it } from '@jest/globals';
import { definedController } from '../../src/engine/defined-controller.ts';
import { podSet as definition } from '../../src/controllers/pod-set/controller.ts';
import { podOfSet, type PodLife } from '../../src/controllers/pod-set/pod.ts';
import { aPodOf, aPodSet, NOW_MS } from '../support/pod-sets.ts';

const pod = aPodOf(aPodSet(), 'a');
const CONTROLLER = {
  apiVersion: 'batch.tutorial.kubebuilder.io/v1',
  kind: 'PodSet',
  name: 'web',
  uid: 'uid-of-web',
  controller: true,
};
const OTHER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-of-c' };

describe('what is kept of a Pod', () => {
  it('is what decisions and writes need', () => {
    expect(pod.restarted(2).costing('7').view).toEqual({
      name: 'a',
      uid: 'uid-of-a',
      resourceVersion: '1',
      controllerUid: 'uid-of-web',
      life: 'running',
      createdAtMs: NOW_MS - 3_600_000,
      readySinceMs: NOW_MS - 3_600_000,
      node: 'node-of-a',
      deletionCost: 7,
      restarts: 2,
      sidecarRestarts: 0,
    });
  });

  it.each<[phase: string, life: PodLife]>([
    ['Pending', 'pending'],
    ['Running', 'running'],
    ['Failed', 'finished'],
    ['Succeeded', 'finished'],
    ['Unknown', 'unknown'],
    ['Odd', 'unknown'],
  ])('is how far it is: %s', (phase, life) => {
    expect(pod.inPhase(phase).view.life).toBe(life);
    expect(pod.inPhase(phase).beingDeleted().view.life).toBe('being deleted');
  });

  it('is little of one that has little', () => {
    const metadata = { name: 'a', uid: 'u', resourceVersion: '1' };
    expect(podOfSet({ metadata })).toEqual({
      ...metadata,
      controllerUid: undefined,
      life: 'pending',
      createdAtMs: 0,
      readySinceMs: undefined,
      unready: { sinceMs: 0 },
      node: '',
      deletionCost: 0,
      restarts: 0,
      sidecarRestarts: 0,
    });
  });

  it('is whether it has owners besides its controller', () => {
    expect(pod.controllerReference(OTHER, CONTROLLER).view).toMatchObject({
      controllerUid: 'uid-of-web',
      hasOtherOwners: true,
    });
    expect(pod.controllerReference(CONTROLLER).view).not.toHaveProperty('hasOtherOwners');
  });

  it('is the most that any container, and any sidecar, was restarted', () => {
    const containerStatuses = [{ restartCount: 1 }, { restartCount: 3 }, {}];
    const initContainers = [
      { name: 'first', restartPolicy: 'Always' },
      { name: 'second', restartPolicy: 'Always' },
      { name: 'setup' },
    ];
    const initContainerStatuses = [
      { name: 'first', restartCount: 2 },
      { name: 'second', restartCount: 4 },
      { name: 'setup', restartCount: 9 },
    ];
    const status = { containerStatuses, initContainerStatuses };
    const object = { ...pod.object, spec: { initContainers }, status };
    expect(podOfSet(object)).toMatchObject({ restarts: 3, sidecarRestarts: 4 });
    expect(podOfSet({ ...object, spec: {} })).toMatchObject({ sidecarRestarts: 0 });
  });

  it.each([
    [
      'is not Ready',
      [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }],
      undefined,
    ],
    ['has another condition', [{ type: 'Initialized', status: 'True' }], undefined],
    ['is Ready since nobody knows when', [{ type: 'Ready', status: 'True', lastTransitionTime: null }], 0],
    [
      'is Ready among others',
      [
        { type: 'Odd', status: 'False' },
        { type: 'Ready', status: 'True' },
      ],
      0,
    ],
  ])('is since when it is Ready: it %s', (_, conditions, readySinceMs) => {
    expect(podOfSet({ ...pod.object, status: { conditions } })?.readySinceMs).toBe(readySinceMs);
  });

  it('is since when it is not Ready: by that condition, from when it found a node, or from its creation', () => {
    const unready = (...conditions: readonly object[]) =>
      podOfSet({ ...pod.createdAgo(90).object, status: { conditions } })?.unready;
    const ready = { type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T11:59:50Z' };
    const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T11:59:40Z' };
    expect(unready(scheduled, ready)).toEqual({ sinceMs: NOW_MS - 10_000 });
    expect(unready(scheduled)).toEqual({ sinceMs: NOW_MS - 20_000 });
    expect(unready()).toEqual({ sinceMs: NOW_MS - 90_000 });
    expect([pod.view, pod.failed().view, pod.notReady().beingDeleted().view]).toEqual(
      [{}, {}, {}].map(() => expect.not.objectContaining({ unready: expect.anything() })),
    );
  });

  it.each([
    ['spec', null],
    ['spec', 'x'],
    ['status', null],
    ['status', 1],
  ])('is nothing where its %s is %s', (field, value) => {
    expect(podOfSet({ ...pod.object, [field]: value })).toBeUndefined();
  });
});

describe('the PodSet of a Pod', () => {
  const [watched] = definedController(definition).children;
  const { metadata } = pod.object;

  it('is the one that its label names, among all with the labels of any', () => {
    expect(watched?.labelSelector).toBe('version=v0.1,app');
    expect(watched?.ownerKey(pod.object)).toBe('default/web');
    const unlabelled = { ...pod.object, metadata: { ...metadata, labels: { version: 'v0.1' } } };
    expect(watched?.ownerKey(unlabelled)).toBeUndefined();
  });
});

describe('what is kept of a PodSet', () => {
  const ready = {
    type: 'Ready',
    status: 'True',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'PodsReady',
    message: 'm',
  } as const;

  it('is what decisions need', () => {
    expect(aPodSet().view.resource).toEqual({
      metadata: { namespace: 'default', name: 'web', uid: 'uid-of-web', resourceVersion: '1' },
      isBeingDeleted: false,
      view: { generation: 1, replicas: 1, podNames: [], readyReplicas: 0 },
    });
    const podSet = aPodSet()
      .annotated({ 'durable-operator.dev/reconcile-requested-at': '2026-01-01T12:00:00Z' })
      .withStatus({ podNames: ['a'], readyReplicas: 1 })
      .withCondition(ready);
    expect(podSet.view.resource?.view).toMatchObject({
      podNames: ['a'],
      readyReplicas: 1,
      ready: { reason: 'PodsReady', message: 'm' },
      requestedMs: NOW_MS,
    });
  });

  it('is why it is invalid', () => {
    const invalid = 'spec.replicas: Too small: expected number to be >=0';
    expect(aPodSet().wanting(-1).view.resource).toMatchObject({ view: undefined, invalid });
  });
});
