import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buildPrograms } from '../../local/build.ts';
import { freePort } from '../../local/ports.ts';
import { BUILDS } from '../../src/controllers/git-build/resource.ts';
import { LABEL_VALUE_MAX, POD_NAME_LABEL } from '../../src/controllers/pod-label/decide.ts';
import { POD_SETS, type PodSet } from '../../src/controllers/pod-set/resource.ts';
import { alertsIfItGoesOn, alertsOver, checkRules, type Scrape } from '../support/alerting.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { PROGRAM } from '../support/built.ts';
import { PODS } from '../support/cluster.ts';
import { TestElection } from '../support/elections.ts';
import { eventually } from '../support/eventually.ts';
import { aFarTemporal, type FarTemporal } from '../support/far-temporal.ts';
import type { Fault, FaultProxy } from '../support/fault-proxy.ts';
import {
  aTaskQueue,
  endOperators,
  launchOperator,
  type Operator,
  type OperatorRequest,
} from '../support/operator.ts';
import { limitPods } from '../support/pod-quota.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { readMetrics, type Scraped } from '../support/prometheus.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 90_000;
const BUILD_TIMEOUT_MS = 1_200_000;

const { stack, cluster, startProxy } = setUpStage();
let namespace: string;
let taskQueue: string;
let far: FarTemporal | undefined;

beforeAll(async () => {
  await buildPrograms(['promtool'], {});
}, BUILD_TIMEOUT_MS);
beforeEach(async () => {
  taskQueue = aTaskQueue();
  namespace = await cluster.aNamespace();
});
afterEach(async () => {
  await endOperators();
  await far?.close();
  far = undefined;
});

interface Replica {
  readonly operator: Operator;
  readonly address: string;
}

/** Whether it gets ready is for the test to see. */
async function launch(request: OperatorRequest = {}): Promise<Replica> {
  const address = `127.0.0.1:${await freePort()}`;
  const args = ['--namespaces', namespace, '--metrics-addr', address, ...(request.args ?? [])];
  return { operator: await launchOperator({ taskQueue, ...request, args }), address };
}

async function start(request: OperatorRequest = {}): Promise<Replica> {
  const replica = await launch(request);
  await replica.operator.ready();
  return replica;
}

async function scrape(...replicas: readonly Replica[]): Promise<Scrape> {
  const text = async ({ address }: Replica) => {
    try {
      return await (await fetch(`http://${address}/metrics`)).text();
    } catch {
      return '';
    }
  };
  return { replicas: await Promise.all(replicas.map(text)), atMs: Date.now() };
}

/** The first scrape of which this is true. */
function scrapeWith(replica: Replica, isSo: (metrics: Scraped) => boolean): Promise<Scrape> {
  return eventually(async () => {
    const scraped = await scrape(replica);
    return isSo(readMetrics(scraped.replicas[0] ?? '')) ? scraped : undefined;
  }, WITHIN_MS);
}

/** Two scrapes; in the second there is more of it than in the first. */
async function whileGrowing(
  replica: Replica,
  metric: string,
  labels: Record<string, string> = {},
): Promise<Scrape[]> {
  const first = await scrapeWith(replica, (metrics) => metrics.value(metric, labels) !== undefined);
  const before = readMetrics(first.replicas[0] ?? '').value(metric, labels) ?? 0;
  const second = await scrapeWith(replica, (metrics) => (metrics.value(metric, labels) ?? 0) > before + 1);
  return [first, second];
}

const POD_LABEL = { controller: 'pod-label' };
const OLDEST = 'durable_operator_oldest_request_seconds';
const POLLERS = 'durable_operator_task_queue_pollers';

const createPod = (name: string) =>
  cluster.create(PODS, aPod().annotated().in(namespace).named(name).manifest);
const isLabelled = async (name: string) =>
  (await cluster.get({ type: PODS, namespace, name }))?.metadata.labels?.[POD_NAME_LABEL] === name;
const eventuallyLabelled = (name: string) => eventually(() => isLabelled(name), WITHIN_MS);

function refusing(proxy: FaultProxy, method: string, path: RegExp, fault: Fault): void {
  proxy.fault = (request) => (request.method === method && path.test(request.path) ? fault : undefined);
}

const fired = async (scrapes: readonly Scrape[], growing?: string) =>
  [...(await alertsIfItGoesOn(scrapes, growing))].sort();

it('are rules that Prometheus understands', () => checkRules());

describe('no alert', () => {
  it('fires while everything is reconciled, even if each gauge stayed at its highest', async () => {
    const replica = await start();
    const scrapes = [await scrape(replica)];
    const names = Array.from({ length: 10 }, (_, index) => `web-${index}`);
    for (const name of names) await createPod(name);
    await cluster.create(POD_SETS, aPodSet().named('set').in(namespace).wanting(12).manifest);
    await cluster.create(BUILDS, aBuild(namespace, 'sample').manifest);
    scrapes.push(await scrape(replica));
    for (const name of names) await eventuallyLabelled(name);
    scrapes.push(await scrape(replica));
    const set = { type: POD_SETS, namespace, name: 'set' };
    await eventually(async () => (await cluster.get<PodSet>(set))?.status?.readyReplicas === 12, WITHIN_MS);
    scrapes.push(await scrape(replica));
    await new LiveBuild(cluster, aBuild(namespace, 'sample').manifest, WITHIN_MS).is('Succeeded');
    // All of it is this replica's load. Of what is deleted before its run has ended, no time is told.
    scrapes.push(
      await scrapeWith(
        replica,
        (metrics) => (metrics.value('durable_operator_convergence_seconds_count') ?? 0) >= names.length + 2,
      ),
    );
    await cluster.delete({ type: BUILDS, namespace, name: 'sample' });
    scrapes.push(
      await scrapeWith(
        replica,
        (metrics) =>
          metrics.value('durable_operator_open_runs') === 0 &&
          metrics.value(POLLERS, { status: 'current' }) === 2,
      ),
    );
    // How fast it is, this machine decides.
    expect((await fired(scrapes)).filter((alert) => alert !== 'DurableOperatorStartsSlow')).toEqual([]);
  });
});

describe('an alert fires', () => {
  it('when the operator is gone', async () => {
    const replica = await start();
    await replica.operator.end('SIGKILL');
    expect(await fired([await scrape(replica)])).toEqual(['DurableOperatorAbsent']);
  });

  it('when Temporal is gone', async () => {
    const replica = await launch({ temporalAddress: `127.0.0.1:${await freePort()}` });
    const unavailable = (metrics: Scraped) => metrics.value('durable_operator_temporal_unavailable') === 1;
    expect(await fired([await scrapeWith(replica, unavailable)])).toEqual([
      'DurableOperatorTemporalUnavailable',
    ]);
  });

  it('when nobody may hold the Lease', async () => {
    const { args } = new TestElection(cluster, namespace);
    const replica = await launch({ args: [...args, '--leader-election-retry-period', '500ms'] });
    // Until it has connected to Temporal for the first time, Temporal is unavailable.
    await scrapeWith(replica, (metrics) => metrics.value('durable_operator_temporal_unavailable') === 0);
    const denied = { meaning: 'access-denied' };
    const scrapes = await whileGrowing(replica, 'durable_operator_request_errors_total', denied);
    expect(await fired(scrapes)).toEqual(['DurableOperatorAccessDenied', 'DurableOperatorWithoutLeader']);
  });

  it('when the leader keeps changing', async () => {
    const election = new TestElection(cluster, namespace);
    await election.allow();
    const times = ['lease-duration=2s', 'renew-deadline=1s', 'retry-period=200ms'];
    const args = [...election.args, ...times.map((time) => `--leader-election-${time}`)];
    const both = await Promise.all(
      [await startProxy(), await startProxy()].map(async (proxy) => {
        return { proxy, replica: await start({ kubeconfig: proxy.kubeconfig, args }) };
      }),
    );
    const leads = async (replica: Replica) =>
      readMetrics((await scrape(replica)).replicas[0] ?? '').value('leader_election_master_status') === 1;
    const leader = () =>
      eventually(async () => {
        for (const one of both) if (await leads(one.replica)) return one;
        return undefined;
      }, WITHIN_MS);
    const scrapes: Scrape[] = [];
    for (let change = 0; change <= 4; change += 1) {
      const { proxy, replica } = await leader();
      scrapes.push(await scrape(...both.map((one) => one.replica)));
      refusing(proxy, 'PUT', /leases/, { answer: 503 });
      await eventually(async () => (await leader()).replica !== replica, WITHIN_MS);
      proxy.fault = () => undefined;
    }
    expect([...(await alertsOver(scrapes))]).toEqual(['DurableOperatorLeaderFlapping']);
  });

  it('when a step keeps failing', async () => {
    const proxy = await startProxy();
    const replica = await start({ kubeconfig: proxy.kubeconfig });
    refusing(proxy, 'PATCH', /\/pods\//, { answer: 500 });
    await createPod('failing');
    const scrapes = await whileGrowing(replica, 'controller_runtime_reconcile_errors_total', POD_LABEL);
    expect(await fired(scrapes, OLDEST)).toEqual(['DurableOperatorErrors', 'DurableOperatorRequestWaiting']);
  });

  it('of failing steps when a quota refuses Pods, and none of missing access', async () => {
    await limitPods(cluster, namespace, 2);
    const replica = await start({ args: ['--controllers', 'pod-set'] });
    await cluster.create(POD_SETS, aPodSet().named('web').in(namespace).wanting(5).manifest);
    const refused = { meaning: 'refused' };
    const scrapes = await whileGrowing(replica, 'durable_operator_request_errors_total', refused);
    expect(await fired(scrapes, OLDEST)).toEqual(['DurableOperatorErrors', 'DurableOperatorRequestWaiting']);
  });

  it('when a resource is stalled', async () => {
    const replica = await start();
    await createPod(`web-${'x'.repeat(LABEL_VALUE_MAX)}`);
    const stalled = (metrics: Scraped) => metrics.value('durable_operator_stalled_runs', POD_LABEL) === 1;
    expect(await fired([await scrapeWith(replica, stalled)])).toEqual(['DurableOperatorStalled']);
  });

  it('when the API server does not answer a watch any more', async () => {
    const proxy = await startProxy();
    refusing(proxy, 'GET', /\/pods\?/, 'no answer');
    const replica = await launch({ kubeconfig: proxy.kubeconfig, args: ['--controllers', 'pod-label'] });
    const pods = { ...POD_LABEL, resource: 'pods' };
    const silence = 'durable_operator_watch_silence_seconds';
    const scrapes = await whileGrowing(replica, silence, pods);
    expect(await fired(scrapes, silence)).toContain('DurableOperatorWatchSilent');
  });

  it('when Temporal takes more than a second to start a run', async () => {
    far = await aFarTemporal(stack.temporalAddress);
    const replica = await start({ temporalAddress: far.address });
    far.delayMs = 700;
    const first = await scrape(replica);
    await createPod('slow');
    const begun = (metrics: Scraped) =>
      (metrics.value('workqueue_work_duration_seconds_count', POD_LABEL) ?? 0) > 0;
    const scrapes = [first, await scrapeWith(replica, begun)];
    expect(await fired(scrapes)).toContain('DurableOperatorStartsSlow');
  });

  it('when resources take more than five minutes to converge', async () => {
    const proxy = await startProxy();
    // A second of it is a hundredth of a real one.
    const hasty = 'const real = performance.now.bind(performance); performance.now = () => real() * 100;';
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hasty)}` };
    const replica = await start({ kubeconfig: proxy.kubeconfig, env, args: ['--controllers', 'pod-label'] });
    refusing(proxy, 'PATCH', /\/pods\//, { answer: 503 });
    const first = await scrape(replica);
    await createPod('slow');
    await scrapeWith(replica, (metrics) => (metrics.value(OLDEST, POD_LABEL) ?? 0) > 300);
    proxy.fault = () => undefined;
    const converged = (metrics: Scraped) =>
      metrics.value('durable_operator_convergence_seconds_count', POD_LABEL) === 1;
    expect(await fired([first, await scrapeWith(replica, converged)])).toContain('DurableOperatorSlow');
  });

  it('when nobody works', async () => {
    const replica = await start({ command: 'watch' });
    await createPod('waiting');
    const unworked = (metrics: Scraped) =>
      metrics.value(POLLERS, { status: 'current' }) === 0 && (metrics.value(OLDEST, POD_LABEL) ?? 0) > 0;
    const scrapes = [
      await scrapeWith(replica, unworked),
      await scrapeWith(replica, (metrics) => (metrics.value(OLDEST, POD_LABEL) ?? 0) > 3),
    ];
    expect(await fired(scrapes, OLDEST)).toEqual([
      'DurableOperatorRequestWaiting',
      'DurableOperatorWithoutWorkers',
    ]);
  });

  it('when nobody has promoted a version, while the current one works', async () => {
    const version = (buildId: string) => [`--worker-deployment=${taskQueue}`, `--worker-build-id=${buildId}`];
    await start({ command: 'work', args: version('old') });
    await promote(version('old'));
    const fresh = await start({ command: 'work', args: version('new') });
    await eventually(
      async () =>
        (await (await fetch(`http://${fresh.address}/metrics`)).text()).includes('temporal_num_pollers'),
      WITHIN_MS,
    );
    const replica = await start({ command: 'watch', args: version('new') });
    const [old, unpromoted] = ['old', 'new'].map((buildId) => ({ version: `${taskQueue}:${buildId}` }));
    const isKnown = (metrics: Scraped) =>
      metrics.value(POLLERS, { ...old, status: 'current' }) === 2 &&
      metrics.value(POLLERS, { ...unpromoted, status: 'inactive' }) === 2;
    expect(await fired([await scrapeWith(replica, isKnown)])).toEqual(['DurableOperatorVersionNotPromoted']);
  });
});

async function promote(version: readonly string[]): Promise<void> {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, TEMPORAL_ADDRESS: stack.temporalAddress };
  const promoting = spawn(process.execPath, [PROGRAM, 'promote', `--task-queue=${taskQueue}`, ...version], {
    env,
  });
  expect((await once(promoting, 'exit'))[0]).toBe(0);
}
