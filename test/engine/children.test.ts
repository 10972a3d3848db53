import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, DEPLOYMENTS, SERVICES } from '../../src/api/built-in.ts';
import type { ChildManifest } from '../../src/api/child.ts';
import { MANAGED_BY } from '../../src/api/kinds.ts';
import type { ResourceType } from '../../src/api/resource-type.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { decideChildren, type Blocked } from '../../src/engine/children/decide.ts';
import { ANSWERED_ANNOTATION, manifestDigest } from '../../src/engine/children/digest.ts';
import { partOf } from '../../src/engine/children/owned-fields.ts';
import { canonicalQuantity } from '../../src/engine/children/quantity.ts';
import { readinessOf } from '../../src/engine/children/readiness.ts';
import { isAsWanted, type ChildView } from '../../src/engine/children/view.ts';
import {
  hasLostOwner,
  isOwnedBy,
  childOwnerKey,
  wantedOf,
  type DeclaredType,
  type ChildOwner,
  type Wanted,
} from '../../src/engine/children/wanted.ts';

const WEBSITES = {
  group: 'example.com',
  version: 'v1',
  plural: 'websites',
  kind: 'Website',
  namespaced: true,
};
const OWNER: ChildOwner = {
  controller: 'website',
  type: WEBSITES,
  metadata: { namespace: 'shop', name: 'front', uid: 'uid-1' },
};

function aDeclared(kind: string, name: string, more: object = {}): ChildManifest {
  const apiVersion = kind === 'Deployment' ? 'apps/v1' : 'v1';
  return { apiVersion, kind, metadata: { name, ...more } };
}

function wantedIn(types: readonly Omit<DeclaredType, 'manager'>[], ...manifests: readonly ChildManifest[]) {
  return wantedOf(
    manifests,
    OWNER,
    types.map((type) => ({ ...type, manager: MANAGED_BY })),
  );
}

function aChild(wanted: Wanted, more: Partial<ChildView> = {}): ChildView {
  const { type, namespace, name, digest } = wanted;
  return {
    ...{
      type,
      namespace,
      name,
      digest,
      uid: `uid-of-${name}`,
      ownerUid: OWNER.metadata.uid,
      resourceVersion: '1',
    },
    ...{ answered: undefined, isBeingDeleted: false, isElsewhere: false, readiness: { is: 'ready' } },
    ...more,
  };
}

describe('a quantity', () => {
  it.each([
    ['1000m', '1'],
    ['0.5', '500m'],
    ['1024Mi', '1Gi'],
    ['1e3', '1k'],
    ['+1.50', '1500m'],
    ['100u', '0.1m'],
    ['1e10000000', '9223372036854775807'],
    ['0e10000000', '0'],
    ['1e-10000000', '1n'],
    ['100Ei', '9223372036854775807'],
  ])('%s is the same as %s', (one, other) => {
    expect(canonicalQuantity(one)).toBe(canonicalQuantity(other));
  });

  it.each([
    ['1Gi', '1G'],
    ['1', '-1'],
    ['1E', '1e0'],
  ])('%s is another than %s', (one, other) => {
    expect(canonicalQuantity(one)).not.toBe(canonicalQuantity(other));
  });

  it('that is none stays as it is', () => {
    expect(['', 'all', '1 Gi', '-'].map(canonicalQuantity)).toEqual(['', 'all', '1 Gi', '-']);
  });
});

describe('a digest', () => {
  const digestOf = (object: unknown, type: ResourceType = CONFIG_MAPS) => manifestDigest(object, type);
  const withCpu = (cpu: string | number) => ({
    spec: { template: { spec: { containers: [{ name: 'a', resources: { limits: { cpu } } }] } } },
  });

  it('is the same however quantities and fields are written', () => {
    expect(digestOf(withCpu('1000m'), DEPLOYMENTS)).toBe(digestOf(withCpu(1), DEPLOYMENTS));
    expect(digestOf({ spec: { a: 1, b: undefined, c: [] } })).toBe(digestOf({ spec: { b: null, a: 1 } }));
  });

  it.each(['retries', 'limits', 'hard'])('tells texts apart that would be one quantity: %s', (name) => {
    expect(digestOf({ data: { [name]: '1.1' } })).not.toBe(digestOf({ data: { [name]: '1.10' } }));
  });

  it('of a type that is not built in tells all texts apart: its server keeps them as they are', () => {
    const deployments = { ...DEPLOYMENTS, group: 'example.com' };
    expect(digestOf(withCpu('1000m'), deployments)).not.toBe(digestOf(withCpu('1'), deployments));
  });

  it('depends on the order of a list, and on an empty object', () => {
    expect(digestOf({ args: ['a', 'b'] })).not.toBe(digestOf({ args: ['b', 'a'] }));
    expect(digestOf({ from: { podSelector: {} } })).not.toBe(digestOf({ from: {} }));
  });

  it('does not depend on the status, and on the note of an answer', () => {
    const noted = { metadata: { annotations: { [ANSWERED_ANNOTATION]: 'a b' } }, status: { replicas: 1 } };
    expect(digestOf(noted)).toBe(digestOf({ metadata: {} }));
  });
});

describe('the fields that are ours', () => {
  const fields = {
    'f:args': {},
    'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
    'f:finalizers': { 'v:"ours"': {} },
  };
  const object = {
    args: ['a'],
    ports: [
      { port: 81, protocol: 'TCP' },
      { port: 80, protocol: 'TCP', nodePort: 3000 },
    ],
    finalizers: ['theirs', 'ours'],
    more: true,
  };

  it('are found in lists by their keys, by their values, and as a whole', () => {
    expect(partOf(object, fields)).toEqual({ args: ['a'], ports: [{ port: 80 }], finalizers: ['ours'] });
  });
});

describe('a declared object', () => {
  it('has its resource as controller, and in another namespace a label and an annotation instead', () => {
    const [here, there] = wantedIn(
      [CONFIG_MAPS],
      aDeclared('ConfigMap', 'a'),
      aDeclared('ConfigMap', 'a', { namespace: 'other' }),
    );
    expect(here?.object.metadata.ownerReferences).toMatchObject([{ uid: 'uid-1', controller: true }]);
    expect(there?.isElsewhere).toBe(true);
    expect(there?.object.metadata.ownerReferences).toBeUndefined();
    for (const wanted of [here, there]) {
      const object = wanted?.object ?? { metadata: OWNER.metadata as KubernetesObject['metadata'] };
      expect(isOwnedBy(object, OWNER)).toBe(true);
      expect(childOwnerKey(object, OWNER)).toBe('shop/front');
    }
  });

  it('has lost its owner if all but the owner reference says whose it is, and can be applied', () => {
    const [wanted] = wantedIn([CONFIG_MAPS], aDeclared('ConfigMap', 'a'));
    if (wanted === undefined) throw new Error('nothing is declared');
    const { labels, name } = wanted.object.metadata;
    const managedFields = [{ manager: MANAGED_BY, operation: 'Apply', fieldsV1: {} }];
    const lost = { metadata: { labels, name, managedFields } } as unknown as KubernetesObject;
    expect(hasLostOwner(lost, wanted, OWNER)).toBe(true);
    expect(hasLostOwner(wanted.object, wanted, OWNER)).toBe(false);
    expect(hasLostOwner(lost, { ...wanted, createOnly: true }, OWNER)).toBe(false);
  });

  it('is not one of another resource of the same name', () => {
    const [here] = wantedIn([CONFIG_MAPS], aDeclared('ConfigMap', 'a', { namespace: 'other' }));
    const successor = { ...OWNER, metadata: { ...OWNER.metadata, uid: 'uid-9' } };
    expect(here && isOwnedBy(here.object, successor)).toBe(false);
    expect(here && childOwnerKey(here.object, { ...OWNER, controller: 'shop' })).toBeUndefined();
  });

  it.each([
    ['of a type that owns does not list', [aDeclared('Secret', 'a')], 'v1 Secret, which owns does not list'],
    [
      'declared twice',
      [aDeclared('ConfigMap', 'a'), aDeclared('ConfigMap', 'a')],
      'declares ConfigMap shop/a twice',
    ],
  ])('%s is a mistake of the controller', (_, manifests, words) => {
    expect(() => wantedIn([CONFIG_MAPS], ...manifests)).toThrow(words);
  });

  it('is as it is wanted if its fields are, or if the server makes this of them', () => {
    const [wanted] = wantedIn([SERVICES], aDeclared('Service', 'a'));
    if (wanted === undefined) throw new Error('nothing is declared');
    const answered = { wanted: wanted.digest, answer: 'other' };
    expect(isAsWanted(aChild(wanted), wanted)).toBe(true);
    expect(isAsWanted(aChild(wanted, { digest: 'other' }), wanted)).toBe(false);
    expect(isAsWanted(aChild(wanted, { digest: 'other', answered }), wanted)).toBe(true);
    expect(isAsWanted(aChild(wanted, { digest: 'third', answered }), wanted)).toBe(false);
    const before = { wanted: 'before', answer: 'other' };
    expect(isAsWanted(aChild(wanted, { digest: 'other', answered: before }), wanted)).toBe(false);
  });
});

describe('what comes next for declared objects', () => {
  const wanted = wantedIn([DEPLOYMENTS, SERVICES], aDeclared('Deployment', 'a'), aDeclared('Service', 'b'));
  const [deployment, service] = wanted as unknown as readonly [Wanted, Wanted];
  const both = [aChild(deployment), aChild(service)];
  const immutable: Blocked = { by: 'immutable', child: deployment, because: 'field is immutable' };
  const decide = (there: readonly ChildView[], more: object = {}) =>
    decideChildren({ wanted, there, ...more });
  const other = (child: Wanted) => aChild(child, { digest: 'other' });

  it.each([
    ['the first that is missing is created', [], 'createDeployment'],
    ['what is missing comes before what is other', [other(deployment)], 'createService'],
    ['what is other is applied', [other(deployment), aChild(service)], 'applyDeployment'],
    ['what is no longer declared is deleted', [...both, aChild({ ...service, name: 'c' })], 'deleteService'],
  ])('%s', (_, there, step) => {
    expect(decide(there)?.do).toBe(step);
  });

  it('is nothing once all are as they are declared, and ready', () => {
    expect(decide(both)).toBeUndefined();
  });

  it('says what a step deletes, so that it can be approved', () => {
    const surplus = aChild({ ...service, name: 'c' });
    const step = decide([...both, surplus]);
    const { deletes } = step?.do === 'deleteService' && 'deletes' in step ? step : {};
    expect(deletes).toMatchObject({ what: 'Service', count: 1 });
    expect(deletes?.objects()).toEqual([{ namespace: 'shop', name: 'c', uid: surplus.uid }]);
  });

  it('leaves an object of createOnly as it is', () => {
    const once = { ...deployment, createOnly: true } as const;
    const seen = { wanted: [once], there: [other(once)] };
    expect(decideChildren(seen)).toBeUndefined();
  });

  it('is a person where a field cannot change, after all that can be done', () => {
    const blocked = [immutable];
    expect(decide([other(deployment)], { blocked })?.do).toBe('createService');
    expect(decide([other(deployment), aChild(service)], { blocked })).toMatchObject({
      do: 'stalled',
      reason: 'ImmutableField',
    });
  });

  it('is to delete what may be created anew, where a field cannot change', () => {
    const there = [other(deployment), aChild(service)];
    const recreated = { ...deployment, recreate: 'orphan' } as const;
    const seen = { wanted: [recreated, service], there, blocked: [immutable] };
    expect(decideChildren(seen)).toMatchObject({
      ...{ do: 'deleteDeployment', deletes: { count: 1 }, propagation: 'orphan' },
      because: expect.stringContaining('its Pods will stay'),
    });
  });

  it('is to wait where what is to be created is still being deleted', () => {
    const there = [aChild(deployment, { isBeingDeleted: true }), aChild(service)];
    expect(decide(there)).toMatchObject({ do: 'wait', for: expect.stringContaining('Deployment shop/a') });
  });

  it('is nothing, and no open run, while an object is not ready', () => {
    const starting = aChild(deployment, { readiness: { is: 'progressing' } });
    expect(decide([starting, aChild(service)])).toMatchObject({
      do: 'converged',
      isProgressing: true,
      notReady: { reason: 'DeploymentNotReady' },
    });
    const failed = aChild(deployment, { readiness: { is: 'failed', because: 'has failed' } });
    expect(decide([failed, aChild(service)])).not.toHaveProperty('isProgressing');
  });
});

describe('an object', () => {
  const ready = { is: 'ready' };
  const progressing = { is: 'progressing' };
  const failed = { is: 'failed' };
  const seen = { observedGeneration: 2 };
  const counts = { ...seen, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
  const condition = (type: string, status: string, more: object = {}) => ({
    conditions: [{ type, status, ...more }],
  });
  const available = condition('Available', 'True');

  it.each([
    ['apps/Deployment', 'with all replicas', { replicas: 2 }, { ...counts, ...available }, ready],
    [
      'apps/Deployment',
      'with an old replica',
      { replicas: 2 },
      { ...counts, replicas: 3, ...available },
      progressing,
    ],
    ['apps/Deployment', 'without status', {}, {}, progressing],
    ['apps/Deployment', 'of which the status is old', {}, { ...counts, observedGeneration: 1 }, progressing],
    [
      ...(['apps/Deployment', 'past its deadline', {}] as const),
      { ...seen, ...condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' }) },
      failed,
    ],
    [
      'apps/Deployment',
      'without Pods by quota',
      {},
      { ...seen, ...condition('ReplicaFailure', 'True', { message: 'quota' }) },
      failed,
    ],
    [
      'apps/StatefulSet',
      'of one revision',
      { replicas: 2 },
      { ...counts, currentRevision: 'a', updateRevision: 'a' },
      ready,
    ],
    [
      'apps/StatefulSet',
      'of two',
      { replicas: 2 },
      { ...counts, currentRevision: 'a', updateRevision: 'b' },
      progressing,
    ],
    [
      ...([
        'apps/StatefulSet',
        'up to its partition',
        { replicas: 2, updateStrategy: { rollingUpdate: { partition: 1 } } },
      ] as const),
      { ...counts, updatedReplicas: 1 },
      ready,
    ],
    [
      'apps/StatefulSet',
      'whose Pods people delete',
      { replicas: 2, updateStrategy: { type: 'OnDelete' } },
      counts,
      ready,
    ],
    ['apps/DaemonSet', 'without status', {}, {}, progressing],
    [
      ...(['apps/DaemonSet', 'on all nodes', {}] as const),
      {
        ...{ observedGeneration: 2, desiredNumberScheduled: 1, currentNumberScheduled: 1 },
        ...{ updatedNumberScheduled: 1, numberAvailable: 1, numberReady: 1 },
      },
      ready,
    ],
    ['batch/Job', 'in progress', {}, {}, progressing],
    ['batch/Job', 'that is complete', {}, condition('Complete', 'True'), ready],
    ['batch/Job', 'that failed', {}, condition('Failed', 'True', { reason: 'BackoffLimitExceeded' }), failed],
    ['/Pod', 'that succeeded', {}, { phase: 'Succeeded' }, ready],
    ['/Pod', 'that failed', {}, { phase: 'Failed' }, failed],
    ['/Pod', 'that starts', {}, { phase: 'Pending' }, progressing],
    [
      ...(['/Pod', 'without its image', {}] as const),
      { containerStatuses: [{ name: 'a', image: 'b', state: { waiting: { reason: 'ImagePullBackOff' } } }] },
      failed,
    ],
    ['/Service', 'without balancer', { type: 'ClusterIP' }, {}, ready],
    ['/PersistentVolumeClaim', 'that is not bound', {}, { phase: 'Pending' }, progressing],
    ['/ConfigMap', 'of any content', {}, {}, ready],
    [
      ...(['apps/Deployment', 'whose controller has not seen it', { replicas: 2 }] as const),
      { ...counts, ...available, observedGeneration: undefined },
      progressing,
    ],
    ['apps/Deployment', 'with a surplus replica', { replicas: 1 }, { ...counts, ...available }, progressing],
    [
      ...(['apps/Deployment', 'of which the new ReplicaSet is not available'] as const),
      { replicas: 2, progressDeadlineSeconds: 600 },
      { ...counts, ...available },
      progressing,
    ],
    ['apps/ReplicaSet', 'without status', {}, {}, progressing],
    ['apps/ReplicaSet', 'with too few', { replicas: 3 }, { ...counts, fullyLabeledReplicas: 2 }, progressing],
    ['apps/ReplicaSet', 'with all', { replicas: 2 }, { ...counts, fullyLabeledReplicas: 2 }, ready],
    [
      ...(['apps/ReplicaSet', 'without Pods by quota', {}] as const),
      { ...seen, ...condition('ReplicaFailure', 'True', { message: 'quota' }) },
      failed,
    ],
    ['policy/PodDisruptionBudget', 'without status', {}, {}, progressing],
    ['policy/PodDisruptionBudget', 'that was seen', {}, seen, ready],
    ['autoscaling/HorizontalPodAutoscaler', 'without status', {}, {}, progressing],
    [
      ...(['autoscaling/HorizontalPodAutoscaler', 'without metrics', {}] as const),
      { ...seen, ...condition('ScalingActive', 'False') },
      ready,
    ],
    [
      ...(['autoscaling/HorizontalPodAutoscaler', 'that cannot scale', {}] as const),
      { ...seen, ...condition('AbleToScale', 'False', { message: 'no target' }) },
      failed,
    ],
    ['apiextensions.k8s.io/CustomResourceDefinition', 'without status', {}, {}, progressing],
    [
      ...(['apiextensions.k8s.io/CustomResourceDefinition', 'that is established', {}] as const),
      condition('Established', 'True'),
      ready,
    ],
    [
      ...(['apiextensions.k8s.io/CustomResourceDefinition', 'whose names are taken', {}] as const),
      condition('NamesAccepted', 'False', { message: 'taken' }),
      failed,
    ],
    ['networking.k8s.io/Ingress', 'without an address', {}, { loadBalancer: {} }, ready],
    ['/Service', 'without an address', { type: 'LoadBalancer' }, { loadBalancer: {} }, progressing],
    [
      ...(['/Service', 'with an address', { type: 'LoadBalancer' }] as const),
      { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
      ready,
    ],
    ['serving.knative.dev/Service', 'that is not Ready', {}, condition('Ready', 'False'), progressing],
    ['batch.volcano.sh/Job', 'without conditions of kstatus', {}, { state: { phase: 'Running' } }, ready],
    ['example.com/Bucket', 'without status', {}, undefined, ready],
    ['example.com/Bucket', 'with the condition Ready', {}, condition('Ready', 'True'), ready],
    ['example.com/Bucket', 'that is not Ready', {}, condition('Ready', 'False'), progressing],
    ['example.com/Bucket', 'that is stalled', {}, condition('Stalled', 'True', { message: 'no' }), failed],
  ])('%s %s is as ready as kstatus says', (name, _, spec, status, expected) => {
    const [group = '', kind = ''] = name.split('/');
    const object = { metadata: { generation: 2 }, spec, status } as unknown as KubernetesObject;
    expect(readinessOf({ group, kind }, object)).toMatchObject(expected);
  });
});
