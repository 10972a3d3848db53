import { describe, expect, it } from '@jest/globals';
import { podSetNameOf, podView, type PodLife } from '../../src/controllers/pod-set/pod.ts';
import { podSetView } from '../../src/controllers/pod-set/resource.ts';
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
      matches: true,
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
    expect(podView({ metadata }, 'web')).toEqual({
      ...metadata,
      controllerUid: undefined,
      matches: false,
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
    expect(podView(object, 'web')).toMatchObject({ restarts: 3, sidecarRestarts: 4 });
    expect(podView({ ...object, spec: {} }, 'web')).toMatchObject({ sidecarRestarts: 0 });
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
    expect(podView({ ...pod.object, status: { conditions } }, 'web')?.readySinceMs).toBe(readySinceMs);
  });

  it('is since when it is not Ready: by that condition, from when it found a node, or from its creation', () => {
    const unready = (...conditions: readonly object[]) =>
      podView({ ...pod.createdAgo(90).object, status: { conditions } }, 'web')?.unready;
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
    expect(podView({ ...pod.object, [field]: value }, 'web')).toBeUndefined();
  });
});

describe('the PodSet of a Pod', () => {
  const { metadata } = pod.object;

  it.each<[what: string, name: string | undefined, fields: object]>([
    ['that has the label and that controller', 'web', {}],
    [
      'that has the label and no controller',
      'web',
      { ownerReferences: [{ ...CONTROLLER, controller: false }] },
    ],
    ['that has no label', undefined, { labels: { version: 'v0.1' } }],
    ['that has no labels', undefined, { labels: undefined }],
    ['that has neither labels nor a controller', undefined, { labels: undefined, ownerReferences: [] }],
    ['of a PodSet of another name', undefined, { ownerReferences: [{ ...CONTROLLER, name: 'db' }] }],
    ['of another kind of that name', undefined, { ownerReferences: [{ ...CONTROLLER, kind: 'Job' }] }],
    [
      'of a PodSet of another group',
      undefined,
      { ownerReferences: [{ ...CONTROLLER, apiVersion: 'other.io/v1' }] },
    ],
  ])('%s', (_, name, fields) => {
    expect(podSetNameOf({ ...metadata, ...fields })).toBe(name);
  });
});

describe('what is kept of a PodSet', () => {
  it('is what decisions need, where nothing is missing or malformed', () => {
    expect(aPodSet().view).toEqual({
      namespace: 'default',
      name: 'web',
      uid: 'uid-of-web',
      resourceVersion: '1',
      generation: 1,
      isBeingDeleted: false,
      spec: { replicas: 1 },
      status: { podNames: [], conditions: [] },
      control: {
        uid: 'uid-of-web',
        namespace: 'default',
        isBeingDeleted: false,
        isPaused: false,
        isApprovalRequired: false,
        problems: [],
        reported: { resourceVersion: '1', generation: 1, conditions: [] },
      },
    });
    const { metadata } = aPodSet().object;
    const { name, uid, resourceVersion } = metadata;
    expect(podSetView({ metadata: { name, uid, resourceVersion } })).toMatchObject({
      namespace: '',
      generation: 0,
    });
  });

  it('is why it is invalid, which names it', () => {
    expect(aPodSet().wanting(-1).view.spec).toEqual({
      invalid: 'spec.replicas is -1, but must be an integer from 0 to 2147483647',
    });
    const longest = 'n'.repeat(63);
    expect(aPodSet().named(longest).view.spec).toEqual({ replicas: 1 });
    expect(aPodSet().named(`${longest}n`).view.spec).toEqual({
      invalid: 'the name has 64 characters, but at most 63 are allowed, because it is the value of a label',
    });
  });
});
