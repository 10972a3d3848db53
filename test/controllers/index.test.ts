import { describe, expect, it } from '@jest/globals';
import type { Controller } from '../../src/engine/controller.ts';
import type { PolicyRule } from '../../src/api/policy-rule.ts';
import { durableOperator } from '../../src/controllers/index.ts';
import { defaultControllers } from '../../src/program/generate/permissions.ts';
import { SAMPLE } from '../support/build-samples.ts';

const controllers = defaultControllers(durableOperator, {
  'namespace-role-binding': { roleBindingPrefix: 'team-' },
});
const REF = { controller: '', namespace: 'shop', name: 'web', uid: 'uid-1' };

/** `get list pods`; whose names are given, `bind clusterroles.rbac.authorization.k8s.io edit`. */
function inWords({ apiGroups, resources, verbs, resourceNames = [] }: PolicyRule): string {
  const types = resources.flatMap((resource) =>
    apiGroups.map((group) => (group === '' ? resource : `${resource}.${group}`)),
  );
  return [...verbs, ...types, ...resourceNames].join(' ');
}

function factsOf({ name, workflowType, steps, primary, children, ...controller }: Controller) {
  return {
    name,
    workflowType,
    summary: controller.summary(REF),
    steps: Object.keys(steps),
    watches: [primary, ...children].map(({ type, metadataOnly = false, labelSelector = '' }) =>
      [type.kind, metadataOnly ? 'metadata' : '', labelSelector].filter((word) => word !== '').join(' '),
    ),
    endsWithNamespace: controller.endsWithNamespace ?? false,
    permissions: controller.permissions.map(inWords),
  };
}

const RECORD_EVENTS = 'create patch events.events.k8s.io';

it('lists every controller by its own name', () => {
  expect(controllers.map(({ name }) => name)).toEqual(durableOperator.controllers.map(({ name }) => name));
});

/** Open runs know the names; and the one role of the operator hides which controller needs what. */
describe('a controller has its names, watches and may do what it needs, and nothing more', () => {
  it.each([
    {
      name: 'pod-label',
      workflowType: 'podLabel',
      summary: 'Pod shop/web: label padok.fr/pod-name follows its annotation',
      steps: ['addLabel', 'removeLabel'],
      watches: ['Pod metadata'],
      endsWithNamespace: false,
      permissions: ['list pods', RECORD_EVENTS, 'patch pods'],
    },
    {
      name: 'namespace-role-binding',
      workflowType: 'namespaceRoleBinding',
      summary: "Namespace web: binds its team's group to a ClusterRole",
      steps: ['createRoleBinding', 'updateRoleBinding', 'replaceRoleBinding', 'releaseRoleBinding'],
      watches: ['Namespace metadata', 'RoleBinding'],
      endsWithNamespace: false,
      permissions: [
        'get namespaces',
        'get rolebindings.rbac.authorization.k8s.io',
        RECORD_EVENTS,
        'create patch delete rolebindings.rbac.authorization.k8s.io',
        'bind clusterroles.rbac.authorization.k8s.io edit',
      ],
    },
    {
      name: 'pod-set',
      workflowType: 'podSet',
      summary: 'PodSet shop/web: keeps its Pods at spec.replicas',
      steps: [
        ...['releasePods', 'adoptPods', 'createPods', 'deletePods'],
        ...['addFinalizer', 'updateStatus', 'updateState', 'removeFinalizer'],
      ],
      watches: ['PodSet', 'Pod version=v0.1,app'],
      endsWithNamespace: true,
      permissions: [
        'get podsets.batch.tutorial.kubebuilder.io',
        'patch podsets/status.batch.tutorial.kubebuilder.io',
        'list pods',
        RECORD_EVENTS,
        'update podsets/finalizers.batch.tutorial.kubebuilder.io',
        'get list create patch delete pods',
        'get nodes',
      ],
    },
    {
      name: 'git-build',
      workflowType: 'gitBuild',
      summary: 'Xxx shop/web: builds its binary, and removes it with the resource',
      steps: [
        'createJob',
        'createCleanupJob',
        'deleteJob',
        'addFinalizer',
        'updateStatus',
        'updateState',
        'removeFinalizer',
      ],
      watches: ['Xxx', 'Job durable-operator.dev/build-uid', 'Pod durable-operator.dev/build-uid'],
      endsWithNamespace: false,
      permissions: [
        'get patch xxxes.test.inspur.com',
        'patch xxxes/status.test.inspur.com',
        'list jobs.batch',
        'list pods',
        RECORD_EVENTS,
        'list xxxes.test.inspur.com',
        'update xxxes/finalizers.test.inspur.com',
        'get create delete jobs.batch',
        'get nodes',
        'get namespaces',
        'list events.events.k8s.io',
      ],
    },
  ])('$name', (facts) => {
    expect(controllers.filter(({ name }) => name === facts.name).map(factsOf)).toEqual([facts]);
  });
});

describe('a resource with the annotation paused', () => {
  const HELD = { do: 'held', by: 'pause' };
  const REPORTED = { do: 'updateStatus', status: { conditions: [{ type: 'Paused', status: 'True' }] } };
  const LABELLED = { 'padok.fr/add-pod-name-label': 'true' };

  interface Resource {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly spec?: object;
  }

  it.each<[step: string, name: string, resource: Resource, paused: object]>([
    ['addLabel', 'pod-label', { annotations: LABELLED }, HELD],
    ['createRoleBinding', 'namespace-role-binding', {}, HELD],
    ['createPods', 'pod-set', { spec: { replicas: 1 } }, REPORTED],
    ['addFinalizer', 'git-build', { spec: SAMPLE }, REPORTED],
  ])(
    'is held before %s of %s, and says so first where it has a status of ours',
    (step, name, resource, paused) => {
      expect(decided(name, resource)).toMatchObject({ do: step });
      const annotations = { ...resource.annotations, 'durable-operator.dev/paused': 'true' };
      expect(decided(name, { ...resource, annotations })).toMatchObject(paused);
    },
  );

  /** Of a resource that nothing belongs to yet. */
  function decided(name: string, { annotations = {}, spec }: Resource) {
    const controller = controllers.find((each) => each.name === name);
    const { namespace, uid } = REF;
    const metadata = { namespace, name: 'web', uid, resourceVersion: '7', generation: 1, annotations };
    const view = controller?.primary.view({ metadata, spec });
    if (controller === undefined || view === undefined) throw new Error(`${name} takes no notice of it`);
    return controller.decide(controller.observation(view, [], metadata), 0);
  }
});
