import { workflowIdFor } from '../../contract/resource.ts';
import { conditionsAfter, type Finding } from '../condition.ts';
import type { BuildView } from './build-view.ts';
import type { Artifact, BuildPhase, BuildStatus } from './resource.ts';

/** A merge patch of the status: null removes a field. */
export type StatusPatch = {
  readonly [Field in keyof BuildStatus]?: BuildStatus[Field] | null;
};

/** What of the status is another now; the rest follows from the resource, or stays. */
export interface StatusChange {
  readonly phase: BuildPhase;
  /** Why it is not ready, in CamelCase. */
  readonly reason: string;
  readonly message?: string;
  readonly ready?: boolean;
  /** Somebody has to do something. */
  readonly stalled?: boolean;
  readonly artifacts?: readonly Artifact[];
  /** Null: no Job has begun; absent: as it was. */
  readonly startTime?: string | null;
  /** Null: the end of the last Job was not reported yet; absent: as it was. */
  readonly completionTime?: string | null;
}

export function statusPatch(build: BuildView, change: StatusChange, nowMs: number): StatusPatch {
  const { phase, message = '', artifacts, startTime, completionTime } = change;
  const { status, spec } = build;
  return {
    phase,
    message,
    observedGeneration: build.generation,
    workflowId: workflowIdFor({ ...build, controller: 'build' }),
    conditions: conditionsAfter(status.conditions ?? [], findingsOf(change), {
      generation: build.generation,
      now: rfc3339(nowMs),
    }),
    artifacts: artifacts ?? status.artifacts ?? [],
    ...(spec.ok && { jobName: spec.spec.jobName, binaryName: spec.spec.binaryName }),
    ...(startTime !== undefined && { startTime }),
    ...(completionTime !== undefined && { completionTime }),
  };
}

/** For a build that nobody has read, of which the generation alone is known: it was ready. */
export function cleaningPatch(generation: number, nowMs: number): StatusPatch {
  const context = { generation, now: rfc3339(nowMs) };
  return {
    phase: 'Cleaning',
    message: '',
    observedGeneration: generation,
    conditions: conditionsAfter([], findingsOf({ phase: 'Cleaning', reason: 'Cleaning' }), context),
  };
}

function findingsOf({ reason, message = '', ready, stalled }: StatusChange): Finding[] {
  return [
    { type: 'Ready', status: ready === true ? 'True' : 'False', reason, message },
    stalled === true
      ? { type: 'Stalled', status: 'True', reason, message }
      : { type: 'Stalled', status: 'False', reason: 'InProgress', message: '' },
  ];
}

/** Whether the patch would change nothing. */
export function isAlready(status: Partial<BuildStatus>, patch: StatusPatch): boolean {
  const current = new Map<string, unknown>(Object.entries(status));
  return Object.entries(patch).every(
    ([field, value]) => canonical(current.get(field) ?? null) === canonical(value),
  );
}

/** The same text for the same value, whatever the order of its fields. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => compare(a, b)))
      : inner,
  );
}

/** In whole seconds, as Kubernetes writes it. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Both, each once, in an order that depends on nothing else. */
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
