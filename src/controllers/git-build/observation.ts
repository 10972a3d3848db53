import type { Cause } from '../../contract/cause.ts';
import type { NextStep, Observe, Refusal, Step } from '../../contract/decision.ts';
import type { CleanupJobSpec } from './jobs.ts';
import type { NodeState } from './node.ts';
import type { Artifact, BuildSpec, StatusPatch } from './resource.ts';
import type { BuildChild, BuildView, JobView, PodView } from './views.ts';

/** Another build that has, or may have, the same files on nodes. */
export interface Sharer {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly artifacts: readonly Artifact[];
}

/** What is known of a build. The watcher fills in the first three; a step also reads what `decide` asks for. */
export interface Observation {
  readonly build: BuildView | 'gone';
  /** The Jobs that carry the UID of this build. */
  readonly jobs: readonly JobView[];
  /** The Pods of those Jobs. */
  readonly pods: readonly PodView[];
  readonly nodes?: Readonly<Record<string, NodeState>> | undefined;
  /** Which Job has the name of one that is to be created. */
  readonly names?: Readonly<Record<string, NameHolder>> | undefined;
  /** Why the Pods of a Job are refused, by the UID of the Job. */
  readonly refusedPods?: Readonly<Record<string, Cause | 'none'>> | undefined;
  /** The other builds that have a file that is to be removed. */
  readonly sharers?: readonly Sharer[] | undefined;
  /** Why the server refused the last step, in its own words without credentials. */
  readonly refusal?: Refusal | undefined;
  /** Read only if a refusal says that the namespace is terminating. Another workflow could have made that up. */
  readonly namespace?: 'there' | 'terminating' | undefined;
}

/** `foreign`: a Job of somebody else. `altered`: a Job of this build whose labels something has changed. */
export type NameHolder = JobView | 'foreign' | 'altered' | 'free';

/** Undefined if it was not read. Every object has a property `constructor`, which is a valid name, too. */
export function knownOf<T>(known: Readonly<Record<string, T>> = {}, name: string): T | undefined {
  return Object.hasOwn(known, name) ? known[name] : undefined;
}

/** A step that writes the build itself. */
interface WriteOfBuild extends Step {
  /** Of the build that the decision was made from. */
  readonly resourceVersion: string;
}

export interface FinalizerStep extends WriteOfBuild {
  readonly do: 'addFinalizer' | 'removeFinalizer';
}

export interface StatusStep extends WriteOfBuild {
  readonly do: 'updateStatus';
  readonly status: StatusPatch;
}

export interface CreateJobStep extends Step {
  readonly do: 'createJob';
  readonly spec: BuildSpec;
  readonly hash: string;
}

export interface CreateCleanupJobStep extends Step {
  readonly do: 'createCleanupJob';
  readonly cleanup: CleanupJobSpec;
}

export interface DeleteJobStep extends Step {
  readonly do: 'deleteJob';
  readonly job: JobView;
  /** Foreground: the Job goes after its Pods. Background: it goes at once, since none of its Pods runs. */
  readonly propagation: 'Foreground' | 'Background';
}

/** What the operator writes: one write each. */
export type BuildStep = FinalizerStep | StatusStep | CreateJobStep | CreateCleanupJobStep | DeleteJobStep;

/** What a decision may need besides the build, its Jobs and its Pods. */
export type BuildObserve =
  | (Observe & { readonly what: 'node'; readonly node: string })
  | (Observe & { readonly what: 'events'; readonly job: JobView })
  | (Observe & { readonly what: 'sharers'; readonly artifacts: readonly Artifact[] })
  | (Observe & { readonly what: 'namespace' })
  | (Observe & { readonly what: 'name'; readonly jobName: string });

export type BuildDecision = NextStep<BuildStep, BuildObserve>;

/** The decision of a rule; undefined if the rule does not apply. */
export type RuleDecision = BuildDecision | undefined;

/** What a decision about an existing build is made from. */
export interface Facts extends Observation {
  readonly build: BuildView;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** An attempt to create the Job, whose outcome nobody knows, may succeed until then; likewise. Absent: there is none. */
  readonly unknownUntilMs?: number | undefined;
}

/** For how many milliseconds yet. */
export function createUnknownForMs({ unknownUntilMs = 0, nowMs }: Facts): number {
  return Math.max(unknownUntilMs - nowMs, 0);
}

/** What the watcher shows of a build. A Job of an earlier build of the same name is not part of it. */
export function watchedObservation(build: BuildView, children: readonly BuildChild[]): Observation {
  const own = children.filter(({ buildUid }) => buildUid === build.uid);
  return {
    build,
    jobs: own.filter((child) => child.kind === 'job'),
    pods: own.filter((child) => child.kind === 'pod'),
  };
}
