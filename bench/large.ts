import { setTimeout as pause } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { POD_NAME_LABEL } from '../src/controllers/pod-label/controller.ts';
import { POD_SETS } from '../src/controllers/pod-set/resource.ts';
import { build } from '../test/support/built.ts';
import { PODS, uniqueName, type TestCluster } from '../test/support/cluster.ts';
import { CLAIMED, LARGE_KINDS, type LargeKind } from '../test/support/large-objects.ts';
import { aPodSet } from '../test/support/pod-sets.ts';
import { aPod } from '../test/support/pods.ts';
import { count } from './count.ts';
import { inFlight } from './load.ts';
import { namesOf } from './names.ts';
import { startOperator, type BenchOperator } from './operator.ts';
import { usageOf } from './processes.ts';
import { table, type Cell } from './table.ts';
import { freshTarget, type Target } from './target.ts';

/*
 * Whether one namespace can stop the operator by the size of its objects: `npm run bench:large` creates 1,000 objects with
 * 250 KiB of annotations of each kind that the operator watches, and shows how long a Pod of another namespace waits for its
 * label meanwhile and after a restart, and how much memory the operator takes.
 */

interface Options {
  readonly count: number;
  readonly kinds: readonly LargeKind[];
}

async function main(options: Options): Promise<void> {
  await build();
  for (const kind of options.kinds) {
    const target = await freshTarget(say);
    try {
      await measured(target, kind, options.count);
    } finally {
      await target.close();
    }
  }
}

async function measured(target: Target, { type, manifest }: LargeKind, objects: number): Promise<void> {
  const { cluster } = target;
  const [crowded, other, taskQueue] = [await cluster.aNamespace(), await cluster.aNamespace(), uniqueName()];
  const first = await startOperator(target, taskQueue);
  say(`creating ${objects} ${type.plural}`);
  await inFlight(namesOf('large', objects), (name) => cluster.create(type, manifest(crowded, name)));
  // Its steps list the Pods, and adopt them.
  if (type === PODS)
    await cluster.create(POD_SETS, aPodSet().in(crowded).named(CLAIMED).wanting(objects).manifest);
  const before = await served(cluster, other, 'before');
  const whileRunning = await ended(first, 'SIGKILL');

  const beganMs = performance.now();
  const starting = startOperator(target, taskQueue).then((operator) => ({
    operator,
    readyS: secondsSince(beganMs),
  }));
  const [{ operator: second, readyS }, after] = await Promise.all([
    starting,
    served(cluster, other, 'after'),
  ]);
  const afterRestart = await ended(second, 'SIGTERM');
  print([type.plural, before, whileRunning, after, readyS, afterRestart]);
}

const HEAD = ['1,000 large', 'label s', 'peak MB', 'restarted: label s', 'ready s', 'peak MB'];
/** Time for what else the objects set in motion. */
const SETTLE_MS = 10_000;

/** @returns the most memory that it took, in MB */
async function ended(operator: BenchOperator, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | undefined> {
  await pause(SETTLE_MS);
  if (operator.ended.aborted) throw new Error('the operator ended');
  const peakMb = usageOf(operator.pid)?.peakMb;
  await operator.end(signal);
  return peakMb;
}

/** @returns after how many seconds a Pod has its label */
async function served(cluster: TestCluster, namespace: string, name: string): Promise<number> {
  const beganMs = performance.now();
  await cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest);
  for (;;) {
    const pod = await cluster.get({ type: PODS, namespace, name });
    if (pod?.metadata.labels?.[POD_NAME_LABEL] === name) return secondsSince(beganMs);
    if (secondsSince(beganMs) > 120) throw new Error(`Pod ${namespace}/${name} has no label after 120 s`);
    await pause(50);
  }
}

function secondsSince(beganMs: number): number {
  return (performance.now() - beganMs) / 1_000;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function print(row: readonly Cell[]): void {
  process.stdout.write(`${table(HEAD, [row])}\n\n`);
}

function kindsIn(text: string): readonly LargeKind[] {
  const names = text.split(',');
  const kinds = LARGE_KINDS.filter(({ type }) => names.includes(type.plural));
  if (kinds.length !== names.length)
    throw new InvalidArgumentError(`They are ${LARGE_KINDS.map(({ type }) => type.plural).join(', ')}.`);
  return kinds;
}

const options = new Command('bench:large')
  .description(
    'Measures what large objects of one namespace cost the others. Each kind has servers of its own.',
  )
  .option('--count <count>', 'how many objects', count, 1_000)
  .option('--kinds <plurals>', 'of which kinds, with commas', kindsIn, LARGE_KINDS)
  .parse()
  .opts<Options>();
await main(options);
