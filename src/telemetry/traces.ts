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
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { ResourceRef } from '../contract/resource.ts';
import type { Outcome } from '../contract/run.ts';
import {
  SILENT,
  type PassAbout,
  type RequestAbout,
  type RequestObserver,
  type StartedRun,
  type Telemetry,
} from '../contract/telemetry.ts';
import { RunIds, spanIdOf, traceIdOf } from './run-ids.ts';

export interface TracesOptions {
  readonly exporter: SpanExporter;
  readonly version: string;
  /** OpenTelemetry's own variables. */
  readonly env: NodeJS.ProcessEnv;
}

/** Those parts of telemetry of which there are spans. */
export interface Traces extends Pick<Telemetry, 'runStarted' | 'pass' | 'request'> {
  /** Sends what still waits, for as long as that takes. Never fails. */
  close(): Promise<void>;
}

/**
 * One trace a run, whose id is the run's: so every process finds it by itself, nothing has to be carried through the
 * workflow, and who looks at a run in the Temporal UI can look its trace up. What a span says is names, numbers
 * and words of our own: never the body of a request, nor the text of an error.
 */
export function operatorTraces({ exporter, version, env }: TracesOptions): Traces {
  const ids = new RunIds();
  const provider = new TracerProvider({
    idGenerator: ids,
    resource: resourceOf(version),
    sampler: samplerFor(env),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('durable-operator', version);
  const passes = new PassSpans(tracer);
  return {
    runStarted: (run) => recordStart(tracer, ids, run),
    pass: (about, work) => passes.pass(about, work),
    request: (about) => passes.request(about),
    // What cannot be sent is lost; whoever exports has told it.
    close: () => provider.shutdown().catch(() => undefined),
  };
}

function resourceOf(version: string): Resource {
  const ours = {
    'service.name': 'durable-operator',
    'service.version': version,
    'service.instance.id': hostname(),
  };
  const theirs = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  return defaultResource().merge(resourceFromAttributes(ours)).merge(theirs);
}

/**
 * By the trace id alone, never by the parent: then all processes keep the same traces, and each trace whole.
 * Source: OpenTelemetry's "Environment Variable Specification", OTEL_TRACES_SAMPLER.
 */
function samplerFor(env: NodeJS.ProcessEnv): Sampler {
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? 1);
  const byRatio = env['OTEL_TRACES_SAMPLER']?.endsWith('traceidratio') === true && ratio >= 0 && ratio <= 1;
  return byRatio ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}

/** The root of the trace: from the event that showed the need until the run was started. */
function recordStart(tracer: Tracer, ids: RunIds, { ref, runId, reason, neededSinceMs }: StartedRun): void {
  const options = {
    kind: SpanKind.PRODUCER,
    startTime: neededSinceMs,
    attributes: { ...attributesOf(ref), 'temporal.run.id': runId, 'durable_operator.reason': reason },
  };
  ids.asRootOf(runId, () => tracer.startSpan(`start ${ref.controller}`, options, ROOT_CONTEXT)).end();
}

class PassSpans {
  readonly #tracer: Tracer;
  /** The span of the pass that the code at hand belongs to. */
  readonly #current = new AsyncLocalStorage<Context>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  async pass(about: PassAbout, work: () => Promise<Outcome>): Promise<Outcome> {
    const attributes = {
      ...attributesOf(about.ref),
      'temporal.workflow.id': about.workflowId,
      'temporal.run.id': about.runId,
      'temporal.activity.attempt': about.attempt,
    };
    const options = { kind: SpanKind.CONSUMER, attributes };
    const span = this.#tracer.startSpan(about.activity, options, rootOf(about.runId));
    try {
      const outcome = await this.#current.run(trace.setSpan(ROOT_CONTEXT, span), work);
      span.setAttribute('durable_operator.outcome', outcome.result);
      return outcome;
    } catch (error) {
      failedAs(span, typeOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  request(about: RequestAbout): RequestObserver {
    const resource = resourceIn(about.path);
    const pass = this.#current.getStore();
    // Events are sent in the background, for several passes in turn: they are no part of the one that happens to send.
    if (pass === undefined || resource === 'events') return SILENT.request(about);
    const attributes = {
      'http.request.method': about.method,
      'server.address': about.host,
      'url.path': about.path,
      'k8s.resource': resource,
    };
    const options = { kind: SpanKind.CLIENT, attributes };
    return requestSpan(this.#tracer.startSpan(`${about.method} ${resource}`, options, pass));
  }
}

function requestSpan(span: Span): RequestObserver {
  return {
    answered(status) {
      span.setAttribute('http.response.status_code', status);
      if (status >= 400) failedAs(span, String(status));
      span.end();
    },
    failed() {
      failedAs(span, 'no answer');
      span.end();
    },
  };
}

function failedAs(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Whoever started the run has sent the root, or nobody has: all of the run's passes hang on it. */
function rootOf(runId: string): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: traceIdOf(runId),
    spanId: spanIdOf(runId),
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

/** The type that the Temporal UI shows where there is one, else the error's class. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'type' in error && typeof error.type === 'string' ? error.type : error.name;
}

/** `pods` of `/api/v1/namespaces/shop/pods/web`, `podsets/status` where the path goes on like that. */
function resourceIn(path: string): string {
  const segments = path.split('/').slice(1);
  const inGroup = segments.slice(segments[0] === 'api' ? 2 : 3);
  const [plural = '', , subresource] =
    inGroup[0] === 'namespaces' && inGroup.length > 2 ? inGroup.slice(2) : inGroup;
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}
