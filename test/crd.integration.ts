import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { PolicyRule } from '../src/api/policy-rule.ts';
import type { KubernetesObject } from '../src/api/object.ts';
import { BUILD_KIND, BUILDS, type BuildSpec } from '../src/controllers/git-build/kind.ts';
import { PodSetKind } from '../src/controllers/pod-set/kind.ts';
import { POD_SET_KIND, type PodSet } from './support/pod-sets.ts';
import { ApiError } from '../src/kubernetes/errors.ts';
import { resourcePath, type PathType } from '../src/kubernetes/paths.ts';
import { outputOf } from '../local/program-output.ts';
import { applyManifest } from '../local/manifests.ts';
import { CLUSTER_ROLES, NAMESPACES, TestCluster, uniqueName, type Manifest } from './support/cluster.ts';
import { charted } from './support/delivered.ts';
import { eventually } from '../testing/eventually.ts';
import { testStack } from './support/stack.ts';

jest.setTimeout(60_000);

let cluster: TestCluster;
let namespace: string;

beforeAll(async () => {
  cluster = new TestCluster(testStack().kubeconfig);
  namespace = (await cluster.createNamespace()).metadata.name;
});

afterAll(async () => {
  await cluster.delete({ type: NAMESPACES, name: namespace });
  await cluster.close();
});

/** What the server answers to a resource that it is only asked about. */
async function tried<T>(type: PathType, manifest: Manifest): Promise<T> {
  const path = resourcePath(type, { namespace });
  return cluster.client.request<T>({ method: 'POST', path, query: { dryRun: 'All' }, body: manifest });
}

async function refusal(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof ApiError && error.classification === 'refused') return error.message;
    throw error;
  }
  throw new Error('it was accepted');
}

function aPodSet(replicas: unknown, name = uniqueName()): Manifest {
  return { ...POD_SET_KIND, metadata: { name, namespace }, spec: { replicas } };
}

const GOOD: BuildSpec = {
  gitUrl: 'https://github.com/kelseyhightower/helloworld.git',
  clonePath: '/root/go/src/helloworld',
  buildCommand: 'go build',
  binaryName: 'helloworld',
  jobName: 'build-helloworld',
};

function aBuild(spec: Record<string, unknown>): Manifest {
  return { ...BUILD_KIND, metadata: { name: uniqueName(), namespace }, spec: { ...GOOD, ...spec } };
}

/* Which specs admission accepts: e2e/bad-input. Here is what a person reads. */
describe('admission refuses, and says which field is wrong:', () => {
  it.each([
    [
      'replicas below 0',
      () => tried(PodSetKind, aPodSet(-1)),
      'spec.replicas in body should be greater than or equal to 0',
    ],
    ['no replicas', () => tried(PodSetKind, aPodSet(undefined)), 'spec.replicas: Required value'],
    ['a name of 64 characters', () => tried(PodSetKind, aPodSet(1, 'a'.repeat(64))), 'choose a shorter one'],
    [
      'a gitUrl that names a remote helper',
      () => tried(BUILDS, aBuild({ gitUrl: 'ext::sh -c id' })),
      'spec.gitUrl',
    ],
    [
      'a clonePath below the host directory',
      () => tried(BUILDS, aBuild({ clonePath: '/opt/src' })),
      'spec.clonePath',
    ],
    [
      'a buildCommand that is too long',
      () => tried(BUILDS, aBuild({ buildCommand: 'x'.repeat(16_385) })),
      'spec.buildCommand',
    ],
  ])('%s', async (_what, attempt, message) => {
    expect(await refusal(attempt())).toContain(message);
  });
});

async function kubectl(...args: string[]): Promise<string> {
  const { kubectl: program, kubeconfig } = testStack();
  const { outcome, output } = await outputOf(program, [
    '--kubeconfig',
    kubeconfig,
    '--namespace',
    namespace,
    ...args,
  ]);
  if (outcome !== 'succeeded') throw new Error(`kubectl ${args.join(' ')}: ${output}`);
  return output;
}

/** The columns of the one row that `kubectl get` shows, by their titles. */
async function columnsOf(...args: string[]): Promise<Record<string, string>> {
  const [titles = '', row = ''] = (await kubectl('get', ...args)).split('\n');
  const starts = [...titles.matchAll(/\S+/g)].map(({ 0: title, index }) => ({ title, index }));
  return Object.fromEntries(
    starts.map(({ title, index }, column) => [title, row.slice(index, starts[column + 1]?.index).trim()]),
  );
}

const CONDITIONS = (['Ready', 'Stalled', 'Reconciling'] as const).map((type) => ({
  type,
  status: type === 'Stalled' ? 'True' : 'False',
  observedGeneration: 1,
  lastTransitionTime: '2026-01-02T03:04:05Z',
  reason: type === 'Reconciling' ? 'Stalled' : 'CreateFailed',
  message: type === 'Stalled' ? 'exceeded quota' : '',
}));

describe('a PodSet on the cluster', () => {
  const name = 'web';
  const at = () => ({ type: PodSetKind, namespace, name });

  beforeAll(async () => {
    await cluster.create(PodSetKind, aPodSet(3, name));
    const status = {
      podNames: ['web-pod-a', 'web-pod-b'],
      readyReplicas: 2,
      selector: 'app=web,version=v0.1',
    };
    await cluster.patch(
      at(),
      { status: { ...status, observedGeneration: 1, conditions: CONDITIONS } },
      'status',
    );
  });

  it('has observed no generation before a status is written', async () => {
    const fresh = await cluster.create<PodSet>(PodSetKind, aPodSet(0));
    const path = { type: PodSetKind, namespace, name: fresh.metadata.name };
    expect((await cluster.get<PodSet>(path))?.status).toEqual({ observedGeneration: -1 });
  });

  it('is listed with what is desired, what there is, whether it is ready, and why', async () => {
    expect(await columnsOf('podset', name)).toEqual({
      NAME: name,
      DESIRED: '3',
      AVAILABLE: '2',
      READY: 'False',
      REASON: 'CreateFailed',
      AGE: expect.stringMatching(/^\d+[smh]/),
    });
  });

  it('shows an autoscaler its counts and the selector of its Pods', async () => {
    const path = resourcePath(PodSetKind, { namespace, name, subresource: 'scale' });
    expect(await cluster.client.request({ method: 'GET', path })).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'app=web,version=v0.1' },
    });
  });

  it('is scaled by kubectl, as another generation', async () => {
    const before = await cluster.get<PodSet>(at());
    await kubectl('scale', 'podset', name, '--replicas=5');
    const after = await cluster.get<PodSet>(at());
    expect(after?.spec).toEqual({ replicas: 5 });
    expect(after?.metadata.generation).toBe((before?.metadata.generation ?? 0) + 1);
    expect(after?.status).toEqual(before?.status);
  });

  it('has no status but by the status subresource, nor a spec by it', async () => {
    await cluster.patch(at(), { status: { readyReplicas: 77 } });
    await cluster.patch(at(), { spec: { replicas: 77 } }, 'status');
    expect(await cluster.get<PodSet>(at())).toMatchObject({
      spec: { replicas: 5 },
      status: { readyReplicas: 2 },
    });
  });
});

describe('an Xxx on the cluster', () => {
  it('is listed with its phase, whether it is ready, and why', async () => {
    const name = 'hello';
    await cluster.create(BUILDS, { ...BUILD_KIND, metadata: { name, namespace }, spec: GOOD });
    const conditions = [{ ...CONDITIONS[0], reason: 'BuildFailed' }];
    const status = { phase: 'Failed', message: 'exit code 1', conditions };
    await cluster.patch({ type: BUILDS, namespace, name }, { status }, 'status');
    expect(await columnsOf('xxx', name)).toEqual({
      NAME: name,
      PHASE: 'Failed',
      READY: 'False',
      REASON: 'BuildFailed',
      AGE: expect.stringMatching(/^\d+[smh]/),
    });
  });
});

describe('kubectl', () => {
  it('lists the resources of both kinds by their category', async () => {
    const listed = await kubectl('get', 'durable-operator', '--output=name');
    expect(listed).toContain('podset.batch.tutorial.kubebuilder.io/web\n');
    expect(listed).toContain('xxx.test.inspur.com/hello\n');
  });
});

interface ClusterRole extends KubernetesObject {
  readonly rules: readonly PolicyRule[];
}

describe('the roles for people', () => {
  const names = ['podset-editor', 'podset-viewer', 'xxx-editor', 'xxx-viewer'].map(
    (name) => `test-${name}-role`,
  );

  beforeAll(async () => {
    const roles = (await charted(['fullnameOverride=test'])).filter(({ metadata }) =>
      names.includes(metadata.name),
    );
    expect(roles.map(({ metadata }) => metadata.name).sort()).toEqual(names);
    for (const role of roles) await applyManifest(cluster.client, role, 'test');
  });

  afterAll(async () => {
    for (const name of names) await cluster.delete({ type: CLUSTER_ROLES, name });
  });

  it.each([
    ['edit', 'podsets', 'create'],
    ['edit', 'podsets/scale', 'update'],
    ['edit', 'xxxes', 'get'],
    ['admin', 'podsets', 'delete'],
    ['view', 'podsets', 'watch'],
    ['view', 'xxxes', 'list'],
  ])('are part of the role %s: %s, %s', async (role, resource, verb) => {
    expect(await eventually(() => isAllowed(role, resource, verb), 30_000)).toBe(true);
  });

  it.each([
    ['view', 'podsets', 'create'],
    ['view', 'podsets/scale', 'update'],
    ['view', 'xxxes', 'delete'],
    // A build can write to nodes.
    ['edit', 'xxxes', 'create'],
    ['admin', 'xxxes', 'patch'],
    ['edit', 'podsets/status', 'patch'],
    ['edit', 'xxxes/status', 'patch'],
  ])('do not let the role %s do this: %s, %s', async (role, resource, verb) => {
    await eventually(() => isAllowed(role, 'xxxes', 'get'), 30_000);
    expect(await isAllowed(role, resource, verb)).toBe(false);
  });

  async function isAllowed(role: string, resource: string, verb: string): Promise<boolean> {
    const { rules = [] } = (await cluster.get<ClusterRole>({ type: CLUSTER_ROLES, name: role })) ?? {};
    return rules.some(({ resources, verbs }) => resources.includes(resource) && verbs.includes(verb));
  }
});
