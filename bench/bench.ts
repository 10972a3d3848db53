import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { VERSION } from '../src/config/version.ts';
import { eventually } from '../testing/eventually.ts';
import { actionsIn } from './actions.ts';
import { countCalls, readFrom, sizeOf, totalOf, type CallCounts } from './audit.ts';
import { timed, type LoadRequest } from './load.ts';
import { percentile } from './percentiles.ts';
import { usageOf, type Usage } from './processes.ts';
import type { Target } from './target.ts';

/** What the operator's client calls itself; the bench's own, of the same code, gives another version. */
const OPERATOR_USER_AGENT = `durable-operator/${VERSION}`;

export interface Bench {
  readonly target: Target;
  readonly temporal: Client;
  readonly taskQueue: string;
  readonly operatorPid: number;
}

/** One line of the results. What could not be measured is absent. */
export interface Result {
  readonly case: string;
  /** How many resources converged. */
  readonly converged: number;
  readonly seconds: number;
  readonly perSecond?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** The operator's, in the whole case, by verb, resource and status code. */
  readonly apiCalls?: CallCounts;
  /** Runs that began in the case. */
  readonly workflows: number;
  /** Of a run, on average over at most 200. */
  readonly eventsPerRun?: number;
  /** What Temporal Cloud would bill of one, as far as its history tells: see actions.ts. */
  readonly actionsPerRun?: number;
  /** In the whole case, by process. */
  readonly cpuMs?: Readonly<Record<string, number>>;
  /** The operator's at the case's end. */
  readonly rssMb?: number;
}

export interface Case extends LoadRequest {
  readonly title: string;
  /** Ends what goes on beside it, before its last run is awaited. */
  readonly endOthers?: () => Promise<void>;
}

/** Runs a case, waits until its last run has closed, and says what it took. @throws Error where something does not converge */
export async function measure(bench: Bench, { title, endOthers, ...load }: Case): Promise<Result> {
  const before = await look(bench);
  const { latenciesMs, elapsedMs } = await timed(load).finally(endOthers);
  await runsClosed(bench);
  const costs = await used(bench, before);
  if (costs.apiCalls !== undefined) requireCalls(title, costs.apiCalls);
  return {
    case: title,
    converged: latenciesMs.length,
    seconds: elapsedMs / 1000,
    ...(load.load === 'at once' ? { perSecond: latenciesMs.length / (elapsedMs / 1000) } : {}),
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    ...costs,
  };
}

/** Nothing converges without a call, so none in the log means that the bench looks for the wrong caller. */
function requireCalls(title: string, calls: CallCounts): void {
  if (totalOf(calls) > 0) return;
  throw new Error(
    `${title}: the audit log has no call of ${OPERATOR_USER_AGENT}; --user names its user there`,
  );
}

/** What the operator does where there is nothing to do. */
export async function measureIdle(bench: Bench, seconds: number): Promise<Result> {
  const before = await look(bench);
  await delay(seconds * 1000);
  return { case: 'idle', converged: 0, seconds, ...(await used(bench, before)) };
}

/** Resolves when Temporal's visibility, which lags half a second and more, has no open run. */
export async function runsClosed({ temporal, taskQueue }: Bench): Promise<void> {
  await delay(VISIBILITY_LAG_MS);
  const open = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
  await eventually(async () => (await temporal.workflow.count(open)).count === 0, 60_000);
}

const VISIBILITY_LAG_MS = 2_000;

/** The state of all counters at a moment. */
interface Look {
  readonly time: Date;
  readonly auditBytes: number;
  readonly usage: Readonly<Record<string, Usage>>;
}

async function look({ target, operatorPid }: Bench): Promise<Look> {
  const auditBytes = target.auditLog === undefined ? 0 : await sizeOf(target.auditLog);
  return { time: new Date(), auditBytes, usage: usages(target, operatorPid) };
}

function usages({ serverPids }: Target, operatorPid: number): Record<string, Usage> {
  const found: Record<string, Usage> = {};
  for (const [name, pid] of Object.entries({ operator: operatorPid, ...serverPids })) {
    const usage = usageOf(pid);
    if (usage !== undefined) found[name] = usage;
  }
  return found;
}

async function used(bench: Bench, before: Look) {
  const { target, operatorPid } = bench;
  const now = usages(target, operatorPid);
  const { auditLog, user } = target;
  const caller = { user, userAgent: OPERATOR_USER_AGENT };
  return {
    ...(auditLog === undefined
      ? {}
      : { apiCalls: countCalls(await readFrom(auditLog, before.auditBytes), caller) }),
    ...(await runsSince(bench, before.time)),
    ...(now['operator'] === undefined
      ? {}
      : { cpuMs: cpuBetween(before.usage, now), rssMb: now['operator'].rssMb }),
  };
}

function cpuBetween(before: Look['usage'], now: Look['usage']): Record<string, number> {
  return Object.fromEntries(
    Object.entries(now).map(([name, { cpuMs }]) => [name, cpuMs - (before[name]?.cpuMs ?? 0)]),
  );
}

const SAMPLED_RUNS = 200;

async function runsSince({ temporal, taskQueue }: Bench, since: Date) {
  const query = `TaskQueue = '${taskQueue}' AND StartTime >= '${since.toISOString()}'`;
  const { count } = await temporal.workflow.count(query);
  const lengths: number[] = [];
  const actions: number[] = [];
  for await (const { historyLength, workflowId, runId } of temporal.workflow.list({ query })) {
    const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
    lengths.push(historyLength);
    actions.push(actionsIn(events ?? []));
    if (lengths.length === SAMPLED_RUNS) break;
  }
  if (lengths.length === 0) return { workflows: count };
  return { workflows: count, eventsPerRun: meanOf(lengths), actionsPerRun: meanOf(actions) };
}

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
}
