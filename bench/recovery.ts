import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { buildServers } from '../local/build.ts';
import { durableOperator } from '../src/durable-operator.ts';
import { definitionsOf } from '../src/program/generate/definition.ts';
import { applyCustomResources } from '../local/custom-resources.ts';
import { layoutOf } from '../local/stack-folder.ts';
import { RESOURCE_QUOTAS } from '../src/controllers/kinds.ts';
import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../src/controllers/pod-label/controller.ts';
import { POD_SETS, type PodSet } from '../src/controllers/pod-set/resource.ts';
import { resourcePath } from '../src/kubernetes/paths.ts';
import { build } from '../test/support/built.ts';
import { PODS, TestCluster, uniqueName } from '../test/support/cluster.ts';
import { startInstalledStack, type InstalledStack } from '../test/support/installed-stack.ts';
import { aPodSet } from '../test/support/pod-sets.ts';
import { aPod } from '../test/support/pods.ts';
import { count } from './count.ts';
import { Failover } from './second-api-server.ts';
import { startOperator } from './operator.ts';

/*
 * How long the operator takes until all is done again after its servers were away, lost what they had, or went back to an
 * older state: `npm run bench:recovery`. Each case has servers of its own, from the project's own files.
 */

const GIVE_UP_MS = 300_000;
const LOOK_EVERY_MS = 500;
const CLUSTER = ['kwok', 'kube-scheduler', 'kube-controller-manager', 'kube-apiserver'] as const;

const CASES = ['etcd-wiped', 'etcd-restored', 'failover', 'temporal-wiped', 'temporal-away'] as const;
type Case = (typeof CASES)[number];

interface Options {
  readonly cases: readonly Case[];
  readonly changes: number;
  readonly outages: number;
  readonly away: number;
  readonly podSets: number;
  readonly stacks: number;
}

interface World {
  readonly stack: InstalledStack;
  readonly cluster: TestCluster;
  readonly namespace: string;
}

async function main(options: Options): Promise<void> {
  // Once: the stacks of a case start side by side.
  await Promise.all([build(), buildServers()]);
  for (const each of options.cases) await measured(each, options);
}

function measured(name: Case, { changes, outages, away, podSets, stacks }: Options): Promise<unknown> {
  const awayMs = away * 1_000;
  switch (name) {
    case 'etcd-wiped':
      return inAWorld('etcd wiped', etcdWiped);
    case 'etcd-restored':
      return inAWorld('etcd restored to an older state', etcdRestored);
    case 'failover':
      return inAWorld(
        'etcd restored under a second API server, watches of the first end in order',
        failedOver,
      );
    case 'temporal-wiped':
      return inAWorld(`Temporal wiped while ${podSets} PodSets wait for quota`, (it) =>
        temporalWiped(it, podSets),
      );
    case 'temporal-away':
      return Promise.all(
        Array.from({ length: stacks }, (_, index) =>
          // One after the other, so that each recovers while all others are away.
          inAWorld(`Temporal away for ${away} s, ${changes} changes, ${outages} times`, (it) =>
            temporalAway(it, { changes, outages, awayMs, firstAfterMs: (index * awayMs) / stacks }),
          ),
        ),
      );
  }
}

async function inAWorld(name: string, measure: (world: World) => Promise<readonly number[]>): Promise<void> {
  const stack = await startInstalledStack(() => undefined);
  const cluster = new TestCluster(stack.kubeconfig);
  // As a person with all rights: what grants the operator's own is lost with etcd, too.
  const operator = await startOperator(stack, uniqueName(), ['--log-level', 'error']);
  try {
    const seconds = await measure({ stack, cluster, namespace: await cluster.aNamespace() });
    print(`${name}: all done after ${seconds.map((each) => each.toFixed(1)).join(', ')} s`);
  } finally {
    await operator.end('SIGTERM');
    await cluster.close();
    await stack.stop();
  }
}

async function etcdWiped({ stack, cluster, namespace }: World): Promise<readonly number[]> {
  await labelled(cluster, namespace, ['before']);
  const { etcdData } = layoutOf(stack.dir);
  await withoutCluster(stack, () => rm(etcdData, { recursive: true }));
  return [
    await secondsUntil(async () => {
      await applyCustomResources(cluster.client, definitionsOf(durableOperator));
      await labelled(cluster, await cluster.aNamespace(), ['after']);
    }),
  ];
}

async function etcdRestored({ stack, cluster, namespace }: World): Promise<readonly number[]> {
  const { etcdData } = layoutOf(stack.dir);
  const saved = join(stack.dir, 'etcd.saved');
  await labelled(cluster, namespace, ['before']);
  await withoutCluster(stack, () => cp(etcdData, saved, { recursive: true }));
  await labelled(cluster, namespace, ['lost-1', 'lost-2', 'lost-3']);
  await withoutCluster(stack, async () => {
    await rm(etcdData, { recursive: true });
    await cp(saved, etcdData, { recursive: true });
  });
  return [await secondsUntil(() => labelled(cluster, namespace, ['after']))];
}

/** What is missed shows only if the operator watched from versions that the second server has not reached. */
async function failedOver({ stack, cluster, namespace }: World): Promise<readonly number[]> {
  const failover = new Failover(stack);
  await failover.start();
  const { kubeconfig } = failover;
  const operator = await startOperator({ ...stack, kubeconfig }, uniqueName(), ['--log-level', 'error']);
  try {
    await labelled(cluster, namespace, MANY);
    const second = await failover.failOver();
    const after = aPod().in(namespace).named('after').annotated().manifest;
    await until(() => second.create(PODS, after).then(() => true));
    await failover.endFirst();
    const seconds = await secondsUntil(() => untilLabels(second, namespace, ['after']));
    await second.close();
    return [seconds];
  } finally {
    await operator.end('SIGTERM');
    failover.close();
  }
}

const MANY = Array.from({ length: 25 }, (_, i) => `lost-${i}`);

async function temporalWiped(
  { stack, cluster, namespace }: World,
  count: number,
): Promise<readonly number[]> {
  const quota = { type: RESOURCE_QUOTAS, namespace, name: 'pods' };
  await cluster.create(RESOURCE_QUOTAS, {
    ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
    ...{ metadata: { name: quota.name, namespace }, spec: { hard: { pods: '0' } } },
  });
  for (let i = 0; i < count; i += 1)
    await cluster.create(POD_SETS, aPodSet().in(namespace).named(`set-${i}`).manifest);
  const podSets = () => list<PodSet>(cluster, namespace, POD_SETS);
  await until(async () => (await podSets()).every(isRefused));
  const { temporalData } = layoutOf(stack.dir);
  await stack.stopServer('temporal');
  for (const suffix of ['', '-wal', '-shm']) await rm(`${temporalData}${suffix}`, { force: true });
  await stack.startServer('temporal');
  await cluster.patch(quota, { spec: { hard: { pods: '1000' } } });
  const isDone = ({ status }: PodSet) => status?.readyReplicas === 1;
  return [await secondsUntil(() => until(async () => (await podSets()).every(isDone)))];
}

interface Outages {
  readonly changes: number;
  readonly outages: number;
  readonly awayMs: number;
  readonly firstAfterMs: number;
}

async function temporalAway(
  { stack, cluster, namespace }: World,
  { changes, outages, awayMs, firstAfterMs }: Outages,
): Promise<readonly number[]> {
  const names = Array.from({ length: changes }, (_, i) => `pod-${i}`);
  await labelled(cluster, namespace, names);
  await pause(firstAfterMs);
  const seconds: number[] = [];
  for (let outage = 0; outage < outages; outage += 1) {
    const isAnnotated = outage % 2 === 1;
    await stack.stopServer('temporal');
    const over = pause(awayMs);
    await inTurns(names, (name) =>
      cluster.patch(
        { type: PODS, namespace, name },
        { metadata: { annotations: { [POD_NAME_ANNOTATION]: isAnnotated ? 'true' : null } } },
      ),
    );
    await over;
    await stack.startServer('temporal');
    seconds.push(await secondsUntil(() => untilLabels(cluster, namespace, isAnnotated ? names : [])));
  }
  return seconds;
}

function isRefused({ status }: PodSet): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Stalled' && is === 'True') ?? false;
}

/** Creates Pods that are to be labelled, and waits until they are. */
async function labelled(cluster: TestCluster, namespace: string, names: readonly string[]): Promise<void> {
  await inTurns(names, (name) => cluster.create(PODS, aPod().in(namespace).named(name).annotated().manifest));
  await until(async () => {
    const found = await labelsIn(cluster, namespace);
    return names.every((name) => found.includes(name));
  });
}

function untilLabels(cluster: TestCluster, namespace: string, names: readonly string[]): Promise<void> {
  return until(async () => (await labelsIn(cluster, namespace)).length === names.length);
}

async function labelsIn(cluster: TestCluster, namespace: string): Promise<readonly string[]> {
  const pods = await list(cluster, namespace, PODS);
  return pods.flatMap(({ metadata }) => metadata.labels?.[POD_NAME_LABEL] ?? []);
}

async function list<T extends { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }>(
  cluster: TestCluster,
  namespace: string,
  type: typeof PODS,
): Promise<readonly T[]> {
  const path = resourcePath(type, { namespace });
  return (await cluster.client.request<{ items: T[] }>({ method: 'GET', path })).items;
}

const AT_ONCE = 8;

async function inTurns(names: readonly string[], act: (name: string) => Promise<unknown>): Promise<void> {
  const left = [...names];
  const work = async () => {
    for (let name = left.pop(); name !== undefined; name = left.pop()) await act(name);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** Looks twice a second: to list a thousand Pods all the time would slow down what is measured. */
async function until(isDone: () => Promise<boolean>): Promise<void> {
  for (const giveUpAtMs = performance.now() + GIVE_UP_MS; ;) {
    if (await isDone().catch(() => false)) return;
    if (performance.now() > giveUpAtMs) throw new Error(`not all is done after ${GIVE_UP_MS / 1_000} s`);
    await pause(LOOK_EVERY_MS);
  }
}

async function secondsUntil(act: () => Promise<void>): Promise<number> {
  const beganMs = performance.now();
  await act();
  return (performance.now() - beganMs) / 1_000;
}

async function withoutCluster(stack: InstalledStack, act: () => Promise<void>): Promise<void> {
  for (const name of [...CLUSTER, 'etcd']) await stack.stopServer(name);
  await act();
  await Promise.all([stack.startServer('etcd'), stack.startServer('kube-apiserver')]);
  for (const name of CLUSTER.slice(0, -1)) await stack.startServer(name);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function cases(text: string): readonly Case[] {
  return text.split(',').map((name) => {
    const found = CASES.find((each) => each === name);
    if (found === undefined) throw new InvalidArgumentError(`The cases are ${CASES.join(', ')}.`);
    return found;
  });
}

const options = new Command('bench:recovery')
  .description(
    'Measures how long the operator takes until all is done again after its servers were away or lost their data.',
  )
  .option('--cases <names>', 'which of them, with commas', cases, CASES)
  .option('--changes <count>', 'how many Pods change while Temporal is away', count, 1_000)
  .option('--outages <count>', 'how often in a row Temporal is away', count, 3)
  .option('--away <seconds>', 'how long each time', count, 30)
  .option('--pod-sets <count>', 'how many PodSets wait for quota while Temporal is wiped', count, 45)
  .option('--stacks <count>', 'on how many stacks Temporal is away, in turns', count, 1)
  .parse()
  .opts<Options>();
await main(options);
