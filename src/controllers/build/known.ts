import type { BuildView } from './build-view.ts';
import type { JobView } from './job-view.ts';
import type { Observation, Step, StepEvent } from './observation.ts';
import type { BuildSpec } from './resource.ts';
import { isAlready, statusPatch, type StatusChange } from './status.ts';

/** An observation of a resource that is there. */
export interface Known extends Omit<Observation, 'build'> {
  readonly build: BuildView;
}

/** A living build with a valid spec. */
export interface Wanted extends Known {
  readonly spec: BuildSpec;
  readonly hash: string;
  readonly nowMs: number;
}

/** A step, or undefined where a rule has nothing to say. */
export type Decision = Step | undefined;

/** Nobody tells of what the watcher does not see, such as somebody else's Job that goes. */
export const NET_MS = 60_000;
/** The end of a Job is told; this is for when it is not. */
export const JOB_NET_MS = 300_000;
/** The end of a Pod without a Job is not told. */
export const ORPHAN_NET_MS = 10_000;
/** What is being collected as garbage goes soon. */
export const LEFTOVER_NET_MS = 2_000;

export function writeStatus(build: BuildView, change: StatusChange, nowMs: number, event?: StepEvent): Step {
  const { resourceVersion } = build;
  const status = statusPatch(build, change, nowMs);
  return { do: 'write-status', resourceVersion, status, ...(event && { event }) };
}

/** Undefined where the status says so already. */
export function writeIfNew(
  build: BuildView,
  change: StatusChange,
  nowMs: number,
  event?: StepEvent,
): Decision {
  const status = statusPatch(build, change, nowMs);
  return isAlready(build.status, status) ? undefined : writeStatus(build, change, nowMs, event);
}

/** Whether the status says that of this very generation. */
export function isReported(
  { status, generation }: BuildView,
  phase: 'Succeeded' | 'Failed' | 'Building',
): boolean {
  return status.phase === phase && status.observedGeneration === generation;
}

/** Whether a Job is the one that the spec calls for. */
export function isRight(job: JobView, { hash, spec }: Pick<Wanted, 'hash' | 'spec'>): boolean {
  return job.purpose === 'build' && job.hash === hash && job.name === spec.jobName;
}
