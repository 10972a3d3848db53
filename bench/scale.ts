import { setTimeout as pause } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import type { OperatorProcess } from '../testing/stack/operator-process.ts';
import type { KubernetesList } from '../src/contract/object.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../src/controllers/pod-label/controller.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { build } from '../test/support/built.ts';
import { PODS, uniqueName, type TestCluster } from '../test/support/cluster.ts';
import { aPod, type PodBuilder } from '../test/support/pods.ts';
import { count } from './count.ts';
import { inFlight } from './load.ts';
import { namesOf } from './names.ts';
import { startOperator } from './operator.ts';
import { usageOf } from './processes.ts';
import { table, type Cell } from './table.ts';
import { freshTarget, type Target } from './target.ts';

/*
 * How much one machine carries: how long the operator takes to know so many Pods, and what it needs to watch them; how long an
 * install takes where so many resources need work at once; and what more worker processes bring: `npm run bench:scale`.
 */

interface Options {
  readonly watched: readonly number[];
  readonly install: readonly number[];
  readonly workers: readonly number[];
  readonly labels: number;
  readonly idle: number;
  readonly temporalAddress?: string;
}

const LOOK_EVERY_MS = 1_000;

async function main(options: Options): Promise<void> {
  await build();
  for (const pods of options.watched)
    await onFreshServers(options, (target) => watched(target, pods, options));
  for (const pods of options.install) await onFreshServers(options, (target) => installed(target, pods));
  for (const workers of options.workers)
    await onFreshServers(options, (target) => withWorkers(target, workers, options.labels));
}

async function onFreshServers(
  { temporalAddress }: Options,
  measure: (target: Target) => Promise<void>,
): Promise<void> {
  const fresh = await freshTarget(say);
  try {
    await measure({ ...fresh, ...(temporalAddress !== undefined && { temporalAddress }) });
  } finally {
    await fresh.close();
  }
}

/** All of them are up to date: what is measured is to know them. */
async function watched(target: Target, pods: number, { idle }: Options): Promise<void> {
  await createPods(target.cluster, pods, (pod, name) => pod.labelled({ [POD_NAME_LABEL]: name }));
  const beganMs = performance.now();
  const operator = await startOperator(target, uniqueName());
  const readyS = secondsSince(beganMs);
  const first = usageOf(operator.pid);
  await pause(idle * 1_000);
  const last = usageOf(operator.pid);
  await operator.end('SIGTERM');
  print(
    ['Pods watched', 'ready s', 'CPU s until then', 'peak MB', 'RSS MB', `CPU ms in ${idle} s at rest`],
    [
      ...[pods, readyS, first && first.cpuMs / 1_000, last?.peakMb, last?.rssMb],
      last && first && last.cpuMs - first.cpuMs,
    ],
  );
}

/** None has its label yet when the operator comes. */
async function installed(target: Target, pods: number): Promise<void> {
  await createPods(target.cluster, pods);
  const beganMs = performance.now();
  const operator = await startOperator(target, uniqueName());
  await untilLabelled(target.cluster);
  const seconds = secondsSince(beganMs);
  const usage = usageOf(operator.pid);
  await operator.end('SIGTERM');
  print(
    ['Pods that need a label', 's', 'per s', 'operator CPU s', 'peak MB'],
    [...[pods, seconds, pods / seconds, usage && usage.cpuMs / 1_000, usage?.peakMb]],
  );
}

/** One watcher, and so many workers, each a process of its own. */
async function withWorkers(target: Target, workers: number, labels: number): Promise<void> {
  await createPods(target.cluster, labels, (pod) => pod.annotated('false'));
  const taskQueue = uniqueName();
  const started: OperatorProcess[] = [];
  try {
    for (const command of ['watch' as const, ...Array.from({ length: workers }, () => 'work' as const)])
      started.push(await startOperator(target, taskQueue, [], command));
    const beganMs = performance.now();
    await everyPod(labels, (namespace, name) =>
      target.cluster.patch(
        { type: PODS, namespace, name },
        { metadata: { annotations: { [POD_NAME_ANNOTATION]: 'true' } } },
      ),
    );
    await untilLabelled(target.cluster);
    const seconds = secondsSince(beganMs);
    const cpuS = started.map(({ pid }) => (usageOf(pid)?.cpuMs ?? Number.NaN) / 1_000);
    print(
      ['workers', 'labels', 's', 'per s', 'watcher CPU s', 'workers CPU s'],
      [
        ...[workers, labels, seconds, labels / seconds, cpuS[0]],
        cpuS.slice(1).reduce((sum, each) => sum + each, 0),
      ],
    );
  } finally {
    await Promise.all(started.map((each) => each.end('SIGTERM')));
  }
}

/** A namespace each, as in a cluster: names repeat in them. */
const PODS_PER_NAMESPACE = 1_000;

async function createPods(
  cluster: TestCluster,
  count: number,
  adjusted: (pod: PodBuilder, name: string) => PodBuilder = (pod) => pod,
): Promise<void> {
  say(`creating ${count} Pods`);
  for (let i = 0; i < count / PODS_PER_NAMESPACE; i += 1) await cluster.createNamespace(namespaceOf(i));
  await everyPod(count, (namespace, name) =>
    cluster.create(PODS, adjusted(aPod().in(namespace).named(name).annotated(), name).manifest),
  );
}

async function everyPod(
  count: number,
  act: (namespace: string, name: string) => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < count / PODS_PER_NAMESPACE; i += 1) {
    const names = namesOf('pod', Math.min(PODS_PER_NAMESPACE, count - i * PODS_PER_NAMESPACE));
    await inFlight(names, (name) => act(namespaceOf(i), name));
  }
}

const namespaceOf = (index: number) => `bench-${index}`;

async function untilLabelled({ client }: TestCluster): Promise<void> {
  const query = {
    labelSelector: `!${POD_NAME_LABEL}`,
    fieldSelector: 'metadata.namespace!=kube-system',
    limit: '1',
  };
  for (;;) {
    const { items } = await client.request<KubernetesList>({
      method: 'GET',
      path: resourcePath(PODS, {}),
      query,
    });
    if (items?.length === 0) return;
    await pause(LOOK_EVERY_MS);
  }
}

function secondsSince(beganMs: number): number {
  return (performance.now() - beganMs) / 1_000;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function print(head: readonly string[], row: readonly Cell[]): void {
  process.stdout.write(`${table(head, [row])}\n\n`);
}

function counts(text: string): readonly number[] {
  if (text === '0') return [];
  if (!/^[1-9]\d*(,[1-9]\d*)*$/.test(text))
    throw new InvalidArgumentError('They are numbers from 1, with commas; 0 for none.');
  return text.split(',').map(Number);
}

const options = new Command('bench:scale')
  .description('Measures how much one machine carries. Each case has servers of its own.')
  .option('--watched <counts>', 'how many Pods are watched, all up to date', counts, [10_000, 100_000])
  .option('--install <counts>', 'how many Pods need a label when the operator comes', counts, [10_000])
  .option('--workers <counts>', 'how many worker processes share the work', counts, [1, 2, 4])
  .option('--labels <count>', 'how many Pods they label', count, 2_000)
  .option('--idle <seconds>', 'how long the operator is watched at rest', count, 400)
  .option('--temporal-address <address>', 'a Temporal server that runs already (default: the local one)')
  .parse()
  .opts<Options>();
await main(options);
