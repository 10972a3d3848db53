import {
  NO_WORK,
  type ChildProjection,
  type Controller,
  type Projection,
  type Verdict,
} from '../../contract/controller.ts';
import type { KubernetesObject } from '../../contract/object.ts';
import { displayName } from '../../contract/resource.ts';
import { buildView, hasOurFinalizer, type BuildView } from './build-view.ts';
import { cleanupTrouble } from './clean.ts';
import { isSettled } from './decide.ts';
import { troubleMessage } from './follow.ts';
import { isRefused } from './invalid-spec.ts';
import { jobView, type JobState } from './job-view.ts';
import { BUILD_UID_LABEL, type JobPurpose } from './names.ts';
import type { BuildOptions } from './options.ts';
import { podView, type Trouble } from './pod-view.ts';
import { BUILD_GROUP, BUILDS, type BuildPhase } from './resource.ts';
import type { SeenBuild } from './seen.ts';

export interface BuildProjection extends Projection {
  readonly generation: number;
  readonly deleting: boolean;
  readonly hasFinalizer: boolean;
  /** It has no finalizer at all, and no status. */
  readonly fresh: boolean;
  readonly skipCleanup: boolean;
  readonly settled: boolean;
  /** The status says already that the spec is invalid. */
  readonly refused: boolean;
  /** Empty where the spec is invalid. */
  readonly hash: string;
  readonly phase: BuildPhase | 'none';
  /** Whether the status is about this generation. */
  readonly reported: boolean;
  /** Whether the end of the last Job was reported. */
  readonly ended: boolean;
  readonly message: string;
}

export interface JobProjection extends ChildProjection {
  readonly kind: 'job';
  readonly buildUid: string;
  readonly purpose: JobPurpose;
  readonly hash: string;
  readonly state: JobState;
  readonly deleting: boolean;
}

/** A Pod that cannot start; of others nothing is kept. */
export interface PodProjection extends ChildProjection {
  readonly kind: 'pod';
  readonly buildUid: string;
  readonly purpose: JobPurpose;
  readonly trouble: Trouble;
}

export type BuildChild = JobProjection | PodProjection;

/** Builds what a resource describes by a Job, and removes the binary from every node when the resource goes. */
export function build(options: BuildOptions): Controller<BuildProjection, BuildChild, SeenBuild> {
  const children = { namespaced: true, metadataOnly: false, labelSelector: BUILD_UID_LABEL } as const;
  return {
    name: 'build',
    workflowType: 'build',
    summary: (ref) => `Xxx ${displayName(ref)}: its binary is built by a Job, and removed with it`,
    primary: {
      ...BUILDS,
      namespaced: true,
      metadataOnly: false,
      project: (object) => projectBuild(object, options),
    },
    children: [
      { ...children, group: 'batch', version: 'v1', plural: 'jobs', project: projectJob },
      { ...children, group: '', version: 'v1', plural: 'pods', project: projectPod },
    ],
    needsWork,
    permissions: [
      { apiGroups: [BUILD_GROUP], resources: ['xxxes'], verbs: ['get', 'patch'] },
      { apiGroups: [BUILD_GROUP], resources: ['xxxes/status'], verbs: ['patch'] },
      { apiGroups: [BUILD_GROUP], resources: ['xxxes/finalizers'], verbs: ['update'] },
      { apiGroups: ['batch'], resources: ['jobs'], verbs: ['get', 'list', 'create', 'delete'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
      { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    ],
  };
}

function projectBuild(object: KubernetesObject, options: BuildOptions): BuildProjection {
  const view = buildView(object, options);
  const { status, spec } = view;
  return {
    key: `${view.namespace}/${view.name}`,
    uid: view.uid,
    resourceVersion: view.resourceVersion,
    generation: view.generation,
    deleting: view.deleting,
    hasFinalizer: hasOurFinalizer(view),
    fresh: isFresh(view),
    skipCleanup: view.skipCleanup,
    settled: isSettled(view),
    refused: isRefused(view),
    hash: spec.ok ? spec.hash : '',
    phase: status.phase ?? 'none',
    reported: status.observedGeneration === view.generation,
    ended: status.completionTime !== undefined,
    message: status.message ?? '',
  };
}

function isFresh({ finalizers, status }: BuildView): boolean {
  return finalizers.length === 0 && Object.keys(status).length === 0;
}

function projectJob(object: KubernetesObject): JobProjection | undefined {
  const job = jobView(object);
  if (job === undefined) return undefined;
  const { buildUid, purpose, hash, state, deleting } = job;
  return { ...childOf(object, job.buildName), kind: 'job', buildUid, purpose, hash, state, deleting };
}

function projectPod(object: KubernetesObject): PodProjection | undefined {
  const pod = podView(object);
  if (pod?.trouble === undefined) return undefined;
  const { buildUid, purpose, trouble } = pod;
  return { ...childOf(object, pod.buildName), kind: 'pod', buildUid, purpose, trouble };
}

function childOf({ metadata }: KubernetesObject, buildName: string): ChildProjection {
  const { namespace = '', name, uid, resourceVersion } = metadata;
  return { key: `${namespace}/${name}`, belongsTo: `${namespace}/${buildName}`, uid, resourceVersion };
}

function needsWork(build: BuildProjection, children: readonly BuildChild[]): Verdict<SeenBuild> {
  if (build.deleting ? !build.hasFinalizer : build.settled) return NO_WORK;
  const own = children.filter(({ buildUid }) => buildUid === build.uid);
  const { resourceVersion, generation } = build;
  return {
    needsWork: true,
    reason: reasonFor(build, own),
    about: aboutOf(build, children),
    ...(isUnderWay(build, own) && { underWay: true }),
    seen: { step: seenStep(build), resourceVersion, generation },
  };
}

/** Nothing of the status and the finalizer, which the run itself writes. */
function aboutOf({ generation, deleting, skipCleanup }: BuildProjection, children: readonly BuildChild[]) {
  const flags = [...(deleting ? ['deleting'] : []), ...(skipCleanup ? ['skip cleanup'] : [])];
  const parts = children.map(describe).sort();
  return [`generation ${generation}`, ...flags, ...parts].join(', ');
}

function describe(child: BuildChild): string {
  if (child.kind === 'pod') return `${child.purpose} Pod: ${child.trouble.text}`;
  const { purpose, key, uid, state, deleting } = child;
  return `${purpose} Job ${key} ${uid} ${deleting ? 'going' : state}`;
}

function reasonFor(build: BuildProjection, own: readonly BuildChild[]): string {
  if (build.deleting) return build.skipCleanup ? 'it goes without cleanup' : 'it is being deleted';
  if (build.hash === '') return 'its spec is not valid';
  const ended = own.find((child) => isBuildJob(child) && child.state !== 'active');
  if (ended?.kind === 'job' && ended.hash === build.hash) return `its Job has ${ended.state}`;
  if (own.some(({ kind }) => kind === 'pod')) return 'a Pod of it cannot start';
  // Nothing of the status: the run writes it, and it may be seen before the Job that was created first.
  return own.some((child) => isBuildJob(child) && child.hash !== build.hash)
    ? 'its spec is another now'
    : 'it is to be built';
}

function isBuildJob(child: BuildChild): child is JobProjection {
  return child.kind === 'job' && child.purpose === 'build';
}

/** Whether the run, if it is where it should be, waits for what is going on by itself. */
function isUnderWay(build: BuildProjection, own: readonly BuildChild[]): boolean {
  const jobs = own.filter((child) => child.kind === 'job');
  const pods = own.filter((child) => child.kind === 'pod');
  const cleans = jobs.some(({ purpose, state }) => purpose === 'cleanup' && state === 'active');
  if (build.deleting) return isCleaningUp(build, { jobs, pods, cleans });
  if (build.hash === '') return build.refused || jobs.some(({ deleting }) => deleting);
  const right = jobs.find(({ purpose, hash }) => purpose === 'build' && hash === build.hash);
  // Who deletes the right Job was not us: where its Pods ran has to be found out before they are gone.
  if (right?.deleting === true) return false;
  if (jobs.some(({ deleting }) => deleting)) return true;
  if (right?.state === 'failed') return build.phase === 'Failed' && build.reported;
  if (right?.state === 'active' && jobs.length === 1) {
    // What is under way counts as told: trouble must not, before the status can show it.
    const shown = build.phase === 'Building' && build.reported ? build.message : '';
    return shown === troubleMessage(pods);
  }
  return build.phase === 'Succeeded' && build.reported && cleans && pods.length === 0;
}

function isCleaningUp(
  { skipCleanup, message }: BuildProjection,
  {
    jobs,
    pods,
    cleans,
  }: {
    readonly jobs: readonly JobProjection[];
    readonly pods: readonly PodProjection[];
    readonly cleans: boolean;
  },
): boolean {
  if (skipCleanup) return false;
  if (jobs.some(({ deleting }) => deleting)) return true;
  return cleans && message === cleanupTrouble(pods);
}

function seenStep(build: BuildProjection): SeenBuild['step'] {
  const { deleting, ended, phase, skipCleanup, hash, fresh } = build;
  if (deleting) return ended && phase !== 'Cleaning' && !skipCleanup ? 'start-cleaning' : 'look';
  return fresh && hash !== '' ? 'add-finalizer' : 'look';
}
