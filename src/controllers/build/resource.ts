import type { KubernetesObject } from '../../contract/object.ts';
import type { Condition } from '../condition.ts';

export const BUILD_GROUP = 'test.inspur.com';
export const BUILD_KIND = { apiVersion: `${BUILD_GROUP}/v1alpha1`, kind: 'Xxx' } as const;
export const BUILDS = { group: BUILD_GROUP, version: 'v1alpha1', plural: 'xxxes' } as const;

/** What is to be built. Everything but `buildCommand` is a mere value: no shell ever reads it as code. */
export interface BuildSpec {
  /** Where the source is cloned from. */
  readonly gitUrl: string;
  /** Where it is cloned to, in the container: absolute and clean. */
  readonly clonePath: string;
  /** A shell command that builds it, run there. */
  readonly buildCommand: string;
  /** The file that the command leaves there, and that is copied to the host directory. */
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
  /** RFC 3339: when the Job was created. */
  readonly startTime: string;
  /** RFC 3339: when it ended, well or not. */
  readonly completionTime: string;
  /** Why it is so, for people. */
  readonly message: string;
  /** The `metadata.generation` that this status is about. */
  readonly observedGeneration: number;
  /** `Ready` and `Stalled`. */
  readonly conditions: readonly Condition[];
  /** Of the Temporal workflow that tells the whole story. */
  readonly workflowId: string;
}

/** An Xxx as the API server has it: what its schema refuses today may have been stored before. */
export interface Build extends KubernetesObject {
  readonly spec?: Partial<BuildSpec>;
  readonly status?: Partial<BuildStatus>;
}
