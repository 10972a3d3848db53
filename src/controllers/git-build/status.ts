import { workflowIdFor } from '../../contract/resource.ts';
import type { DecisionEvent } from '../../contract/decision.ts';
import { conditionsAfter, withReconciling, type Finding, rfc3339 } from '../condition.ts';
import { canonicalText } from '../fields.ts';
import { createUnknownForMs, type BuildStep, type Facts, type RuleDecision } from './observation.ts';
import type { BuildReason } from './reasons.ts';
import type { Artifact, BuildPhase, BuildStatus, StatusPatch } from './resource.ts';
import type { BuildView, PodView } from './views.ts';

/** What changes in the status. The rest follows from the resource, or stays. */
export interface StatusChange {
  readonly phase: BuildPhase;
  /** Why it is ready, which it is in the phase Succeeded, or why it is not. */
  readonly reason: BuildReason;
  readonly message?: string;
  /** Somebody has to do something. */
  readonly stalled?: boolean;
  readonly artifacts?: readonly Artifact[];
  /** Null: no Job is created yet. Absent: as it was, and it stays so while nobody knows the outcome of a create. */
  readonly startTime?: string | null;
  /** Null: the last Job has not ended, as far as is known. Absent: as it was. */
  readonly completionTime?: string | null;
}

/** A step that writes the status. */
export interface Report extends StatusChange {
  /** Why the step is needed: `the Job has succeeded`. */
  readonly because: string;
  readonly event?: DecisionEvent;
}

export function report(facts: Facts, { because, event, ...change }: Report): BuildStep {
  const { resourceVersion } = facts.build;
  const status = statusPatch(facts, change);
  return { do: 'updateStatus', because, resourceVersion, status, ...(event && { event }) };
}

/** Undefined if the status says so already. */
export function reportIfNew(facts: Facts, change: Report): RuleDecision {
  return isAlready(facts.build.status, statusPatch(facts, change)) ? undefined : report(facts, change);
}

/** Whether the status says so of this generation. */
export function isReported(
  { status, generation }: BuildView,
  phase: 'Succeeded' | 'Failed' | 'Building',
): boolean {
  return status.phase === phase && status.observedGeneration === generation;
}

/** Whether the status is about the spec, not about a Job. */
export function isReportedInvalid({ status }: BuildView): boolean {
  return status.conditions?.some(({ reason }) => reason === 'InvalidSpec') ?? false;
}

function statusPatch(facts: Facts, change: StatusChange): StatusPatch {
  const { build, nowMs } = facts;
  const { phase, message = '', artifacts, startTime, completionTime } = change;
  const { status, spec } = build;
  return {
    phase,
    message,
    observedGeneration: build.generation,
    workflowId: workflowIdFor({ ...build, controller: 'git-build' }),
    conditions: conditionsAfter(status.conditions ?? [], findingsOf(change), {
      generation: build.generation,
      now: rfc3339(nowMs),
    }),
    artifacts: artifacts ?? status.artifacts ?? [],
    ...(spec.ok && { jobName: spec.spec.jobName, binaryName: spec.spec.binaryName }),
    // A startTime says that no create can come any more: only that lets a deletion go on at once.
    ...(startTime !== undefined && (startTime === null || createUnknownForMs(facts) === 0) && { startTime }),
    ...(completionTime !== undefined && { completionTime }),
  };
}

type BuildFinding = Finding & { readonly reason: BuildReason };

/** A finished build stays Ready, whatever becomes of the cleanup after an earlier spec. */
function findingsOf({ phase, reason, message = '', stalled }: StatusChange): readonly Finding[] {
  const status = phase === 'Succeeded' ? 'True' : 'False';
  const readiness: BuildFinding = { type: 'Ready', status, reason, message };
  const stall: BuildFinding =
    stalled === true
      ? { type: 'Stalled', status: 'True', reason, message }
      : { type: 'Stalled', status: 'False', reason: 'InProgress', message: '' };
  return withReconciling(readiness, stall);
}

/** Whether the patch would change nothing. */
function isAlready(status: Partial<BuildStatus>, patch: StatusPatch): boolean {
  const current = new Map<string, unknown>(Object.entries(status));
  return Object.entries(patch).every(
    ([field, value]) => canonicalText(current.get(field) ?? null) === canonicalText(value),
  );
}

/** Each once, sorted. The same list if there is nothing to add. */
export function united(some: readonly Artifact[], others: readonly Artifact[]): readonly Artifact[] {
  const added = others.filter((other, index) => !holds(some, other) && !holds(others.slice(0, index), other));
  return added.length === 0 ? some : [...some, ...added].sort(byNodeAndBinary);
}

export function without(some: readonly Artifact[], others: readonly Artifact[]): readonly Artifact[] {
  return some.filter((each) => !holds(others, each));
}

function holds(artifacts: readonly Artifact[], { node, binary }: Artifact): boolean {
  return artifacts.some((each) => each.node === node && each.binary === binary);
}

function byNodeAndBinary(a: Artifact, b: Artifact): number {
  return compare(a.node, b.node) || compare(a.binary, b.binary);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A binary may be wherever a Pod of a build ran, or may run by now. */
function artifactsOf(pods: readonly PodView[]): readonly Artifact[] {
  return pods.filter(mayHaveWritten).map(({ node, binary }) => ({ node, binary }));
}

/** A Pod on a node may have started since it was read, unless the kubelet says what prevents it. */
function mayHaveWritten({ purpose, node, binary, started, phase, trouble }: PodView): boolean {
  if (purpose !== 'build' || node === '' || binary === '') return false;
  return started || (phase === 'unfinished' && trouble === undefined);
}

const NOTHING: readonly Artifact[] = [];

/** The artifacts of the status, and those that these Pods add. */
export function recorded({ status }: BuildView, pods: readonly PodView[]): readonly Artifact[] {
  return united(status.artifacts ?? NOTHING, artifactsOf(pods));
}

/** What an earlier spec has left on nodes. */
export function obsoleteArtifacts({ spec, status }: BuildView): readonly Artifact[] {
  if (!spec.ok) return [];
  return (status.artifacts ?? []).filter(({ binary }) => binary !== spec.spec.binaryName);
}

/** `helloworld on node-1, node-2` */
export function listed(artifacts: readonly Artifact[]): string {
  const binaries = [...new Set(artifacts.map(({ binary }) => binary))];
  const nodesOf = (name: string) => artifacts.filter(({ binary }) => binary === name).map(({ node }) => node);
  return binaries.map((binary) => `${binary} on ${nodesOf(binary).join(', ')}`).join('; ');
}
