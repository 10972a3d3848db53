import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { converged, stalled, waitFor, type NextInHistory, type StepReport } from '../../src/runs/decision.ts';
import { workflowIdFor, type ResourceRef } from '../../src/api/resource-ref.ts';
import type { StepAttempt, WatcherState } from '../../src/runs/telemetry.ts';
import { PODS } from '../../src/api/kinds.ts';
import { operatorMetrics, type Metrics, type ObservedController } from '../../src/observability/metrics.ts';
import type { MeasuredState } from '../../src/observability/state-metrics.ts';
import { readMetrics, type Scraped } from '../support/prometheus.ts';
import { aCause } from '../support/causes.ts';

const web: ResourceRef = { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'uid-of-web' };
const KEY = workflowIdFor(web);
const POD_LABEL = { controller: 'pod-label' };
const QUEUE = { name: 'pod-label', ...POD_LABEL };

const CONTROLLERS: readonly ObservedController[] = [
  {
    name: 'pod-label',
    steps: { addLabel: 'add', removeLabel: 'remove' },
    primary: { type: PODS },
    children: [],
  },
  {
    name: 'pod-set',
    steps: { createPods: 'create' },
    primary: { type: { ...PODS, plural: 'podsets' } },
    children: [{ type: PODS }],
  },
];

const IDLE: MeasuredState = {
  watcher: () => undefined,
  taskQueues: () => undefined,
  isLeading: () => undefined,
  isConnectedToTemporal: () => true,
};

function someMetrics(source: Partial<MeasuredState> = {}): Metrics {
  return operatorMetrics({
    controllers: CONTROLLERS,
    leaseName: 'ours',
    version: '1.2.3',
    command: 'work',
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
  oldestRequests: [{ controller: 'pod-set', seconds: 12, waitSeconds: 34 }],
  oldestDeletions: [{ controller: 'pod-set', seconds: 56 }],
  isTemporalUnavailable: false,
};

const STEP: StepAttempt = { ref: web, activity: 'addLabel', attempt: 1 };

describe('before anything has happened', () => {
  it('there is a series of every counter and histogram for every controller, with 0', async () => {
    const metrics = await scraped(someMetrics());
    const perController = [...metrics.types]
      .filter(
        ([name]) =>
          /^(controller_runtime|workqueue|durable_operator)_/.test(name) && !OF_NO_CONTROLLER.has(name),
      )
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
    ['durable_operator_steps_total', ['step', ['addLabel', 'observe', 'removeLabel']]],
    ['durable_operator_steps_total', ['result', ['error', 'skipped', 'success']]],
    ['durable_operator_watch_restarts_total', ['reason', ['broken', 'ended', 'expired', 'failed', 'silent']]],
  ] as const)('%s has every %s', async (name, [label, values]) => {
    const series = (await scraped(someMetrics())).series(name, POD_LABEL);
    expect([...new Set(series.map(({ labels }) => labels[label]))].sort()).toEqual(values);
  });
});

/** Those by kind of object exist once a watcher does; the others are about the process. */
const OF_NO_CONTROLLER = new Set([
  'durable_operator_request_errors_total',
  'durable_operator_build_info',
  'durable_operator_temporal_unavailable',
  'durable_operator_task_queue_pollers',
  'durable_operator_left_runs',
  'durable_operator_watch_silence_seconds',
  'durable_operator_known_objects',
]);

describe('a step attempt', () => {
  const RECONCILES = 'controller_runtime_reconcile_total';
  const createJob: NextInHistory = { do: 'createJob', because: 'no Job builds this spec' };

  it.each<[NextInHistory, string]>([
    [converged('labelled'), 'success'],
    [createJob, 'requeue'],
    [{ do: 'observe', because: 'the resource changed' }, 'requeue'],
    [waitFor('a Job', 1_000), 'requeue_after'],
    [stalled(aCause('the name is too long')), 'error'],
  ])('followed by %o is a reconcile with the result %s', async (next, reconcile) => {
    const metrics = someMetrics();
    const result: StepReport = { did: [{ did: 'added', what: 'label a=b' }], next };
    expect(await metrics.step(STEP, () => Promise.resolve(result))).toBe(result);
    const measured = await scraped(metrics);
    expect(measured.value(RECONCILES, { ...POD_LABEL, result: reconcile })).toBe(1);
    expect(measured.value(RECONCILES)).toBe(1);
    expect(measured.value('controller_runtime_reconcile_time_seconds_count', POD_LABEL)).toBe(1);
  });

  it('that failed is an error, and rejects with the same error', async () => {
    const metrics = someMetrics();
    const failure = new Error('refused');
    await expect(metrics.step(STEP, () => Promise.reject(failure))).rejects.toBe(failure);
    const measured = await scraped(metrics);
    expect(measured.value(RECONCILES, { ...POD_LABEL, result: 'error' })).toBe(1);
    expect(measured.value('controller_runtime_reconcile_errors_total', POD_LABEL)).toBe(1);
    const failed = { ...POD_LABEL, step: 'addLabel', result: 'error' };
    expect(measured.value('durable_operator_steps_total', failed)).toBe(1);
    expect(measured.value('durable_operator_steps_total')).toBe(1);
  });
});

describe('a key of the queue', () => {
  it('counts towards the depth while it waits', async () => {
    const metrics = someMetrics();
    metrics.queue.added(KEY);
    const waiting = await scraped(metrics);
    metrics.queue.begun(KEY);
    const processing = await scraped(metrics);
    metrics.queue.done(KEY);
    const after = await scraped(metrics);
    expect([waiting, processing, after].map((measured) => measured.value('workqueue_depth', QUEUE))).toEqual([
      1, 0, 0,
    ]);
    for (const name of ['adds_total', 'queue_duration_seconds_count', 'work_duration_seconds_count']) {
      expect(after.value(`workqueue_${name}`, QUEUE)).toBe(1);
    }
  });
});

describe('a request to the API server', () => {
  const patch = { method: 'PATCH', host: 'cluster:6443', path: '/api/v1/namespaces/shop/pods/web' };

  it('counts by status code, without the name of the object', async () => {
    const metrics = someMetrics();
    metrics.request({ ...patch, isWatch: false }).answered(409);
    metrics.request({ ...patch, isWatch: false }).failed();
    const measured = await scraped(metrics);
    expect(measured.series('rest_client_requests_total').map(({ labels }) => labels)).toEqual([
      { code: '409', host: 'cluster:6443', method: 'PATCH' },
      { code: '<error>', host: 'cluster:6443', method: 'PATCH' },
    ]);
    expect(measured.value('rest_client_request_duration_seconds_count', { verb: 'PATCH' })).toBe(2);
  });
});

describe('a scrape', () => {
  it('asks the watcher for its watches, its runs and its oldest requests', async () => {
    const measured = await scraped(someMetrics({ watcher: () => WATCHER }));
    const pods = { controller: 'pod-set', resource: 'pods' };
    expect(measured.value('durable_operator_watch_silence_seconds', pods)).toBe(4);
    expect(measured.value('durable_operator_known_objects', pods)).toBe(70);
    expect(measured.value('durable_operator_open_runs', { controller: 'pod-set' })).toBe(2);
    expect(measured.value('durable_operator_stalled_runs', { controller: 'pod-set' })).toBe(1);
    expect(measured.value('durable_operator_oldest_request_seconds', { controller: 'pod-set' })).toBe(12);
    expect(measured.value('durable_operator_oldest_request_seconds', POD_LABEL)).toBe(0);
    expect(measured.value('durable_operator_longest_wait_seconds', { controller: 'pod-set' })).toBe(34);
    expect(measured.value('durable_operator_longest_deletion_seconds', { controller: 'pod-set' })).toBe(56);
    expect(measured.value('durable_operator_longest_deletion_seconds', POD_LABEL)).toBe(0);
  });

  it('asks for the runs that are left on other task queues', async () => {
    const left = [{ taskQueue: 'old', count: 3, lastPollMs: undefined }];
    const measured = await scraped(someMetrics({ taskQueues: () => ({ pollers: [], left }) }));
    expect(measured.value('durable_operator_left_runs', { task_queue: 'old' })).toBe(3);
  });

  it('asks whether Temporal is reachable', async () => {
    const unavailable = async (source: Partial<MeasuredState>) =>
      (await scraped(someMetrics(source))).value('durable_operator_temporal_unavailable');
    expect(await unavailable({})).toBe(0);
    expect(await unavailable({ isConnectedToTemporal: () => false })).toBe(1);
    expect(await unavailable({ watcher: () => ({ ...WATCHER, isTemporalUnavailable: true }) })).toBe(1);
  });
});

it('what is reported once is counted once, and an age is never negative even if clocks differ', async () => {
  const metrics = someMetrics();
  const pods = { controller: 'pod-set', resource: 'pods' };
  for (const ageSeconds of [4, -2]) metrics.watch(pods).created(ageSeconds);
  metrics.watch(pods).ended('expired');
  metrics.queue.retried(KEY);
  metrics.requestFailed('refused');
  metrics.requestEnded({ controller: 'pod-label', seconds: 0.3 });
  const measured = await scraped(metrics);
  expect(measured.value('durable_operator_watch_lag_seconds_count', pods)).toBe(2);
  expect(measured.value('durable_operator_watch_lag_seconds_sum', pods)).toBe(4);
  expect(measured.value('durable_operator_watch_restarts_total', { ...pods, reason: 'expired' })).toBe(1);
  expect(measured.value('workqueue_retries_total', QUEUE)).toBe(1);
  expect(measured.value('durable_operator_request_errors_total', { meaning: 'refused' })).toBe(1);
  expect(measured.value('durable_operator_convergence_seconds_sum', POD_LABEL)).toBe(0.3);
});

describe('docs/observability.md', () => {
  const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8');
  /** Described by prom-client and by Temporal. */
  const OTHERS = /^(process|nodejs|temporal)_/;

  it('lists every metric with its type, and no other', async () => {
    const rows = [...page.matchAll(/^\| `([a-z_]+)` +\| (counter|gauge|histogram) +\|/gm)];
    const documented = rows.map(([, name = '', type = '']) => `${name} ${type}`);
    const { types } = await scraped(someMetrics());
    const real = [...types].filter(([name]) => !OTHERS.test(name)).map(([name, type]) => `${name} ${type}`);
    expect(documented.sort()).toEqual(real.sort());
  });
});
