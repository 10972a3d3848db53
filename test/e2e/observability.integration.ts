import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { KubernetesObject } from '../../src/contract/object.ts';
import { workflowIdFor } from '../../src/contract/resource.ts';
import {
  LABEL_VALUE_MAX,
  POD_NAME_ANNOTATION,
  POD_NAME_LABEL,
} from '../../src/controllers/pod-label/decide.ts';
import { freePort } from '../../local/ports.ts';
import { PODS, refOf } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { aTaskQueue, endOperators, startOperator } from '../support/operator.ts';
import { anOtlpReceiver, type OtlpReceiver } from '../support/otlp-receiver.ts';
import { aPod } from '../support/pods.ts';
import { readMetrics, type Scraped } from '../support/prometheus.ts';
import { setUpStage } from '../support/stage.ts';

jest.setTimeout(120_000);
const WITHIN_MS = 30_000;
const CONTROLLER = { controller: 'pod-label' };

const { cluster, temporal } = setUpStage(() => collector.close());
let collector: OtlpReceiver;
let metricsAddresses: readonly string[];
let namespace: string;
let atStart: Scraped;

beforeAll(async () => {
  collector = await anOtlpReceiver();
  metricsAddresses = [await start('run', aTaskQueue())];
  atStart = await scrape();
  namespace = await cluster.aNamespace();
});

/** @returns where its metrics are */
async function start(command: 'run' | 'watch' | 'work', taskQueue: string): Promise<string> {
  const metricsAddress = `127.0.0.1:${await freePort()}`;
  await startOperator({
    taskQueue,
    command,
    args: ['--controllers', 'pod-label', '--metrics-addr', metricsAddress, '--tracing'],
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
  return metricsAddress;
}

/** Of all processes together: their series add up. */
async function scrape(): Promise<Scraped> {
  const texts = metricsAddresses.map(async (address) => (await fetch(`http://${address}/metrics`)).text());
  return readMetrics((await Promise.all(texts)).join(''));
}

/** A Pod that has got its label. */
async function labelled(name: string): Promise<KubernetesObject> {
  await cluster.create(PODS, aPod().annotated().in(namespace).named(name).manifest);
  return eventually(async () => {
    const pod = await cluster.get({ type: PODS, namespace, name });
    return pod?.metadata.labels?.[POD_NAME_LABEL] === name ? pod : undefined;
  }, WITHIN_MS);
}

describe('the metrics of an operator', () => {
  it('are there from the start, with 0 for what has not happened', () => {
    expect(atStart.value('controller_runtime_reconcile_total', { ...CONTROLLER, result: 'error' })).toBe(0);
    expect(atStart.value('durable_operator_stalled_runs', CONTROLLER)).toBe(0);
    expect(atStart.value('durable_operator_temporal_unavailable')).toBe(0);
  });

  it('count what a Pod that gets its label takes', async () => {
    const before = await scrape();
    await labelled('counted');
    const more = async (name: string, labels: Record<string, string>) =>
      ((await scrape()).value(name, labels) ?? 0) - (before.value(name, labels) ?? 0);
    await eventually(async () => {
      expect(await more('durable_operator_convergence_seconds_count', CONTROLLER)).toBeGreaterThanOrEqual(1);
      expect(
        await more('controller_runtime_reconcile_total', { ...CONTROLLER, result: 'success' }),
      ).toBeGreaterThanOrEqual(1);
      expect(
        await more('durable_operator_steps_total', { ...CONTROLLER, step: 'addLabel', result: 'success' }),
      ).toBeGreaterThanOrEqual(1);
      expect(await more('durable_operator_runs_started_total', CONTROLLER)).toBeGreaterThanOrEqual(1);
      expect(await more('workqueue_adds_total', { ...CONTROLLER, name: 'pod-label' })).toBeGreaterThanOrEqual(
        1,
      );
      expect(
        await more('rest_client_requests_total', { method: 'PATCH', code: '200' }),
      ).toBeGreaterThanOrEqual(1);
      expect(await more('durable_operator_known_objects', CONTROLLER)).toBeGreaterThanOrEqual(1);
      expect(await more('durable_operator_watch_lag_seconds_count', CONTROLLER)).toBeGreaterThanOrEqual(1);
      return true;
    }, WITHIN_MS);
  });

  it('count a run that stalled, until its resource is changed', async () => {
    const name = `web-${'x'.repeat(LABEL_VALUE_MAX)}`;
    const pod = await cluster.create(PODS, aPod().annotated().in(namespace).named(name).manifest);
    const stalledRuns = async () => (await scrape()).value('durable_operator_stalled_runs', CONTROLLER);
    await eventually(async () => (await stalledRuns()) === 1, WITHIN_MS);
    expect(await temporal.stalledRunsIn(namespace)).toEqual([workflowIdFor(refOf('pod-label', pod))]);
    await cluster.patch(
      { type: PODS, namespace, name },
      { metadata: { annotations: { [POD_NAME_ANNOTATION]: null } } },
    );
    await eventually(async () => (await stalledRuns()) === 0, WITHIN_MS);
    await eventually(async () => (await temporal.stalledRunsIn(namespace)).length === 0, WITHIN_MS);
    const terminal = 'controller_runtime_terminal_reconcile_errors_total';
    expect((await scrape()).value(terminal, CONTROLLER)).toBeGreaterThanOrEqual(1);
  });

  it('include those of Temporal’s SDK', async () => {
    const { types } = await scrape();
    expect(types.get('temporal_workflow_completed_total')).toBe('counter');
  });
});

describe('the trace of a run', () => {
  it('has the run’s id, and shows the start, the step and its write', async () => {
    await expectTraceOf(await labelled('traced'));
  });
});

describe('a watcher and a worker in two processes', () => {
  beforeAll(async () => {
    await endOperators();
    const taskQueue = aTaskQueue();
    metricsAddresses = await Promise.all([start('work', taskQueue), start('watch', taskQueue)]);
  });

  it('add to the same trace', async () => {
    await expectTraceOf(await labelled('traced-by-both'));
  });

  it('have metrics that add up to those of one', async () => {
    const told = await scrape();
    expect(told.value('durable_operator_runs_started_total', CONTROLLER)).toBeGreaterThanOrEqual(1);
    expect(
      told.value('controller_runtime_reconcile_total', { ...CONTROLLER, result: 'success' }),
    ).toBeGreaterThanOrEqual(1);
    expect(told.series('controller_runtime_reconcile_total', { result: 'success' })).toHaveLength(2);
  });
});

async function expectTraceOf(pod: KubernetesObject): Promise<void> {
  const [run] = await eventually(async () => {
    const runs = await temporal.runsOf(refOf('pod-label', pod));
    return runs.length > 0 ? runs : undefined;
  }, WITHIN_MS);
  const traceId = run?.runId.replaceAll('-', '');
  await eventually(() => {
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    const [root, step, write] = ['start pod-label', 'addLabel', 'PATCH pods'].map((name) =>
      spans.find((span) => span.name === name),
    );
    expect(root).toMatchObject({ parentSpanId: '', attributes: { 'temporal.run.id': run?.runId } });
    expect(step).toMatchObject({
      parentSpanId: root?.spanId,
      attributes: { 'durable_operator.next': 'converged', 'k8s.namespace.name': namespace },
    });
    expect(write).toMatchObject({
      parentSpanId: step?.spanId,
      attributes: { 'http.response.status_code': 200, 'k8s.resource': 'pods' },
    });
    return Promise.resolve(true);
  }, WITHIN_MS);
}
