import type { ResourceType } from '../../contract/controller.ts';
import type { KubernetesObject, ObjectMeta } from '../../contract/object.ts';
import type { Condition } from '../condition.ts';
import { isObjectName } from '../kinds.ts';

export const BUILD_GROUP = 'test.inspur.com';
export const BUILDS: ResourceType = {
  group: BUILD_GROUP,
  version: 'v1alpha1',
  plural: 'xxxes',
  kind: 'Xxx',
  namespaced: true,
  shortNames: ['xx'],
};
export const BUILD_KIND = { apiVersion: `${BUILDS.group}/${BUILDS.version}`, kind: BUILDS.kind } as const;

export const BUILD_FINALIZER = `job.finalizers.${BUILD_GROUP}`;
/** A finalizer of Kubernetes: the deletion leaves what the build owns. */
export const ORPHAN_FINALIZER = 'orphan';
/** With the value `true`, a build is deleted without cleanup. */
export const SKIP_CLEANUP_ANNOTATION = 'durable-operator.dev/skip-cleanup';

/** On Jobs and their Pods: the UID of the build. Owner references may be removed. */
export const BUILD_UID_LABEL = 'durable-operator.dev/build-uid';
/** On Jobs and their Pods: what the Job is for. */
export const PURPOSE_LABEL = 'durable-operator.dev/job';
export const JOB_PURPOSES = ['build', 'cleanup'] as const;
export type JobPurpose = (typeof JOB_PURPOSES)[number];

export const BUILD_NAME_ANNOTATION = 'durable-operator.dev/build-name';

/** Undefined if no build can have that name: anybody may have written it. */
export function buildNameIn(annotations: ObjectMeta['annotations']): string | undefined {
  const name = annotations?.[BUILD_NAME_ANNOTATION] ?? '';
  return isObjectName(name) ? name : undefined;
}

export const SPEC_HASH_ANNOTATION = 'durable-operator.dev/spec-hash';
export const BINARY_NAME_ANNOTATION = 'durable-operator.dev/binary-name';
/** On cleanup Jobs: the node. */
export const NODE_ANNOTATION = 'durable-operator.dev/node';
/** On cleanup Jobs: what is removed there, with commas. */
export const BINARIES_ANNOTATION = 'durable-operator.dev/binaries';
/** The most that one Job removes. The next Job removes the rest. */
export const BINARIES_MAX = 16;

/** How git may fetch a source. `ssh` also allows `git@host:path`. */
export const GIT_TRANSPORTS = ['https', 'ssh', 'http', 'git'] as const;
export type GitTransport = (typeof GIT_TRANSPORTS)[number];

/** The operator's options for this controller, parsed. */
export interface GitBuildOptions {
  /** Of the Jobs' containers: `golang:1.13`. It has bash, git and coreutils. */
  readonly image: string;
  /** The directory of each node that binaries are copied to: `/opt`. */
  readonly hostDir: string;
  /** How long a Job may take, in milliseconds. */
  readonly deadlineMs: number;
  readonly gitTransports: readonly GitTransport[];
}

/** What to build. A shell reads only `buildCommand` as code. */
export interface BuildSpec {
  /** Where the source is cloned from. */
  readonly gitUrl: string;
  /** Where it is cloned to, in the container: absolute and clean. */
  readonly clonePath: string;
  /** A shell command that builds it, run there. */
  readonly buildCommand: string;
  /** The file that the command leaves there. It is copied to the host directory. */
  readonly binaryName: string;
  /** The name of the Job: a DNS label of at most 56 characters. */
  readonly jobName: string;
}

export const BUILD_PHASES = ['Pending', 'Building', 'Succeeded', 'Failed', 'Cleaning'] as const;
export type BuildPhase = (typeof BUILD_PHASES)[number];

/** A binary that was, or may have been, put into the host directory of a node. */
export interface Artifact {
  readonly node: string;
  readonly binary: string;
}

export interface BuildStatus {
  readonly phase: BuildPhase;
  readonly jobName: string;
  readonly binaryName: string;
  readonly artifacts: readonly Artifact[];
  /** RFC 3339: when the Job was created. Unset before a Job is created: then a create may be in progress. */
  readonly startTime: string;
  /** RFC 3339: when it ended, successfully or not. */
  readonly completionTime: string;
  /** Why, for people. */
  readonly message: string;
  /** The `metadata.generation` that this status is about. */
  readonly observedGeneration: number;
  /** `Ready`, `Stalled` and `Reconciling`. Also `Paused` and `AwaitingApproval` once a step was on hold. */
  readonly conditions: readonly Condition[];
  /** The Temporal workflow with the whole history. */
  readonly workflowId: string;
  /** The last value of the annotation `durable-operator.dev/reconcile-requested-at` that was handled. */
  readonly lastHandledReconcileAt?: string;
  /** The ID of the last approved plan that is completed. */
  readonly lastHandledApproval?: string;
}

/** A merge patch of the status: null removes a field. */
export type StatusPatch = {
  readonly [Field in keyof BuildStatus]?: BuildStatus[Field] | null;
};

/** An Xxx as the API server has it. It may have been stored before the schema became stricter. */
export interface Build extends KubernetesObject {
  readonly spec?: Partial<BuildSpec>;
  readonly status?: Partial<BuildStatus>;
}
