import { definedReconciler } from '../../../activities/defined-reconciler.ts';
import type { ResourceType } from '../../../src/api/resource-type.ts';
import type { Stalled, Wait } from '../../../src/runs/decision.ts';
import type { Condition } from '../../../src/api/condition.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { gitBuild } from '../../../src/controllers/git-build/controller.ts';
import {
  BUILD_FINALIZER,
  BUILD_UID_LABEL,
  BUILDS,
  PURPOSE_LABEL,
  SKIP_CLEANUP_ANNOTATION,
  type BuildStatus,
  type BuildSpec,
} from '../../../src/controllers/git-build/kind.ts';
import { buildLookups } from '../../../src/controllers/git-build/lookups.ts';
import { Sharers } from '../../../src/controllers/git-build/sharing.ts';
import { EVENTS, JOBS, NAMESPACES, NODES, PODS } from '../../../src/api/kinds.ts';
import { definedController } from '../../../src/engine/defined-controller.ts';
import type { AnyDefinition } from '../../../src/engine/definition.ts';
import { datumOf } from '../../../testing/explorer/values.ts';
import { activityOf } from '../../../testing/explorer/attempt.ts';
import { statusAnswer, type Request } from '../../../testing/explorer/api-server.ts';
import { BuildCluster, DISKS, isMarked, mark, markRead, type Job } from './build-cluster.ts';
import { objectKey, type SimulatedCluster, type Created } from '../../../testing/explorer/cluster.ts';
import { wrongIn, type Move, type World } from '../../../testing/explorer/world.ts';
import { withValues } from '../../../src/engine/bound.ts';
import type { GitBuildOptions } from '../../../src/controllers/git-build/options.ts';

/** As it is stored. */
interface Build extends KubernetesObject {
  readonly spec: BuildSpec;
  readonly status?: BuildStatus & {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
}

const UID = 'uid-of-sample';
const BUILD = objectKey(BUILDS, 'sample');
const NAMESPACE = objectKey(NAMESPACES, 'shop');

const OPTIONS: GitBuildOptions = {
  buildImage: 'golang:1.13',
  buildHostDir: '/opt',
  buildDeadline: 3_600_000,
  buildGitTransports: ['https'],
};
const DEFINITION: AnyDefinition = {
  ...withValues(gitBuild, OPTIONS),
  // An attempt may stop anywhere, and would hold up all that wait for its reading.
  lookups: buildLookups(() => new Sharers(OPTIONS, [])),
  digestOfData: datumOf,
  isExplored: true,
};
const SPEC: BuildSpec = {
  gitUrl: 'https://example.org/x.git',
  clonePath: '/src/x',
  buildCommand: 'go build',
  binaryName: 'x',
  jobName: 'job',
};
const SPECS: Readonly<Record<string, BuildSpec>> = {
  x: SPEC,
  /** Another binary. */
  y: { ...SPEC, binaryName: 'y' },
  /** Another Job, and the same binary. */
  renamed: { ...SPEC, jobName: 'other-job' },
  invalid: { ...SPEC, gitUrl: 'ext::sh' },
};

export interface BuildWorldOptions {
  /** To which the spec may be changed. */
  readonly specs?: readonly string[];
  readonly nodes?: readonly string[];
  /** The names of Jobs of somebody else. */
  readonly foreignJobs?: readonly string[];
}

/** One build: its Jobs run on nodes, and leave files on their disks. */
export function buildWorld({ specs = [], nodes = ['n1'], foreignJobs = [] }: BuildWorldOptions = {}): World {
  return {
    controller: definedController(DEFINITION),
    activity: activityOf((client) => definedReconciler(DEFINITION, client)),
    types: [
      BUILDS,
      NODES,
      DISKS,
      EVENTS,
      NAMESPACES,
      { ...PODS, goesSlowly: true, read: markRead },
      { ...JOBS, refuse: (_, cluster) => refusalIn(cluster) },
    ],
    objects: [
      [NAMESPACES, { metadata: { name: 'shop', uid: 'uid-of-shop' } }],
      [BUILDS, { metadata: { name: 'sample', namespace: 'shop', uid: UID, finalizers: [] }, spec: SPEC }],
      ...nodes.flatMap((name): [ResourceType, Created][] => [
        [NODES, { metadata: { name, uid: `uid-of-${name}` } }],
        [DISKS, { metadata: { name, uid: `uid-of-disk-${name}` }, files: [] }],
      ]),
      ...foreignJobs.map((name): [ResourceType, Created] => [
        JOBS,
        { metadata: { name, namespace: 'shop' } },
      ]),
    ],
    happenings: (cluster) => [...new BuildCluster(cluster).happenings(), ...namespaceGoes(cluster)],
    others: {
      change: (cluster) => changes(cluster, specs),
      remove: (cluster) => removals(cluster),
      removeJobsFirst: (cluster) => removalsInForeground(cluster),
      skip: (cluster) => skips(cluster),
      terminate: (cluster) =>
        isTerminating(cluster)
          ? []
          : [{ what: 'the namespace is deleted', change: (it) => it.markDeleted(NAMESPACE, ['kubernetes']) }],
      fail: (cluster) => new BuildCluster(cluster).failures('build', 'the Job fails'),
      failPod: (cluster) => new BuildCluster(cluster).failures('build', 'another is started'),
      failCleanup: (cluster) => new BuildCluster(cluster).failures('cleanup', 'the Job fails'),
      strip: (cluster) => new BuildCluster(cluster).strips(),
      recreate: (cluster) => recreations(cluster),
      deleteJob: (cluster) => new BuildCluster(cluster).deletionsOfJobs(),
      loseNode: (cluster) => new BuildCluster(cluster).lossesOfNodes(),
      freeName: (cluster) =>
        foreignJobs
          .filter((name) => cluster.get(objectKey(JOBS, name)) !== undefined)
          .map((name) => ({
            what: `somebody deletes their Job ${name}`,
            change: (it) => it.remove(objectKey(JOBS, name)),
          })),
    },
    isAboutTime,
    needsApproval: ({ path }, cluster) => {
      const job = cluster.get(objectKey(JOBS, path.slice(path.lastIndexOf('/') + 1)));
      return job?.metadata.labels?.[PURPOSE_LABEL] === 'build';
    },
    violation,
    shortcomings,
  };
}

function changes(cluster: SimulatedCluster, specs: readonly string[]): Move[] {
  const build = cluster.get<Build>(BUILD);
  if (build === undefined || isDeleted(build)) return [];
  const others = specs.filter((name) => JSON.stringify(SPECS[name]) !== JSON.stringify(build.spec));
  return others.map((name) => ({
    what: `the spec becomes ${name}`,
    change: (it) => {
      it.change(BUILD, ({ metadata, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
        spec: SPECS[name],
      }));
    },
  }));
}

/** By the API server, which lets it go at once where it has no finalizer. */
function removals(cluster: SimulatedCluster): Move[] {
  const build = cluster.get(BUILD);
  if (build === undefined || isDeleted(build)) return [];
  return [{ what: 'the build is deleted', change: (it) => it.markDeleted(BUILD, []) }];
}

/** With `--cascade=foreground`, the garbage collector deletes its Jobs while it has the operator's finalizer yet. */
function removalsInForeground(cluster: SimulatedCluster): Move[] {
  return removals(cluster).map(({ what, change }) => ({
    what: `${what} in the foreground`,
    change: (it) => {
      change(it);
      new BuildCluster(it).deleteOwned();
    },
  }));
}

/** Its finalizers are taken away, so it goes at once, and another one gets its name. */
function recreations(cluster: SimulatedCluster): Move[] {
  if (cluster.get(BUILD) === undefined) return [];
  return [
    {
      what: 'the build is deleted by force, and another one gets its name',
      change: (it) => {
        it.remove(BUILD);
        mark(it, 'forced');
        it.create(BUILDS, { metadata: { name: 'sample', namespace: 'shop', finalizers: [] }, spec: SPEC });
      },
    },
  ];
}

function skips(cluster: SimulatedCluster): Move[] {
  if (cluster.get(BUILD) === undefined) return [];
  const annotations = { [SKIP_CLEANUP_ANNOTATION]: 'true' };
  return [
    {
      what: 'the annotation asks to skip the cleanup',
      change: (it) => {
        it.changeMetadata(BUILD, (metadata) => ({
          annotations: { ...metadata.annotations, ...annotations },
        }));
        mark(it, 'skipped');
      },
    },
  ];
}

/** Whoever deletes a namespace deletes what is in it. */
function namespaceGoes(cluster: SimulatedCluster): Move[] {
  const build = cluster.get(BUILD);
  if (!isTerminating(cluster) || build === undefined || isDeleted(build)) return [];
  return [{ what: 'the build is deleted with its namespace', change: (it) => it.markDeleted(BUILD, []) }];
}

function refusalIn(cluster: SimulatedCluster) {
  if (!isTerminating(cluster)) return undefined;
  const details = { name: 'shop', causes: [{ reason: 'NamespaceTerminating' }] };
  return statusAnswer(403, { reason: 'Forbidden', message: 'the namespace is being terminated', details });
}

/** Only what no watch shows, or what takes its time, is waited for by the clock. */
function isAboutTime(rest: Wait | Stalled, cluster: SimulatedCluster): boolean {
  if (rest.do === 'stalled') return rest.reason !== 'JobNameTaken' || isNameFree(rest, cluster);
  const { for: what } = rest;
  const cleanup = /^cleanup Job (\S+) to end$/.exec(what)?.[1];
  if (cleanup !== undefined) return new BuildCluster(cluster).isStrandedCleanup(cleanup);
  const leftover = /^Job (\S+) of an earlier resource/.exec(what)?.[1];
  if (leftover !== undefined) return cluster.get(objectKey(JOBS, leftover)) === undefined;
  return /next attempt|in progress/.test(what);
}

function isNameFree({ message }: Stalled, cluster: SimulatedCluster): boolean {
  const [, name = ''] = /^Job shop\/(\S+) /.exec(message) ?? [];
  return cluster.get(objectKey(JOBS, name)) === undefined;
}

// What is to be --------------------------------------------------------------------------------------------

function violation({ method, path, body }: Request, cluster: SimulatedCluster): string | undefined {
  const it = new BuildCluster(cluster);
  const build = cluster.get<Build>(BUILD);
  if (method === 'DELETE') {
    const job = cluster.get(objectKey(JOBS, path.slice(path.lastIndexOf('/') + 1)));
    return job !== undefined && job.metadata.labels?.[BUILD_UID_LABEL] === undefined
      ? 'the Job of somebody else is deleted'
      : undefined;
  }
  if (method === 'POST') return violationOfCreate(body as Job, it, build);
  const { finalizers } = (body as Partial<KubernetesObject>).metadata ?? {};
  if (finalizers === undefined || build === undefined) return undefined;
  if (finalizers.includes(BUILD_FINALIZER))
    return isDeleted(build) ? 'a finalizer is added to a build that is being deleted' : undefined;
  const isSkipped = build.metadata.annotations?.[SKIP_CLEANUP_ANNOTATION] === 'true';
  if (isTerminating(cluster) || isSkipped || isMarked(cluster, 'forced')) return undefined;
  return it.remains().map((what) => `the finalizer goes, and ${what}`)[0];
}

function violationOfCreate({ metadata }: Job, it: BuildCluster, build: Build | undefined) {
  const isBuild = metadata.labels?.[PURPOSE_LABEL] === 'build';
  if (isBuild && isBuilt(build)) return 'a Job is created for a spec that is built';
  const isHeld = build?.metadata.finalizers?.includes(BUILD_FINALIZER) === true;
  // One that was deleted by force takes nothing with it; the garbage collector deletes what is created for it.
  const isOfAnother =
    isMarked(it.cluster, 'forced') && build?.metadata.uid !== metadata.labels?.[BUILD_UID_LABEL];
  if (isBuild && !isHeld && !isOfAnother) return 'a Job is created for a build that has no finalizer';
  const [running] = it.running();
  return running === undefined ? undefined : `Job ${metadata.name} is created, and ${running} runs`;
}

function isBuilt(build: Build | undefined): boolean {
  const { phase, observedGeneration } = build?.status ?? {};
  return phase === 'Succeeded' && observedGeneration === build?.metadata.generation;
}

function shortcomings(cluster: SimulatedCluster): readonly string[] {
  const it = new BuildCluster(cluster);
  const build = cluster.get<Build>(BUILD);
  // Where somebody has taken the finalizer away, nobody cleans up.
  const isSkipped = isTerminating(cluster) || isMarked(cluster, 'skipped') || isMarked(cluster, 'forced');
  if (build === undefined) return isSkipped ? [] : it.remains();
  const { phase, observedGeneration, artifacts = [], conditions = [] } = build.status ?? {};
  const isStalled = conditions.some(({ type, status }) => type === 'Stalled' && status === 'True');
  const { binaryName: binary, jobName } = build.spec;
  const isNameTaken = conditions.some(({ reason }) => reason === 'JobNameTaken');
  const known = artifacts.map((each) => `${each.node}/${each.binary}`);
  const files = it.files();
  const isDone = phase === 'Succeeded' && !isStalled;
  return wrongIn({
    [`it is being deleted, and stays: ${String(phase)}`]: isDeleted(build) && !isStalled,
    [`it is ${String(phase)} in the end`]: phase !== 'Succeeded' && phase !== 'Failed' && !isStalled,
    'it waits for a name that is free':
      isNameTaken && !isDeleted(build) && cluster.get(objectKey(JOBS, jobName)) === undefined,
    'its status is of another generation':
      observedGeneration !== build.metadata.generation && !isDeleted(build),
    [`${files.join()} is there, and the status knows ${known.join()}`]: files.some(
      (file) => !known.includes(file),
    ),
    [`${files.join()} is there, and ${binary} was built`]:
      isDone && files.some((file) => !file.endsWith(`/${binary}`)),
    [`${it.running().join()} still runs`]: it.running().length > 0,
  });
}

function isDeleted({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function isTerminating(cluster: SimulatedCluster): boolean {
  const namespace = cluster.get(NAMESPACE);
  return namespace !== undefined && isDeleted(namespace);
}
