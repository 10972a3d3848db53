import { POD_NAME_ANNOTATION, POD_NAME_LABEL } from '../src/controllers/pod-label/controller.ts';
import { OPERATOR } from '../test/support/service-accounts.ts';
import { PODS, type TestCluster } from '../test/support/cluster.ts';
import { eventually } from '../testing/eventually.ts';
import { aPod } from '../test/support/pods.ts';
import type { Result } from './bench.ts';
import { namesOf } from './names.ts';
import { startOperator, type BenchOperator } from './operator.ts';
import { percentile } from './percentiles.ts';
import type { Target } from './target.ts';

const REPLICAS = 3;
export const ELECTION = ['--enable-leader-election', '--leader-election-namespace', OPERATOR.namespace];
const LEADS = /^leader_election_master_status\{.*\} 1$/m;
const WITHIN_MS = 120_000;

/**
 * Kills the leader of three replicas, and changes a Pod at that moment: how long until it is as wanted? With the
 * default times of the election.
 */
export async function measureFailover(target: Target, taskQueue: string, count: number): Promise<Result> {
  const { cluster } = target;
  const namespace = `${taskQueue}-failover`;
  await cluster.createNamespace(namespace);
  const replicas = new Set<BenchOperator>();
  const add = async () => replicas.add(await startOperator(target, taskQueue, ELECTION));
  const latenciesMs: number[] = [];
  try {
    for (let n = 0; n < REPLICAS; n += 1) await add();
    for (const name of namesOf('pod', count)) {
      await cluster.create(PODS, aPod().named(name).in(namespace).manifest);
      const leader = await leaderOf(replicas);
      replicas.delete(leader);
      await leader.end('SIGKILL');
      latenciesMs.push(await labelledAfter(cluster, namespace, name));
      await add();
    }
  } finally {
    await Promise.all([...replicas].map((replica) => replica.end('SIGTERM')));
  }
  const seconds = latenciesMs.reduce((sum, ms) => sum + ms, 0) / 1000;
  const [p50Ms, p99Ms] = [percentile(latenciesMs, 0.5), percentile(latenciesMs, 0.99)];
  return { case: 'pod-label add, leader killed', converged: count, seconds, p50Ms, p99Ms, workflows: count };
}

/** Waits until one leads. */
export function leaderOf(replicas: Iterable<BenchOperator>): Promise<BenchOperator> {
  return eventually(async () => {
    for (const replica of replicas) {
      if (LEADS.test(await (await fetch(replica.metricsUrl)).text())) return replica;
    }
    return undefined;
  }, WITHIN_MS);
}

/** In milliseconds, to some hundredths of a second. */
async function labelledAfter(cluster: TestCluster, namespace: string, name: string): Promise<number> {
  const at = { type: PODS, namespace, name };
  const changedAtMs = performance.now();
  await cluster.patch(at, { metadata: { annotations: { [POD_NAME_ANNOTATION]: 'true' } } });
  await eventually(
    async () => (await cluster.get(at))?.metadata.labels?.[POD_NAME_LABEL] === name,
    WITHIN_MS,
  );
  return performance.now() - changedAtMs;
}
