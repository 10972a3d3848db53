import { describe, expect, it } from '@jest/globals';
import type { KubernetesObject, ObjectMeta } from '../../src/api/object.ts';
import { defaultControllers } from '../../src/program/generate/permissions.ts';
import { projectChild, projectPrimary } from '../../src/watcher/known-objects.ts';
import { SAMPLE } from '../support/build-samples.ts';
import { FINALIZER, LABELS } from '../support/build-views.ts';
import { labelsFor } from '../../src/controllers/pod-set/pod.ts';
import { POD_SET_KIND } from '../support/pod-sets.ts';
import { durableOperator } from '../../src/controllers/index.ts';

const controllers = defaultControllers(durableOperator, {
  'namespace-role-binding': { roleBindingPrefix: 'team-' },
});
const LARGE = 'x'.repeat(200 * 1024);
/** Two bytes a character for JavaScript. */
const NAMES = `${'é'.repeat(20)},`.repeat(5_000);
const OURS = [
  ...['x', 'paused', 'approval', 'approved', 'rejected', 'answered-by', 'answered-because', 'poll-interval'],
  ...['reconcile-requested-at', 'skip-cleanup', 'spec-hash', 'binary-name', 'node', 'attempt'],
].map((name): [string, string] => [`durable-operator.dev/${name}`, LARGE]);

/** As large as somebody can make it who may only create objects in one namespace, whatever kind it is of. */
function large(annotations: ObjectMeta['annotations']): KubernetesObject {
  return {
    metadata: {
      name: 'team-shop',
      namespace: 'shop',
      uid: 'uid-1',
      resourceVersion: '7',
      labels: { ...LABELS, ...labelsFor('web') },
      annotations: {
        ...Object.fromEntries<string>(OURS),
        'example.com/x': LARGE,
        'controller.kubernetes.io/pod-deletion-cost': LARGE,
        'durable-operator.dev/binaries': NAMES,
        ...annotations,
      },
      finalizers: [FINALIZER, ...NAMES.split(',')],
      ownerReferences: [
        { ...POD_SET_KIND, name: 'web', uid: LARGE, controller: true },
        { apiVersion: LARGE, kind: LARGE, name: LARGE, uid: LARGE },
      ],
    },
    roleRef: { kind: 'Role', name: LARGE },
    spec: { ...SAMPLE, buildCommand: 'x'.repeat(16_384), replicas: 1, nodeName: LARGE },
    status: {
      phase: 'Pending',
      containerStatuses: [{ state: { waiting: { reason: 'ErrImagePull' } }, image: LARGE }],
    },
  };
}

describe.each(durableOperator.controllers)('what $name keeps of an object', ({ name }) => {
  it.each([LARGE, 'web'])('is little, whatever the object holds', (build) => {
    const object = large({ 'durable-operator.dev/build-name': build });
    for (const { primary, children } of controllers.filter((each) => each.name === name)) {
      const kept = [
        // Who creates a resource gives it no status.
        projectPrimary(primary, { ...object, status: {} }),
        ...children.map((child) => projectChild(child, object)),
      ].map((projection) => JSON.stringify(projection ?? {}).length);
      expect(Math.max(...kept)).toBeLessThan(8_192);
    }
  });
});

describe('when a deletion began', () => {
  const metadata = {
    ...{ name: 'web', namespace: 'shop', uid: 'uid-1', resourceVersion: '7' },
    deletionTimestamp: '2026-01-01T12:00:00Z',
  };
  const kept = (finalizers: readonly string[]) =>
    controllers[0] &&
    projectPrimary(controllers[0].primary, { metadata: { ...metadata, finalizers } }, 'ours');

  it('is kept while our finalizer holds the resource, and no longer', () => {
    expect(kept(['another', 'ours'])?.deletedAtMs).toBe(Date.parse('2026-01-01T12:00:00Z'));
    expect(kept(['another'])).not.toHaveProperty('deletedAtMs');
  });
});

describe('the inputs of a run', () => {
  const [podLabel] = controllers;
  const inputsOf = (value: string) => {
    const metadata = { name: 'web', namespace: 'shop', uid: 'uid-1', resourceVersion: '7' };
    const annotations = { 'durable-operator.dev/x': value };
    return podLabel && projectPrimary(podLabel.primary, { metadata: { ...metadata, annotations } })?.inputs;
  };

  it('are readable where they are short', () => {
    expect(inputsOf('a')).toBe('durable-operator.dev/x=a');
  });

  it('differ with the last character of an annotation, however long it is', () => {
    expect(inputsOf(`${LARGE}a`)).toBe(inputsOf(`${LARGE}a`));
    expect(inputsOf(`${LARGE}a`)).not.toBe(inputsOf(`${LARGE}b`));
  });
});
