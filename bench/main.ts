/*
 * What a change costs: latency, rate, requests, history and memory of the operator as it is delivered, on a fresh local stack or on given
 * servers. In: sizes. Out: a table, or JSON lines. It fails only where something does not converge; no test depends on its figures.
 */

import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { Client, Connection } from '@temporalio/client';
import { Command, Option } from 'commander';
import { VERSION } from '../src/config/version.ts';
import { NAMESPACES, uniqueName } from '../test/support/cluster.ts';
import { build } from '../test/support/built.ts';
import { measureIdle, runsClosed, type Bench, type Result } from './bench.ts';
import { buildCases } from './build-cases.ts';
import { labelledPodsCase, longNamesCases, longNamespace, namespaceCases, podLabelCases } from './cases.ts';
import { count } from './count.ts';
import { namesOf } from './names.ts';
import { startOperator } from './operator.ts';
import { podSetCases } from './pod-set-cases.ts';
import { jsonLines, readable, thisMachine, type Versions } from './report.ts';
import { freshTarget, givenTarget, type Target } from './target.ts';

interface Options {
  readonly pods: number;
  readonly namespaces: number;
  readonly podSetReplicas: number;
  readonly podSets: number;
  readonly builds: number;
  readonly idle: number;
  readonly longNames?: number;
  readonly large?: true;
  readonly json?: string;
  readonly format: 'table' | 'json';
  readonly kubeconfig?: string;
  readonly temporalAddress?: string;
  readonly auditLog?: string;
  readonly user?: string;
}

const LARGE_PODS = 10_000;

function program(): Command {
  return new Command('bench')
    .description('Measures the operator on a local stack. Fails only where something does not converge.')
    .option('--pods <count>', 'how many are annotated at once', count, 1_000)
    .option('--namespaces <count>', 'how many are created at once', count, 300)
    .option('--pod-set-replicas <count>', 'how many Pods the one large PodSet has', count, 300)
    .option('--pod-sets <count>', 'how many PodSets of ten Pods are scaled at once', count, 20)
    .option('--builds <count>', 'how many Xxx are created and deleted at once', count, 60)
    .option('--idle <seconds>', 'how long it is watched doing nothing', count, 60)
    .option('--long-names <count>', 'also beside so many Pods with the longest names (default: never)', count)
    .option('--large', `with ${LARGE_PODS} labelled pods more`)
    .option('--json <file>', 'write the results there too, as JSON lines')
    .addOption(new Option('--format <format>', 'what is printed').choices(['table', 'json']).default('table'))
    .addOption(
      new Option('--kubeconfig <file>', 'a cluster that runs already, whose user may do everything').env(
        'KUBECONFIG',
      ),
    )
    .addOption(
      new Option('--temporal-address <address>', 'a Temporal server that runs already').env(
        'TEMPORAL_ADDRESS',
      ),
    )
    .option('--audit-log <file>', "the cluster's audit log, as JSON lines")
    .option('--user <name>', "what that log calls the kubeconfig's user (default: admin)");
}

async function main(): Promise<void> {
  const options = program().parse().opts<Options>();
  const loadBefore = loadavg()[0] ?? Number.NaN;
  const openTarget = targetOpener(options);
  say('building');
  await build();
  const target = await openTarget();
  try {
    const results = await measureAll(target, options);
    const machine = thisMachine(loadBefore, await versionsOf(target));
    const lines = jsonLines(machine, results);
    if (options.json !== undefined) await writeFile(options.json, lines);
    process.stdout.write(options.format === 'json' ? lines : readable(machine, results));
  } finally {
    await target.close();
  }
}

async function versionsOf({ cluster, temporalAddress }: Target): Promise<Versions> {
  const { gitVersion } = await cluster.client.request<{ gitVersion: string }>({
    method: 'GET',
    path: '/version',
  });
  const connection = await Connection.connect({ address: temporalAddress });
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  await connection.close();
  return { operator: VERSION, kubernetes: gitVersion, temporal: serverVersion, node: process.version };
}

/** A wrong combination of options is told before the build, which takes a while. */
function targetOpener(options: Options): () => Promise<Target> {
  const { kubeconfig, temporalAddress, auditLog, user } = options;
  if (kubeconfig === undefined) {
    return async () => ({
      ...(await freshTarget(say)),
      ...(temporalAddress !== undefined && { temporalAddress }),
    });
  }
  if (temporalAddress === undefined) {
    throw new Error('--kubeconfig (or KUBECONFIG) needs --temporal-address (or TEMPORAL_ADDRESS), too');
  }
  return () => givenTarget({ kubeconfig, temporalAddress, auditLog, user });
}

async function measureAll(target: Target, options: Options): Promise<Result[]> {
  const name = uniqueName().replace('test', 'bench');
  const connection = await Connection.connect({ address: target.temporalAddress });
  const temporal = new Client({ connection });
  try {
    const operator = await startOperator(target, name);
    try {
      const bench: Bench = { target, temporal, taskQueue: name, operatorPid: operator.pid };
      await runsClosed(bench);
      return await runCases(bench, name, options);
    } finally {
      await operator.end('SIGTERM');
    }
  } finally {
    if (target.isShared) await removeAll(target, name, options);
    await connection.close();
  }
}

async function runCases(bench: Bench, name: string, options: Options): Promise<Result[]> {
  const { pods, namespaces, podSetReplicas, podSets, builds, idle, longNames, large } = options;
  const results: Result[] = [];
  say(`pod-label: ${pods} pods`);
  results.push(...(await podLabelCases(bench, name, pods)));
  say(`namespace-role-binding: ${namespaces} namespaces`);
  results.push(...(await namespaceCases(bench, name, namespaces)));
  if (longNames !== undefined) {
    say(`pod-label: beside ${longNames} with the longest names`);
    results.push(...(await longNamesCases(bench, name, longNames)));
  }
  say(`pod-set: one of ${podSetReplicas} Pods, and ${podSets} small ones`);
  const sets = { namespace: `${name}-pod-sets`, replicas: podSetReplicas, sets: podSets };
  results.push(...(await podSetCases(bench, sets)));
  say(`build: ${builds} Xxx`);
  results.push(...(await buildCases(bench, { namespace: `${name}-builds`, count: builds })));
  for (const labelled of large === true ? [pods, LARGE_PODS] : [pods]) {
    say(`${labelled} labelled pods more`);
    const last = await labelledPodsCase(bench, `${name}-labelled-${labelled}`, labelled);
    results.push({ ...last, case: `${labelled} labelled pods` });
  }
  say(`${idle} s of nothing`);
  results.push(await measureIdle(bench, idle));
  return results;
}

async function removeAll({ cluster }: Target, name: string, { namespaces, pods }: Options): Promise<void> {
  const created = [
    ...[
      name,
      `${name}-pod-sets`,
      `${name}-builds`,
      ...['beside', 'short'].map((each) => `${name}-${each}`),
      longNamespace(name),
      ...[pods, LARGE_PODS].map((labelled) => `${name}-labelled-${labelled}`),
    ],
    ...namesOf(`${name}-rest`, namespaces),
    ...namesOf(`${name}-once`, namespaces),
  ];
  for (const namespace of created) await cluster.delete({ type: NAMESPACES, name: namespace });
}

function say(message: string): void {
  process.stderr.write(`bench: ${message}\n`);
}

try {
  await main();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
