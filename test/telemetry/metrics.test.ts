import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { workflowIdFor, type ResourceRef } from '../../src/contract/resource.ts';
import { converged, progressed, stalled, waiting, type Outcome } from '../../src/contract/run.ts';
import type { PassAbout, WatcherState } from '../../src/contract/telemetry.ts';
import { podLabel } from '../../src/controllers/pod-label/controller.ts';
import { podSet } from '../../src/controllers/pod-set/controller.ts';
import { operatorMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import type { StateSource } from '../../src/telemetry/state-metrics.ts';
import { readMetrics, type Scraped } from '../support/prometheus.ts';

const web: ResourceRef = { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'uid-of-web' };
const KEY = workflowIdFor(web);
const POD_LABEL = { controller: 'pod-label' };
const QUEUE = { name: 'pod-label', ...POD_LABEL };

const IDLE: StateSource = {
  watcher: () => undefined,
  isTemporalUnavailable: () => false,
  lease: () => undefined,
};

function someMetrics(source: Partial<StateSource> = {}): Metrics {
  return operatorMetrics({
    controllers: [podLabel, podSet],
    passesAtOnce: 300,
    version: '1.2.3',
    source: { ...IDLE, ...source },
  });
}

async function scraped(metrics: Metrics): Promise<Scraped> {
  return readMetrics(await metrics.scrape());
}

/** One that watches two kinds of objects and knows of two runs. */
const WATCHER: WatcherState = {
  watches: [
    { controller: 'pod-set', resource: 'podsets', silenceSeconds: 3, known: 7 },
    { controller: 'pod-set', resource: 'pods', silenceSeconds: 4, known: 70 },
  ],
  runs: [{ controller: 'pod-set', open: 2, stalled: 1 }],
  isTemporalUnavailable: false,
};

const aPass = (attempt = 1): PassAbout => ({
  ref: web,
  activity: 'labelPod',
  workflowId: KEY,
  runId: '0199f0a0-0000-7000-8000-000000000001',
  attempt,
});

describe('before anything has happened', () => {
  it('there is a series of every counter and histogram for every controller, with 0', async () => {
    const metrics = await scraped(someMetrics());
    const perController = [...metrics.types]
      .filter(([name]) => /^(controller_runtime|workqueue|durable_operator)_/.test(name))
      .filter(([name]) => !NOT_PER_CONTROLLER.has(name))
      .map(([name, type]) => (type === 'histogram' ? `${name}_count` : name));
    expect(perController.length).toBeGreaterThan(15);
    for (const controller of ['pod-label', 'pod-set']) {
      const missing = perController.filter((name) => metrics.value(name, { controller }) === undefined);
      expect(missing).toEqual([]);
    }
    expect(metrics.value('controller_runtime_reconcile_total', POD_LABEL)).toBe(0);
  });

  it.each([
    ['controller_runtime_reconcile_total', ['result', ['error', 'requeue', 'requeue_after', 'success']]],
    ['durable_operator_watch_restarts_total', ['reason', ['broken', 'ended', 'expired', 'failed', 'silent']]],
  ] as const)('%s has every %s', async (name, [label, values]) => {
    const series = (await scraped(someMetrics())).series(name, POD_LABEL);
    expect(series.map(({ labels }) => labels[label]).sort()).toEqual(values);
  });

  it('the version and how many passes may go on at a time are told', async () => {
    const metrics = await scraped(someMetrics());
    expect(metrics.value('durable_operator_build_info', { version: '1.2.3' })).toBe(1);
    expect(metrics.value('controller_runtime_max_concurrent_reconciles', POD_LABEL)).toBe(300);
  });

  it('there are the metrics of the process, too', async () => {
    const { types } = await scraped(someMetrics());
    expect([...types.keys()]).toEqual(
      expect.arrayContaining(['process_cpu_seconds_total', 'nodejs_heap_size_used_bytes']),
    );
  });
});

/** What is told by kinds of objects is there once a watcher is; the rest is of the process. */
const NOT_PER_CONTROLLER = new Set([
  'durable_operator_build_info',
  'durable_operator_temporal_unavailable',
  'durable_operator_watch_silence_seconds',
  'durable_operator_known_objects',
]);

describe('a pass', () => {
  it.each<[Outcome, string]>([
    [converged('added the label'), 'success'],
    [progressed('made some'), 'requeue'],
    [waiting('a Job', { atMostMs: 1_000 }), 'requeue_after'],
    [stalled('the name is too long'), 'error'],
  ])('that came to %o is a reconcile with the result %s', async (outcome, result) => {
    const metrics = someMetrics();
    expect(await metrics.pass(aPass(), () => Promise.resolve(outcome))).toBe(outcome);
    const told = await scraped(metrics);
    expect(told.value('controller_runtime_reconcile_total', { ...POD_LABEL, result })).toBe(1);
    expect(told.value('controller_runtime_reconcile_total')).toBe(1);
    expect(told.value('controller_runtime_reconcile_time_seconds_count', POD_LABEL)).toBe(1);
  });

  it('that failed is an error, and fails as it did', async () => {
    const metrics = someMetrics();
    const failure = new Error('refused');
    await expect(metrics.pass(aPass(), () => Promise.reject(failure))).rejects.toBe(failure);
    const told = await scraped(metrics);
    expect(told.value('controller_runtime_reconcile_total', { ...POD_LABEL, result: 'error' })).toBe(1);
    expect(told.value('controller_runtime_reconcile_errors_total', POD_LABEL)).toBe(1);
    expect(told.value('controller_runtime_terminal_reconcile_errors_total', POD_LABEL)).toBe(0);
  });

  it('that stalled is a terminal error', async () => {
    const metrics = someMetrics();
    await metrics.pass(aPass(), () => Promise.resolve(stalled('the name is too long')));
    const told = await scraped(metrics);
    expect(told.value('controller_runtime_terminal_reconcile_errors_total', POD_LABEL)).toBe(1);
    expect(told.value('controller_runtime_reconcile_errors_total', POD_LABEL)).toBe(1);
  });

  it('counts as an active worker while it goes on', async () => {
    const metrics = someMetrics();
    let end: (outcome: Outcome) => void = () => undefined;
    const pass = metrics.pass(aPass(), () => new Promise((resolve) => (end = resolve)));
    const during = await scraped(metrics);
    end(converged('done'));
    await pass;
    expect(during.value('controller_runtime_active_workers', POD_LABEL)).toBe(1);
    expect((await scraped(metrics)).value('controller_runtime_active_workers', POD_LABEL)).toBe(0);
  });

  it('is a retry from the second attempt on', async () => {
    const metrics = someMetrics();
    for (const attempt of [1, 2, 3]) {
      await metrics.pass(aPass(attempt), () => Promise.resolve(converged('done')));
    }
    expect((await scraped(metrics)).value('durable_operator_retries_total', POD_LABEL)).toBe(2);
  });
});

describe('a key of the queue', () => {
  it('counts for the depth while it waits, and as unfinished work while it is in hand', async () => {
    const metrics = someMetrics();
    metrics.queue.added(KEY);
    const waiting = await scraped(metrics);
    metrics.queue.begun(KEY);
    const inHand = await scraped(metrics);
    metrics.queue.done(KEY);
    const after = await scraped(metrics);
    expect([waiting, inHand, after].map((told) => told.value('workqueue_depth', QUEUE))).toEqual([1, 0, 0]);
    for (const name of ['workqueue_unfinished_work_seconds', 'workqueue_longest_running_processor_seconds']) {
      expect(waiting.value(name, QUEUE)).toBe(0);
      expect(inHand.value(name, QUEUE)).toBeGreaterThan(0);
      expect(after.value(name, QUEUE)).toBe(0);
    }
    expect(after.value('workqueue_adds_total', QUEUE)).toBe(1);
    expect(after.value('workqueue_queue_duration_seconds_count', QUEUE)).toBe(1);
    expect(after.value('workqueue_work_duration_seconds_count', QUEUE)).toBe(1);
  });

  it('waits no more once the queue is emptied', async () => {
    const metrics = someMetrics();
    metrics.queue.added(KEY);
    metrics.queue.emptied();
    expect((await scraped(metrics)).value('workqueue_depth', QUEUE)).toBe(0);
  });

  it('counts as a retry where it failed', async () => {
    const metrics = someMetrics();
    metrics.queue.retried(KEY);
    expect((await scraped(metrics)).value('workqueue_retries_total', QUEUE)).toBe(1);
  });
});

describe('a request to the API server', () => {
  const patch = { method: 'PATCH', host: 'cluster:6443', path: '/api/v1/namespaces/shop/pods/web' };

  it('counts by the status of its answer, without a word of the object', async () => {
    const metrics = someMetrics();
    metrics.request({ ...patch, isWatch: false }).answered(409);
    metrics.request({ ...patch, isWatch: false }).failed();
    const told = await scraped(metrics);
    expect(told.series('rest_client_requests_total').map(({ labels }) => labels)).toEqual([
      { code: '409', host: 'cluster:6443', method: 'PATCH' },
      { code: '<error>', host: 'cluster:6443', method: 'PATCH' },
    ]);
    expect(told.value('rest_client_request_duration_seconds_count', { verb: 'PATCH' })).toBe(2);
  });

  it('has no duration where it is a watch', async () => {
    const metrics = someMetrics();
    metrics.request({ ...patch, method: 'GET', isWatch: true }).answered(200);
    const told = await scraped(metrics);
    expect(told.value('rest_client_requests_total', { method: 'GET', code: '200' })).toBe(1);
    expect(told.value('rest_client_request_duration_seconds_count')).toBeUndefined();
  });
});

describe('what is asked at each scrape', () => {
  it('is what the watcher says of its watches and runs', async () => {
    const told = await scraped(someMetrics({ watcher: () => WATCHER }));
    const pods = { controller: 'pod-set', resource: 'pods' };
    expect(told.value('durable_operator_watch_silence_seconds', pods)).toBe(4);
    expect(told.value('durable_operator_known_objects', pods)).toBe(70);
    expect(told.value('durable_operator_open_runs', { controller: 'pod-set' })).toBe(2);
    expect(told.value('durable_operator_stalled_runs', { controller: 'pod-set' })).toBe(1);
  });

  it('is 0 for the runs of a controller that the watcher has nothing to say of any more', async () => {
    let runs = WATCHER.runs;
    const metrics = someMetrics({ watcher: () => ({ ...WATCHER, runs }) });
    await metrics.scrape();
    runs = [];
    expect((await scraped(metrics)).value('durable_operator_open_runs', { controller: 'pod-set' })).toBe(0);
  });

  it('is whether Temporal can be reached', async () => {
    const told = await scraped(someMetrics({ isTemporalUnavailable: () => true }));
    expect(told.value('durable_operator_temporal_unavailable')).toBe(1);
  });

  it('is who leads, by the name of the Lease; nothing where there is none', async () => {
    const none = await scraped(someMetrics());
    const leading = await scraped(someMetrics({ lease: () => ({ name: 'ours', isLeading: true }) }));
    const standby = await scraped(someMetrics({ lease: () => ({ name: 'ours', isLeading: false }) }));
    const status = (told: Scraped) => told.value('leader_election_master_status', { name: 'ours' });
    expect([none, leading, standby].map(status)).toEqual([undefined, 1, 0]);
  });
});

describe('what a watch sees', () => {
  const pods = { controller: 'pod-set', resource: 'pods' };

  it('is how old new objects are, and never less than nothing where the clocks differ', async () => {
    const metrics = someMetrics();
    const watch = metrics.watch(pods);
    watch.created(4);
    watch.created(-2);
    const told = await scraped(metrics);
    expect(told.value('durable_operator_watch_lag_seconds_count', pods)).toBe(2);
    expect(told.value('durable_operator_watch_lag_seconds_sum', pods)).toBe(4);
  });

  it('is why it had to be opened anew', async () => {
    const metrics = someMetrics();
    metrics.watch(pods).ended('expired');
    const told = await scraped(metrics);
    expect(told.value('durable_operator_watch_restarts_total', { ...pods, reason: 'expired' })).toBe(1);
    expect(told.value('durable_operator_watch_restarts_total')).toBe(1);
  });
});

describe('the end of a need', () => {
  it('says how long it was there', async () => {
    const metrics = someMetrics();
    metrics.needEnded({ controller: 'pod-label', seconds: 0.3 });
    const told = await scraped(metrics);
    expect(told.value('durable_operator_convergence_seconds_bucket', { ...POD_LABEL, le: '0.25' })).toBe(0);
    expect(told.value('durable_operator_convergence_seconds_bucket', { ...POD_LABEL, le: '0.5' })).toBe(1);
  });
});

describe('docs/observability.md', () => {
  const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8');
  /** Those of prom-client and of Temporal are described elsewhere. */
  const OTHERS = /^(process|nodejs|temporal)_/;

  it('has every metric with its type, and no other', async () => {
    const rows = [...page.matchAll(/^\| `([a-z_]+)` +\| (counter|gauge|histogram) +\|/gm)];
    const documented = rows.map(([, name = '', type = '']) => `${name} ${type}`);
    const { types } = await scraped(someMetrics());
    const real = [...types].filter(([name]) => !OTHERS.test(name)).map(([name, type]) => `${name} ${type}`);
    expect(documented.sort()).toEqual(real.sort());
  });
});
