import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import { converged, type StepResult } from '../../src/contract/decision.ts';
import { workflowIdFor, type ResourceRef } from '../../src/contract/resource.ts';
import type { StepAttempt } from '../../src/contract/telemetry.ts';
import { operatorTraces, type Traces } from '../../src/observability/traces.ts';
import { anOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { aRecordingLogger } from '../support/recording-logger.ts';

const RUN_ID = '0199f0a0-1111-7222-8333-444455556666';
const TRACE_ID = '0199f0a0111172228333444455556666';
const ROOT_SPAN_ID = '8333444455556666';
const SECRET = 'canary-f00d';

const web: ResourceRef = { controller: 'pod-label', namespace: 'shop', name: 'web', uid: 'uid-of-web' };
const STEP: StepAttempt = {
  ref: web,
  activity: 'addLabel',
  workflowId: workflowIdFor(web),
  runId: RUN_ID,
  attempt: 2,
};
const ADDED: StepResult = { did: [{ did: 'added', what: 'label a=b' }], next: converged('labelled') };
const PATCH = {
  method: 'PATCH',
  host: 'cluster:6443',
  path: '/api/v1/namespaces/shop/pods/web',
  isWatch: false,
};

let collector: OtlpReceiver;

beforeEach(async () => {
  collector = await anOtlpReceiver();
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector.url;
});

afterEach(async () => {
  delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  await collector.close();
});

/** Those that reach the collector. */
async function spansOf(act: (traces: Traces) => unknown): Promise<readonly ReceivedSpan[]> {
  const traces = operatorTraces({
    program: 'shop-operator',
    log: aRecordingLogger(),
    version: '1.2.3',
    env: {},
  });
  await act(traces);
  await traces.close();
  return collector.spans;
}

it('the start of a run is the root of the trace with the run’s id', async () => {
  const run = { ref: web, reason: 'the label is missing', runId: RUN_ID, requestedAtMs: Date.now() - 20 };
  const [span] = await spansOf((traces) => traces.runStarted(run));
  expect(span).toMatchObject({
    traceId: TRACE_ID,
    spanId: ROOT_SPAN_ID,
    parentSpanId: '',
    name: 'start pod-label',
    attributes: { 'temporal.run.id': RUN_ID, 'durable_operator.resource.name': 'web' },
  });
  expect(collector.resource).toMatchObject({ 'service.name': 'shop-operator' });
});

describe('a step attempt', () => {
  it('is a child of the root of its run’s trace, even if another process sent that', async () => {
    const [span] = await spansOf((traces) => traces.step(STEP, () => Promise.resolve(ADDED)));
    expect(span).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: ROOT_SPAN_ID,
      name: 'addLabel',
      hasFailed: false,
      attributes: {
        'durable_operator.next': 'converged',
        'temporal.workflow.id': 'pod-label/shop/web/uid-of-web',
        'temporal.activity.attempt': 2,
      },
    });
  });

  it('that failed has the type of the failure, but not its message', async () => {
    const failure = ApplicationFailure.create({ type: 'Refused', message: `denied: ${SECRET}` });
    const [span] = await spansOf((traces) =>
      traces.step(STEP, () => Promise.reject(failure)).catch((error: unknown) => error),
    );
    expect(span).toMatchObject({ hasFailed: true, words: '', attributes: { 'error.type': 'Refused' } });
    expect(collector.bytes.includes(SECRET)).toBe(false);
  });
});

describe('a request of a step', () => {
  const within = (traces: Traces, request: (traces: Traces) => void) =>
    traces.step(STEP, async () => {
      await Promise.resolve();
      request(traces);
      return ADDED;
    });
  const spanOf = (name: string) => collector.spans.find((span) => span.name === name);

  it('is a child of the span of that step', async () => {
    await spansOf((traces) => within(traces, () => traces.request(PATCH).answered(200)));
    expect(spanOf('PATCH pods')).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: spanOf('addLabel')?.spanId,
      hasFailed: false,
      attributes: { 'http.response.status_code': 200, 'url.path': PATCH.path },
    });
  });

  it('has failed with a response that refuses', async () => {
    await spansOf((traces) => within(traces, () => traces.request(PATCH).answered(403)));
    expect(spanOf('PATCH pods')).toMatchObject({ hasFailed: true, attributes: { 'error.type': '403' } });
  });

  it.each([
    ['/api/v1/namespaces/shop', 'namespaces'],
    ['/apis/batch.tutorial.kubebuilder.io/v1/namespaces/shop/podsets/web/status', 'podsets/status'],
  ])('to %s is named after %s', async (path, resource) => {
    await spansOf((traces) => within(traces, () => traces.request({ ...PATCH, path }).answered(200)));
    expect(spanOf(`PATCH ${resource}`)).toBeDefined();
  });
});

it('a request outside of any step has no span', async () => {
  await spansOf((traces) => traces.request(PATCH).answered(200));
  expect(collector.spans).toEqual([]);
});
