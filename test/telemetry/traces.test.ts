import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import { workflowIdFor, type ResourceRef } from '../../src/contract/resource.ts';
import { converged } from '../../src/contract/run.ts';
import type { PassAbout } from '../../src/contract/telemetry.ts';
import { traceExporter } from '../../src/telemetry/trace-exporter.ts';
import { operatorTraces, type Traces } from '../../src/telemetry/traces.ts';
import { anOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const RUN_ID = '0199f0a0-1111-7222-8333-444455556666';
const TRACE_ID = '0199f0a0111172228333444455556666';
const ROOT_SPAN_ID = '8333444455556666';
const SECRET = 'canary-f00d';

const web: ResourceRef = { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'uid-of-web' };
const PASS: PassAbout = {
  ref: web,
  activity: 'labelPod',
  workflowId: workflowIdFor(web),
  runId: RUN_ID,
  attempt: 2,
};
const PATCH = {
  method: 'PATCH',
  host: 'cluster:6443',
  path: '/api/v1/namespaces/shop/pods/web',
  isWatch: false,
};

let collector: OtlpReceiver;
let log: ReturnType<typeof aRecordingLogger>;

beforeEach(async () => {
  collector = await anOtlpReceiver();
  log = aRecordingLogger();
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector.url;
});

afterEach(async () => {
  delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  await collector.close();
});

const someTraces = (env: NodeJS.ProcessEnv = {}): Traces =>
  operatorTraces({ exporter: traceExporter(log), version: '1.2.3', env });

/** Those that reach the collector. */
async function spansOf(
  act: (traces: Traces) => unknown,
  env: NodeJS.ProcessEnv = {},
): Promise<readonly ReceivedSpan[]> {
  const traces = someTraces(env);
  await act(traces);
  await traces.close();
  return collector.spans;
}

const start = (traces: Traces, runId = RUN_ID) =>
  traces.runStarted({ ref: web, reason: 'the label is missing', runId, neededSinceMs: Date.now() - 20 });

describe('the start of a run', () => {
  it('is the root of the trace that has the run’s id', async () => {
    const [span] = await spansOf((traces) => start(traces));
    expect(span).toMatchObject({
      traceId: TRACE_ID,
      spanId: ROOT_SPAN_ID,
      parentSpanId: '',
      name: 'start pod-label',
      attributes: { 'temporal.run.id': RUN_ID, 'durable_operator.resource.name': 'web' },
    });
  });
});

describe('a pass', () => {
  it('hangs on the root of its run’s trace, also where another process has sent that', async () => {
    const [span] = await spansOf((traces) => traces.pass(PASS, () => Promise.resolve(converged('done'))));
    expect(span).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: ROOT_SPAN_ID,
      name: 'labelPod',
      hasFailed: false,
      attributes: {
        'durable_operator.outcome': 'converged',
        'temporal.workflow.id': 'pod-label/shop/web/uid-of-web',
        'temporal.activity.attempt': 2,
      },
    });
  });

  it('that failed says what kind of failure it was, and not its words', async () => {
    const failure = ApplicationFailure.create({ type: 'Refused', message: `denied: ${SECRET}` });
    const [span] = await spansOf((traces) =>
      traces.pass(PASS, () => Promise.reject(failure)).catch((error: unknown) => error),
    );
    expect(span).toMatchObject({ hasFailed: true, words: '', attributes: { 'error.type': 'Refused' } });
    expect(collector.bytes.includes(SECRET)).toBe(false);
  });
});

describe('a request within a pass', () => {
  const within = (traces: Traces, request: (traces: Traces) => void) =>
    traces.pass(PASS, async () => {
      await Promise.resolve();
      request(traces);
      return converged('done');
    });
  const spanOf = (name: string) => collector.spans.find((span) => span.name === name);

  it('hangs on the span of that pass', async () => {
    await spansOf((traces) => within(traces, () => traces.request(PATCH).answered(200)));
    expect(spanOf('PATCH pods')).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: spanOf('labelPod')?.spanId,
      hasFailed: false,
      attributes: { 'http.response.status_code': 200, 'url.path': PATCH.path },
    });
  });

  it.each([
    ['an answer that refuses', (traces: Traces) => traces.request(PATCH).answered(403), '403'],
    ['no answer', (traces: Traces) => traces.request(PATCH).failed(), 'no answer'],
  ])('has failed with %s', async (_, request, type) => {
    await spansOf((traces) => within(traces, request));
    expect(spanOf('PATCH pods')).toMatchObject({ hasFailed: true, attributes: { 'error.type': type } });
  });

  it.each([
    ['/api/v1/namespaces/shop', 'namespaces'],
    ['/api/v1/nodes/a', 'nodes'],
    ['/apis/batch.tutorial.kubebuilder.io/v1/namespaces/shop/podsets/web/status', 'podsets/status'],
    ['/apis/batch/v1/namespaces/shop/jobs', 'jobs'],
  ])('to %s is named after %s', async (path, resource) => {
    await spansOf((traces) => within(traces, () => traces.request({ ...PATCH, path }).answered(200)));
    expect(spanOf(`PATCH ${resource}`)).toBeDefined();
  });

  it('that records an Event has none: those are sent for several passes in turn', async () => {
    const path = '/apis/events.k8s.io/v1/namespaces/shop/events';
    await spansOf((traces) => within(traces, () => traces.request({ ...PATCH, path }).answered(201)));
    expect(collector.spans.map(({ name }) => name)).toEqual(['labelPod']);
  });
});

describe('a request outside of any pass', () => {
  it('has no span', async () => {
    await spansOf((traces) => traces.request(PATCH).answered(200));
    expect(collector.spans).toEqual([]);
  });
});

describe('the sender', () => {
  it('says who it is', async () => {
    await spansOf((traces) => start(traces));
    expect(collector.resource).toMatchObject({
      'service.name': 'durable-operator',
      'service.version': '1.2.3',
    });
  });

  it('keeps of each run all or nothing where only a part is to be kept', async () => {
    const env = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
    const runIds = Array.from({ length: 64 }, (_, n) => {
      const spread = (n * 0x04_00_00_00).toString(16).padStart(8, '0');
      return `${spread}-0000-7000-8000-000000000001`;
    });
    await spansOf(async (traces) => {
      for (const runId of runIds) {
        start(traces, runId);
        await traces.pass({ ...PASS, runId }, () => Promise.resolve(converged('done')));
      }
    }, env);
    const spansOfRun = runIds.map(
      (runId) => collector.spans.filter(({ traceId }) => traceId === runId.replaceAll('-', '')).length,
    );
    expect(new Set(spansOfRun)).toEqual(new Set([0, 2]));
  });

  it('comes to its end also where the collector does not take them', async () => {
    collector.answerWith(400);
    await spansOf((traces) => start(traces));
    expect(log.lines).toMatchObject([{ level: 'warn' }]);
  });

  it('says once that the collector does not take them, and once that it does again', async () => {
    const exporter = traceExporter(log);
    const send = () => new Promise((resolve) => exporter.export([], resolve));
    for (const status of [400, 400, 200, 200]) {
      collector.answerWith(status);
      await send();
    }
    await exporter.shutdown();
    expect(log.lines.map(({ level }) => level)).toEqual(['warn', 'info']);
    expect(log.lines[0]?.message).toMatch(
      /^traces cannot be sent .* OTEL_EXPORTER_OTLP_ENDPOINT says where to$/,
    );
  });
});
