import { cpus, release, totalmem } from 'node:os';
import { eventsApart, totalOf } from './audit.ts';
import type { Result } from './bench.ts';
import { rounded, table, type Cell } from './table.ts';

export interface Versions {
  readonly operator: string;
  readonly kubernetes: string;
  readonly temporal: string;
  readonly node: string;
}

/** Where and when the figures were taken: they mean nothing without it. */
export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly versions: Versions;
  /** The load average of the last minute before the bench began: well under 1 where the machine was quiet. */
  readonly loadBefore: number;
}

export function thisMachine(loadBefore: number, versions: Versions): Machine {
  const processors = cpus();
  return {
    date: new Date().toISOString(),
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryGb: rounded(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()} ${process.arch}`,
    versions,
    loadBefore: rounded(loadBefore),
  };
}

/** JSON lines: the machine first, then one a case. */
export function jsonLines(machine: Machine, results: readonly Result[]): string {
  return [{ machine }, ...results].map((line) => `${JSON.stringify(line)}\n`).join('');
}

const HEAD = [
  'case',
  'n',
  's',
  'p50 ms',
  'p99 ms',
  'per s',
  'API calls',
  'Events',
  'history',
  'actions',
  'CPU ms',
  'Temporal',
  'API server',
  'RSS MB',
];

export function readable(machine: Machine, results: readonly Result[]): string {
  const { date, cpu, cores, memoryGb, system, versions, loadBefore } = machine;
  const calls = results.map(
    (result) => `- ${result.case}: ${callsOf(result)}, ${result.workflows} workflows`,
  );
  return `${[
    table(HEAD, results.map(rowOf)),
    'API calls, Events written and CPU ms are per convergence; in the idle case, of the whole time. History is events per run. Actions are what Temporal Cloud would bill per convergence, without heartbeats. RSS is the operator’s.',
    ['Calls of the operator, without watches and leases:', ...calls].join('\n'),
    `${date}; ${cpu}, ${cores} cores, ${memoryGb} GB; ${system}; operator ${versions.operator}, Kubernetes ${versions.kubernetes}, Temporal ${versions.temporal}, Node ${versions.node}; load ${loadBefore} before the start`,
  ].join('\n\n')}\n`;
}

function rowOf(result: Result): Cell[] {
  const { converged, seconds, p50Ms, p99Ms, perSecond, apiCalls, cpuMs, rssMb } = result;
  const { workflows, eventsPerRun, actionsPerRun } = result;
  const each = (amount: number | undefined) =>
    amount === undefined ? undefined : amount / Math.max(1, converged);
  const calls = apiCalls && eventsApart(apiCalls);
  const actions = actionsPerRun === undefined ? undefined : actionsPerRun * workflows;
  return [
    ...[result.case, converged, seconds, p50Ms, p99Ms, perSecond],
    ...[
      calls && each(totalOf(calls.others)),
      calls && each(totalOf(calls.events)),
      eventsPerRun,
      each(actions),
    ],
    ...[each(cpuMs?.['operator']), each(cpuMs?.['temporal']), each(cpuMs?.['kube-apiserver']), rssMb],
  ];
}

function callsOf({ apiCalls }: Result): string {
  if (apiCalls === undefined) return 'no audit log';
  const parts = Object.entries(apiCalls).map(([call, count]) => `${count} × ${call}`);
  if (parts.length === 0) return 'no calls';
  const { events, others } = eventsApart(apiCalls);
  return `${totalOf(others)} calls, and ${totalOf(events)} for Events: ${parts.join(', ')}`;
}
