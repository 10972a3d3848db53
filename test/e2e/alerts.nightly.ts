import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { buildPrograms } from '../../local/build.ts';
import { freePort } from '../../local/ports.ts';
import { BUILDS } from '../../src/controllers/git-build/kind.ts';
import { LABEL_VALUE_MAX, POD_NAME_LABEL } from '../../src/controllers/pod-label/controller.ts';
import { PodSetKind } from '../../src/controllers/pod-set/kind.ts';
import { type PodSet } from '../support/pod-sets.ts';
import { alertsIfItGoesOn, checkRules, type Scrape } from '../support/alerting.ts';
import { aBuild, LiveBuild } from '../support/builds.ts';
import { PODS } from '../support/cluster.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Fault, FaultProxy } from '../support/fault-proxy.ts';
import {
  aTaskQueue,
  endOperators,
  launchOperator,
  type Operator,
  type OperatorRequest,
} from '../support/operator.ts';
import { aPodSet } from '../support/pod-sets.ts';
import { aPod } from '../support/pods.ts';
import { readMetrics, type Scraped } from '../support/prometheus.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 90_000;
const BUILD_TIMEOUT_MS = 1_200_000;

const { cluster, startProxy } = setUpStage();
let namespace: string;
let taskQueue: string;

beforeAll(async () => {
  await buildPrograms(['promtool'], {});
}, BUILD_TIMEOUT_MS);
beforeEach(async () => {
  taskQueue = aTaskQueue();
  namespace = await cluster.aNamespace();
});
afterEach(endOperators);

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
const DELETION = 'durable_operator_longest_deletion_seconds';
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
  it('fires during ordinary work, even if each gauge stays at its maximum', async () => {
    const replica = await start();
    const scrapes = [await scrape(replica)];
    const names = Array.from({ length: 10 }, (_, index) => `web-${index}`);
    for (const name of names) await createPod(name);
    await cluster.create(PodSetKind, aPodSet().named('set').in(namespace).wanting(12).manifest);
    await cluster.create(BUILDS, aBuild(namespace, 'sample').manifest);
    scrapes.push(await scrape(replica));
    for (const name of names) await eventuallyLabelled(name);
    scrapes.push(await scrape(replica));
    const set = { type: PodSetKind, namespace, name: 'set' };
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

  it('when a step keeps failing', async () => {
    const proxy = await startProxy();
    const replica = await start({ kubeconfig: proxy.kubeconfig });
    refusing(proxy, 'PATCH', /\/pods\//, { answer: 500 });
    await createPod('failing');
    const scrapes = await whileGrowing(replica, 'controller_runtime_reconcile_errors_total', POD_LABEL);
    expect(await fired(scrapes, OLDEST)).toEqual(['DurableOperatorErrors', 'DurableOperatorRequestWaiting']);
  });

  it('when a resource is stalled', async () => {
    const replica = await start();
    await createPod(`web-${'x'.repeat(LABEL_VALUE_MAX)}`);
    const stalled = (metrics: Scraped) => metrics.value('durable_operator_stalled_runs', POD_LABEL) === 1;
    expect(await fired([await scrapeWith(replica, stalled)])).toEqual(['DurableOperatorStalled']);
  });

  it('when a deletion waits for the finalizer of the operator', async () => {
    const replica = await start();
    const manifest = aBuild(namespace, 'held').manifest;
    const annotations = { 'durable-operator.dev/approval': 'required' };
    await cluster.create(BUILDS, manifest);
    const build = new LiveBuild(cluster, manifest, WITHIN_MS);
    await build.is('Succeeded');
    await cluster.patch(build.at, { metadata: { annotations } });
    await cluster.delete(build.at);
    const waitsFor = (seconds: number) => (metrics: Scraped) =>
      (metrics.value(DELETION, { controller: 'git-build' }) ?? 0) > seconds;
    const scrapes = [await scrapeWith(replica, waitsFor(0)), await scrapeWith(replica, waitsFor(2))];
    expect(await fired(scrapes, DELETION)).toContain('DurableOperatorDeletionBlocked');
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

  it('when there is no worker', async () => {
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
});
