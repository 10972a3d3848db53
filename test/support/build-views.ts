import type { RefusedStep } from '../../src/api/step.ts';
import type { Cause } from '../../src/api/cause.ts';
import type { KubernetesObject, ObjectMeta } from '../../src/api/object.ts';
import type { AnyDefinition } from '../../src/engine/definition.ts';
import type { DefinedObservation } from '../../src/engine/observation.ts';
import { definedView } from '../../src/engine/view.ts';
import { gitBuild } from '../../src/controllers/git-build/controller.ts';
import { BUILD_KIND, SKIP_CLEANUP_ANNOTATION } from '../../src/controllers/git-build/kind.ts';
import type { BuildLookups, NameHolder, Sharer } from '../../src/controllers/git-build/facts.ts';
import type { NodeState } from '../../src/controllers/git-build/node.ts';
import { specHash } from '../../src/controllers/git-build/spec.ts';
import type { JobView, PodView } from '../../src/controllers/git-build/views.ts';
import { SAMPLE } from './build-samples.ts';

export const FINALIZER = 'job.finalizers.test.inspur.com';
const HASH = specHash(SAMPLE);

/** Of the sample's Job and its Pods, as the API server has them. */
export const LABELS = {
  'app.kubernetes.io/managed-by': 'durable-operator',
  'durable-operator.dev/build-uid': 'uid-1',
  'durable-operator.dev/job': 'build',
};

/** Of an object of the sample, of which no more matters. */
export const META: ObjectMeta = {
  name: 'a',
  namespace: 'shop',
  uid: 'u',
  resourceVersion: '7',
  labels: LABELS,
};

/** The sample, as far as a decision depends on it. */
export interface BuildGiven {
  readonly status: object;
  readonly generation: number;
  readonly deleting: boolean;
  readonly deletedAt: string;
  readonly finalizers: readonly string[];
  readonly skipCleanup: boolean;
  readonly spec: object;
}

/** The sample, with our finalizer. */
export function aBuildView(status: object = {}, fields: Partial<BuildGiven> = {}): BuildGiven {
  return {
    generation: 1,
    deleting: false,
    deletedAt: '',
    finalizers: [FINALIZER],
    skipCleanup: false,
    spec: SAMPLE,
    status,
    ...fields,
  };
}

/** As the API server has it. */
export function buildObject(build: BuildGiven): KubernetesObject {
  const { status, generation, deleting, deletedAt, finalizers, skipCleanup, spec } = build;
  return {
    ...BUILD_KIND,
    metadata: {
      ...{ name: 'sample', namespace: 'shop', uid: 'uid-1', resourceVersion: '7', generation, finalizers },
      ...(deleting && { deletionTimestamp: deletedAt || '2026-11-21T11:30:00Z' }),
      ...(skipCleanup && { annotations: { [SKIP_CLEANUP_ANNOTATION]: 'true' } }),
    },
    ...{ spec, status },
  };
}

/** The running Job of the sample. */
export function aJobView(fields: Partial<JobView> = {}): JobView {
  return {
    kind: 'job',
    name: SAMPLE.jobName,
    uid: 'job-1',
    resourceVersion: '8',
    buildUid: 'uid-1',
    buildName: 'sample',
    owned: true,
    purpose: 'build',
    state: 'active',
    deleting: false,
    hash: HASH,
    node: '',
    binaries: [],
    createdAt: '2026-11-21T11:00:00Z',
    endedAt: '',
    failure: '',
    failureMessage: '',
    ...fields,
  };
}

/** The Job that removes the sample from node-1. */
export function aCleanupView(fields: Partial<JobView> = {}): JobView {
  const cleanup = { purpose: 'cleanup', hash: '', node: 'node-1', binaries: ['helloworld'] } as const;
  return aJobView({
    name: `${SAMPLE.jobName}-delete`,
    uid: 'cleanup-1',
    owned: false,
    ...cleanup,
    ...fields,
  });
}

/** The running Pod of the sample's Job. */
export function aPodView(fields: Partial<PodView> = {}): PodView {
  return {
    kind: 'pod',
    name: 'pod-1',
    uid: 'pod-1',
    buildUid: 'uid-1',
    purpose: 'build',
    jobUid: fields.purpose === 'cleanup' ? 'cleanup-1' : 'job-1',
    hash: HASH,
    binary: 'helloworld',
    node: 'node-1',
    phase: 'unfinished',
    started: true,
    createdAt: '2026-11-21T11:00:01Z',
    endedAt: '',
    ...fields,
  };
}

/** What a decision is made from. */
export interface BuildSeen {
  readonly build: BuildGiven;
  readonly jobs: readonly JobView[];
  readonly pods: readonly PodView[];
  /** Which Job has a name that is to be created, once the status says that it is taken. */
  readonly names: Readonly<Record<string, NameHolder>>;
  readonly nodes: Readonly<Record<string, NodeState>>;
  readonly namespace: BuildLookups['namespace'];
  readonly sharers: readonly Sharer[];
  readonly refusedPods: Readonly<Record<string, Cause>>;
  /** The step that was refused last. */
  readonly refused: RefusedStep;
}

/**
 * What a step has read: no other Job has the names of the sample's Jobs, no Pod of them is refused, and nobody else has its
 * file.
 */
export function anObservation(fields: Partial<BuildSeen> = {}): DefinedObservation {
  const { build = aBuildView(), jobs = [], pods = [], names = {}, nodes = {}, namespace } = fields;
  const { sharers = [], refusedPods = {} } = fields;
  const isTaken = Object.values(names).some((holder) => holder !== 'free');
  const said = isTaken ? 'JobNameTaken' : namespace === 'terminating' ? 'NamespaceTerminating' : undefined;
  const view = definedView(GIT_BUILD, buildObject(said === undefined ? build : saying(build, said)));
  if (view === undefined) throw new Error('the sample is of no interest');
  const read: BuildLookups = {
    ...{ running: { jobs, pods }, sharers, refusedPods, namespace: namespace ?? 'there' },
    holder: names[SAMPLE.jobName] ?? 'free',
    cleanupHolder: names[`${SAMPLE.jobName}-delete`] ?? 'free',
  };
  const known = Object.entries(nodes).map(([name, state]) => [`node ${name}`, nodeOf(name, state)] as const);
  return {
    view,
    owned: [...jobs, ...pods].map((each) => ({ uid: each.uid, view: each })),
    lookups: { ...read, ...Object.fromEntries(known) },
    live: { ...(fields.refused && { refused: fields.refused }) },
  };
}

/** Its status says so already. */
function saying(build: BuildGiven, reason: string): BuildGiven {
  const ready = { type: 'Ready', status: 'False', reason, message: '', observedGeneration: build.generation };
  const conditions = [{ ...ready, lastTransitionTime: '2026-11-21T11:00:00Z' }];
  return { ...build, status: { conditions, ...build.status } };
}

export const GIT_BUILD: AnyDefinition = gitBuild;

function nodeOf(name: string, state: NodeState): KubernetesObject | undefined {
  if (state === 'gone') return undefined;
  const [, status = 'True', since = '', message = ''] =
    /^Ready=(\S+?)(?: since (\S+?): (.*))?$/.exec(state === 'there' ? '' : state.notReady) ?? [];
  const ready = { type: 'Ready', status, ...(since !== '' && { lastTransitionTime: since }), message };
  return { metadata: { name, uid: `uid-of-${name}`, resourceVersion: '1' }, status: { conditions: [ready] } };
}
