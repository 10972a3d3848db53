import {
  isObjectName,
  type Cause,
  type Condition,
  type KubernetesObject,
  type LookedUp,
  type RefusedStep,
  type ViewedObject,
} from '../../api/index.ts';
import {
  ORPHAN_FINALIZER,
  SKIP_CLEANUP_ANNOTATION,
  type Artifact,
  type ParsedBuild,
  type StoredBuild,
  type BuildStatus,
} from './kind.ts';
import { checkSpec, isBinaryName, isJobName, type CheckedSpec, type SpecOptions } from './spec.ts';
import type { JobView, PodView } from './views.ts';

/** As decisions and steps have it. */
export type Build = ViewedObject<BuildView>;

/** What is kept of a build. */
export interface BuildView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly deleting: boolean;
  readonly deletedAt: string;
  /** It is being deleted, and what it owns is to stay. */
  readonly isOrphaning: boolean;
  readonly skipCleanup: boolean;
  /** With an empty command where that is long: the step that builds reads it. */
  readonly spec: CheckedSpec;
  /** Only what is well-formed: somebody may have written it by hand. */
  readonly status: BuildStatus;
  readonly observedGeneration: number | undefined;
  readonly conditions: readonly Condition[];
}

/** What only some decisions need. */
export interface BuildLookups {
  /** The Jobs of the build and their Pods, as they are now. */
  readonly running: Running;
  /** Which Job has the name of the one that builds. */
  readonly holder: NameHolder;
  /** Which Job has the name of the one that cleans. */
  readonly cleanupHolder: NameHolder;
  readonly namespace: 'there' | 'terminating';
  /** The other builds that have a file that is to be removed. */
  readonly sharers: readonly Sharer[];
  /** Why the Pods of a Job are refused, by the UID of the Job. */
  readonly refusedPods: Readonly<Record<string, Cause>>;
}

export interface Running {
  readonly jobs: readonly JobView[];
  readonly pods: readonly PodView[];
}

/** `foreign`: a Job of somebody else. `altered`: a Job of this build whose labels something has changed. */
export type NameHolder = JobView | 'foreign' | 'altered' | 'free';

/** Another build that has, or may have, the same files on nodes. */
export interface Sharer {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly artifacts: readonly Artifact[];
}

/** What a decision is made from. */
export interface Facts {
  readonly build: BuildView;
  /** Those that carry the UID of the build. */
  readonly jobs: readonly JobView[];
  /** The Pods of those Jobs. */
  readonly pods: readonly PodView[];
  readonly lookups: LookedUp<BuildLookups>;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** The step that was refused last. */
  readonly refused?: RefusedStep | undefined;
  /** For how many milliseconds yet an attempt to create a Job may succeed whose outcome nobody knows. */
  readonly createUnknownForMs: number;
}

type Fields = Omit<BuildStatus, 'artifacts'> & { readonly artifacts: readonly Artifact[] };

/** As they will be once the status says so. */
export function withStatus(facts: Facts, { artifacts, ...fields }: Fields): Facts {
  const { build } = facts;
  return { ...facts, build: { ...build, status: { ...build.status, ...fields, artifacts: [...artifacts] } } };
}

/** With what was read of Jobs and Pods besides: the watch may lag. */
export function withRunning(facts: Facts): Facts {
  const { jobs, pods } = facts.lookups.running ?? facts;
  return { ...facts, jobs, pods: [...pods, ...facts.pods] };
}

type Stored = Pick<ParsedBuild, 'metadata' | 'conditions' | 'observedGeneration'> &
  Pick<StoredBuild, 'status'> & { readonly spec?: unknown };

export function buildView(build: Stored, options: SpecOptions): BuildView {
  const { metadata, spec, status = {}, conditions = [], observedGeneration } = build;
  const { namespace = '', name, uid, generation = 0, deletionTimestamp, annotations } = metadata;
  return {
    ...{ namespace, name, uid, generation, conditions, observedGeneration },
    deleting: deletionTimestamp !== undefined,
    deletedAt: deletionTimestamp ?? '',
    isOrphaning: metadata.finalizers?.includes(ORPHAN_FINALIZER) === true,
    skipCleanup: annotations?.[SKIP_CLEANUP_ANNOTATION] === 'true',
    spec: withoutLongCommand(checkSpec(spec, options)),
    status: statusIn(status),
  };
}

/** There may be many builds, and a command of each may have 16,384 characters. */
const COMMAND_KEPT = 1_024;

function withoutLongCommand(checked: CheckedSpec): CheckedSpec {
  if (!checked.ok || checked.spec.buildCommand.length <= COMMAND_KEPT) return checked;
  return { ...checked, spec: { ...checked.spec, buildCommand: '' } };
}

/** Of one that a list has. */
export function listedBuildView(object: KubernetesObject, options: SpecOptions): BuildView {
  const { metadata, spec, status = {} } = object as StoredBuild;
  return buildView({ ...status, metadata, spec, status }, options);
}

/** Only names of files are passed to a cleanup Job, and only names of nodes are cleaned. */
function statusIn({ artifacts, jobName, ...status }: BuildStatus): BuildStatus {
  return {
    ...status,
    ...(jobName !== undefined && isJobName(jobName) && { jobName }),
    ...(artifacts && { artifacts: artifacts.filter(isWellFormed) }),
  };
}

function isWellFormed({ node, binary }: Artifact): boolean {
  return isObjectName(node) && isBinaryName(binary);
}

/** Whether the status says so of this generation. */
export function isReported(
  { status, generation, observedGeneration }: BuildView,
  phase: 'Succeeded' | 'Failed' | 'Building',
): boolean {
  return status.phase === phase && observedGeneration === generation;
}

/** Why the status of this generation says that it is not well; undefined: nothing is said. */
export function readyReason({ conditions, generation }: BuildView): string | undefined {
  return conditions.find((each) => each.type === 'Ready' && each.observedGeneration === generation)?.reason;
}
