import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
  type Resource,
} from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type IdGenerator,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { StepResult } from '../contract/decision.ts';
import type { Logger } from '../contract/logger.ts';
import type { ResourceRef } from '../contract/resource.ts';
import {
  SILENT,
  type RequestAbout,
  type RequestObserver,
  type StartedRun,
  type StepAttempt,
  type Telemetry,
} from '../contract/telemetry.ts';

interface TracesOptions {
  /** The name of the operator. */
  readonly program: string;
  readonly log: Logger;
  readonly version: string;
  /** For OpenTelemetry's variables. */
  readonly env: NodeJS.ProcessEnv;
}

/** The parts of telemetry that have spans. */
export interface Traces extends Pick<Telemetry, 'runStarted' | 'step' | 'request'> {
  /** Sends the spans that are still waiting, however long that takes. Never fails. */
  close(): Promise<void>;
}

/**
 * One trace per run, whose id is the id of the run: every process can derive it, nothing has to be passed through the
 * workflow, and a run in the Temporal UI leads to its trace. Spans hold names, numbers and our own words, but never
 * the body of a request or the message of an error.
 */
export function operatorTraces({ program, log, version, env }: TracesOptions): Traces {
  const ids = new RunIdGenerator();
  const provider = new TracerProvider({
    idGenerator: ids,
    resource: resourceOf(program, version),
    sampler: samplerFor(env),
    spanProcessors: [new BatchSpanProcessor({ exporter: new LoggingExporter(log) })],
  });
  const tracer = provider.getTracer('durable-operator', version);
  const steps = new StepSpans(tracer);
  return {
    runStarted: (run) => recordStart(tracer, ids, run),
    step: (about, work) => steps.step(about, work),
    request: (about) => steps.request(about),
    // The exporter has already logged why.
    close: () => provider.shutdown().catch(() => undefined),
  };
}

function resourceOf(program: string, version: string): Resource {
  const ours = {
    'service.name': program,
    'service.version': version,
    'service.instance.id': hostname(),
  };
  const theirs = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  return defaultResource().merge(resourceFromAttributes(ours)).merge(theirs);
}

/**
 * Samples by trace id alone, never by parent: all processes then sample the same runs, each of them completely.
 * Source: OpenTelemetry's "Environment Variable Specification", OTEL_TRACES_SAMPLER.
 */
function samplerFor(env: NodeJS.ProcessEnv): Sampler {
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? 1);
  const byRatio = env['OTEL_TRACES_SAMPLER']?.endsWith('traceidratio') === true && ratio >= 0 && ratio <= 1;
  return byRatio ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}

/** A run id is a UUID, and a trace id has 16 bytes too. */
function traceIdOf(runId: string): string {
  return runId.replaceAll('-', '').toLowerCase();
}

/** The id of the root span, so that every process knows the parent of the spans that it adds. */
function rootSpanIdOf(runId: string): string {
  return traceIdOf(runId).slice(16);
}

/** Random ids, except for the root spans of runs. */
class RunIdGenerator implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #runId: string | undefined;

  /** The span that `start` starts synchronously, without a parent, becomes the root of that run's trace. */
  asRootOf<T>(runId: string, start: () => T): T {
    this.#runId = runId;
    try {
      return start();
    } finally {
      this.#runId = undefined;
    }
  }

  generateTraceId(): string {
    return this.#runId === undefined ? this.#random.generateTraceId() : traceIdOf(this.#runId);
  }

  generateSpanId(): string {
    return this.#runId === undefined ? this.#random.generateSpanId() : rootSpanIdOf(this.#runId);
  }
}

/** The root span: from the event that requires a reconcile until the run is started. */
function recordStart(tracer: Tracer, ids: RunIdGenerator, run: StartedRun): void {
  const { ref, runId, reason, requestedAtMs } = run;
  const options = {
    kind: SpanKind.PRODUCER,
    startTime: requestedAtMs,
    attributes: { ...attributesOf(ref), 'temporal.run.id': runId, 'durable_operator.reason': reason },
  };
  ids.asRootOf(runId, () => tracer.startSpan(`start ${ref.controller}`, options, ROOT_CONTEXT)).end();
}

class StepSpans {
  readonly #tracer: Tracer;
  /** Holds the span of the step attempt that the running code belongs to. */
  readonly #current = new AsyncLocalStorage<Context>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  async step(about: StepAttempt, work: () => Promise<StepResult>): Promise<StepResult> {
    const attributes = {
      ...attributesOf(about.ref),
      'temporal.workflow.id': about.workflowId,
      'temporal.run.id': about.runId,
      'temporal.activity.attempt': about.attempt,
    };
    const options = { kind: SpanKind.CONSUMER, attributes };
    const span = this.#tracer.startSpan(about.activity, options, rootOf(about.runId));
    try {
      const result = await this.#current.run(trace.setSpan(ROOT_CONTEXT, span), work);
      span.setAttribute('durable_operator.next', result.next.do);
      return result;
    } catch (error) {
      markFailed(span, typeOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  request(about: RequestAbout): RequestObserver {
    const resource = resourceIn(about.path);
    const step = this.#current.getStore();
    // Events are sent in the background, for many steps: they do not belong to the one that triggers the sending.
    if (step === undefined || resource === 'events') return SILENT.request(about);
    const attributes = {
      'http.request.method': about.method,
      'server.address': about.host,
      'url.path': about.path,
      'k8s.resource': resource,
    };
    const options = { kind: SpanKind.CLIENT, attributes };
    return requestSpan(this.#tracer.startSpan(`${about.method} ${resource}`, options, step));
  }
}

function requestSpan(span: Span): RequestObserver {
  return {
    answered(status) {
      span.setAttribute('http.response.status_code', status);
      if (status >= 400) markFailed(span, String(status));
      span.end();
    },
    failed() {
      markFailed(span, 'no response');
      span.end();
    },
  };
}

function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The process that started the run sends the root span, if it traces; all steps of the run are its children. */
function rootOf(runId: string): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: traceIdOf(runId),
    spanId: rootSpanIdOf(runId),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  });
}

function attributesOf({ controller, namespace, name, uid }: ResourceRef): Attributes {
  return {
    'durable_operator.controller': controller,
    'k8s.namespace.name': namespace,
    'durable_operator.resource.name': name,
    'durable_operator.resource.uid': uid,
  };
}

/** The failure type that the Temporal UI shows, or else the class of the error. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'type' in error && typeof error.type === 'string' ? error.type : error.name;
}

/** `pods` in `/api/v1/namespaces/shop/pods/web`, `podsets/status` where the path ends in a subresource. */
function resourceIn(path: string): string {
  const segments = path.split('/').slice(1);
  const inGroup = segments.slice(segments[0] === 'api' ? 2 : 3);
  const [plural = '', , subresource] =
    inGroup[0] === 'namespaces' && inGroup.length > 2 ? inGroup.slice(2) : inGroup;
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}

/**
 * Exports spans by OTLP over HTTP, to the endpoint that OpenTelemetry's variables name
 * (`OTEL_EXPORTER_OTLP_ENDPOINT`; by default the collector at http://localhost:4318). Spans that cannot be sent are
 * lost; this is logged once.
 */
class LoggingExporter extends OTLPTraceExporter {
  readonly #log: Logger;
  #isFailing = false;

  constructor(log: Logger) {
    super();
    this.#log = log;
  }

  override export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    super.export(spans, (result) => {
      this.#logChange(result.error);
      done(result);
    });
  }

  #logChange(error: Error | undefined): void {
    const isFailing = error !== undefined;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    if (isFailing) {
      const advice = 'check OTEL_EXPORTER_OTLP_ENDPOINT';
      this.#log.warn({}, `cannot send traces, so they are lost: ${error.message}; ${advice}`);
    } else this.#log.info({}, 'traces can be sent again');
  }
}
