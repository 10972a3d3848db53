import { workflowIdFor, type Decision, type DecidedEvent, type NextOf } from '../../api/index.ts';
import type { Facts } from './facts.ts';
import type { CleanupJobSpec } from './jobs.ts';
import type { Artifact, BuildPhase, BuildStatus } from './kind.ts';
import type { BuildReason } from './reasons.ts';

/** A Job to be deleted. */
export interface JobDeletion {
  readonly name: string;
  readonly uid: string;
  readonly purpose: 'build' | 'cleanup';
  /** Foreground: the Job goes after its Pods. Background: it goes at once, since none of its Pods runs. */
  readonly propagation: 'Foreground' | 'Background';
  /** Of one that an earlier build of the same name has left. Absent: it is the build's own, as it was observed. */
  readonly resourceVersion?: string;
  /** Another one takes its place. */
  readonly isReplaced?: true;
}

/** The steps, and what each is given. */
export interface BuildSteps {
  readonly createJob: { readonly hash: string };
  readonly createCleanupJob: CleanupJobSpec & { readonly left: readonly Artifact[] };
  readonly deleteJob: JobDeletion;
}

export type Next = NextOf<BuildSteps, BuildStatus>;

/** What changes in the status. The rest follows from the resource, or stays. */
export interface StatusChange {
  readonly phase: BuildPhase;
  readonly message?: string;
  readonly artifacts?: readonly Artifact[];
  /** Null: no Job is created yet. Absent: as it was. */
  readonly startTime?: string | null;
  /** Null: the last Job has not ended, as far as is known. Absent: as it was. */
  readonly completionTime?: string | null;
}

/** What a rule says of a build: its status, and what comes next. */
export interface BuildVerdict {
  readonly status: StatusChange;
  /** Of the condition `Ready`, unless something is wrong. */
  readonly reason: BuildReason;
  /** What the status has to say before that is done. Default: nothing. */
  readonly record?: readonly (keyof BuildStatus)[];
  /** Recorded once the status says so. */
  readonly event?: DecidedEvent;
  readonly then: (next: Next) => Decision;
}

/** The verdict on what the status will say then, which says it first. */
export function recording(
  verdict: BuildVerdict,
  fields: Pick<StatusChange, 'artifacts' | 'completionTime'>,
  more: Pick<StatusChange, 'message'> & Pick<BuildVerdict, 'event'> = {},
): BuildVerdict {
  const { message = verdict.status.message, event = verdict.event } = more;
  const record = [...(verdict.record ?? []), ...(Object.keys(fields) as (keyof BuildStatus)[])];
  return {
    ...{ ...verdict, record },
    status: { ...verdict.status, ...fields, ...(message !== undefined && { message }) },
    ...(event && { event }),
  };
}

/** Undefined if the rule does not apply. */
export type RuleVerdict = BuildVerdict | undefined;

/** A finished build stays Ready, whatever becomes of the cleanup after an earlier spec. */
export function decisionOf(
  facts: Facts,
  { status, reason, record, event, then }: BuildVerdict,
  next: Next,
): Decision {
  const decided = then(next);
  const fields = buildStatusOf(facts, status);
  const kept = record && Object.fromEntries(record.map((field) => [field, fields[field]]));
  const recorded = kept ? next.record(kept, decided, event ? { event } : {}) : decided;
  return next.reason(reason, recorded, { isReady: status.phase === 'Succeeded' });
}

export function buildStatusOf({ build }: Pick<Facts, 'build'>, change: StatusChange): BuildStatus {
  const { status: before, spec } = build;
  const { phase, message = '', artifacts = before.artifacts ?? [] } = change;
  const { startTime = before.startTime, completionTime = before.completionTime } = change;
  const jobName = spec.ok ? spec.spec.jobName : before.jobName;
  const binaryName = spec.ok ? spec.spec.binaryName : before.binaryName;
  return {
    ...{
      phase,
      message,
      artifacts: [...artifacts],
      workflowId: workflowIdFor({ ...build, controller: 'git-build' }),
    },
    ...(jobName !== undefined && { jobName }),
    ...(binaryName !== undefined && { binaryName }),
    ...(typeof startTime === 'string' && { startTime }),
    ...(typeof completionTime === 'string' && { completionTime }),
  };
}

/** In whole seconds, as Kubernetes writes it. */
export function inWholeSeconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/**
 * How long it is until so much later than a time of the cluster: at most so long, even if the clock there is ahead.
 *
 * @param since RFC 3339; empty: long ago
 */
export function leftMs(since: string, laterMs: number, nowMs: number): number {
  return Math.min((Date.parse(since) || 0) + laterMs - nowMs, laterMs);
}

/** As a wait has it; at least a millisecond. */
export function inMilliseconds(ms: number): string {
  return `${Math.max(Math.ceil(ms), 1)}ms`;
}
