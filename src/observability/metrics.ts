import { createServer, type AddressInfo } from 'node:net';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { typeNameOf } from '../api/resource-type.ts';
import { type Controller } from '../engine/controller.ts';
import { WATCH_ENDS, type Telemetry, type WatchedKind } from '../runs/telemetry.ts';
import { API_ERROR_CLASSES } from '../kubernetes/errors.ts';
import { counter, gauge, histogram } from './instruments.ts';
import { stateMetrics, type StateMetricsOptions } from './state-metrics.ts';
import { StepMetrics } from './step-metrics.ts';
import { WorkqueueMetrics } from './workqueue-metrics.ts';

/** The parts of a controller that metrics need. */
export interface ObservedController extends Pick<Controller, 'name' | 'steps'> {
  readonly primary: Pick<Controller['primary'], 'type'>;
  readonly children: readonly Pick<Controller['primary'], 'type'>[];
}

export interface MetricsOptions extends Pick<StateMetricsOptions, 'leaseName' | 'source'> {
  readonly controllers: readonly ObservedController[];
  readonly version: string;
  /** The program's command, such as `watch`: what this process does. */
  readonly command: string;
}

export interface Metrics extends Telemetry {
  /** Of Prometheus' text format. */
  readonly contentType: string;
  /** All metrics in that format. */
  scrape(): Promise<string>;
}

/** The metrics of this process, as docs/observability.md describes them. */
export function operatorMetrics(options: MetricsOptions): Metrics {
  const controllers = options.controllers.map(({ name }) => name);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLING_MS });
  gauge(registry, {
    name: 'durable_operator_build_info',
    help: 'Always 1; the labels say which version is running, and by which command',
    labelNames: ['version', 'command'],
    measure: () => [[{ version: options.version, command: options.command }, 1]],
  });
  stateMetrics(registry, { ...options, controllers });
  const steps = new StepMetrics(registry, options.controllers);
  return {
    queue: new WorkqueueMetrics(registry, controllers),
    watch: watchMetrics(registry, options.controllers.flatMap(kindsOf)),
    ...runMetrics(registry, controllers),
    step: (about, work) => steps.step(about, work),
    ...turnMetrics(registry, controllers),
    request: requestMetrics(registry),
    requestFailed: requestErrorMetrics(registry),
    contentType: registry.contentType,
    scrape: () => registry.metrics(),
  };
}

/** Each sample wakes the process up, even when it is idle. */
const EVENT_LOOP_SAMPLING_MS = 100;

function kindsOf({ name, primary, children }: ObservedController): WatchedKind[] {
  return [primary, ...children].map(({ type }) => ({ controller: name, resource: typeNameOf(type) }));
}

/** From a label that takes milliseconds to a build that takes an hour. */
const CONVERGENCE_BUCKETS = [
  ...[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  ...[60, 120, 300, 600, 1_800, 3_600],
];

function runMetrics(
  registry: Registry,
  controllers: readonly string[],
): Pick<Telemetry, 'runStarted' | 'requestEnded'> {
  const labelNames = ['controller'] as const;
  const initially = controllers.map((controller) => ({ controller }));
  const started = counter(registry, {
    name: 'durable_operator_runs_started_total',
    help: 'Total number of runs that this process started',
    labelNames,
    initially,
  });
  const convergence = histogram(registry, {
    name: 'durable_operator_convergence_seconds',
    help: 'Time from the event that requires a reconcile to the event that shows the resource up to date or gone, in seconds',
    labelNames,
    initially,
    buckets: CONVERGENCE_BUCKETS,
  });
  return {
    runStarted: ({ controller }) => started.inc({ controller }),
    requestEnded: ({ controller, seconds }) => convergence.observe({ controller }, Math.max(0, seconds)),
  };
}

function turnMetrics(
  registry: Registry,
  controllers: readonly string[],
): Pick<Telemetry, 'turnDenied' | 'turnAwaited'> {
  const labelNames = ['controller'] as const;
  const initially = controllers.map((controller) => ({ controller }));
  const denied = counter(registry, {
    name: 'durable_operator_turns_denied_total',
    help: 'Total number of step attempts that got no turn, since too many of their controller or namespace were in progress',
    ...{ labelNames, initially },
  });
  const awaited = histogram(registry, {
    name: 'durable_operator_turn_wait_seconds',
    help: 'Time that a step attempt waited for its turn, in seconds; who gets one at once is not counted',
    ...{ labelNames, initially, buckets: CONVERGENCE_BUCKETS },
  });
  return {
    turnDenied: (controller) => denied.inc({ controller }),
    turnAwaited: (controller, seconds) => awaited.observe({ controller }, seconds),
  };
}

/** Creation timestamps have whole seconds: anything below one cannot be distinguished. */
const LAG_BUCKETS = [1, 2, 3, 5, 10, 30, 60, 120, 300, 900];

function watchMetrics(registry: Registry, kinds: readonly WatchedKind[]): Telemetry['watch'] {
  const lag = histogram(registry, {
    name: 'durable_operator_watch_lag_seconds',
    help: 'Age of an object when the event of its creation arrives, in seconds',
    labelNames: ['controller', 'resource'],
    initially: kinds.map(({ controller, resource }) => ({ controller, resource })),
    buckets: LAG_BUCKETS,
  });
  const restarts = counter(registry, {
    name: 'durable_operator_watch_restarts_total',
    help: 'Total number of times a watch was reopened, by reason',
    labelNames: ['controller', 'resource', 'reason'],
    initially: kinds.flatMap(({ controller, resource }) =>
      WATCH_ENDS.map((reason) => ({ controller, resource, reason })),
    ),
  });
  return ({ controller, resource }) => ({
    // Clocks differ.
    created: (ageSeconds) => lag.observe({ controller, resource }, Math.max(0, ageSeconds)),
    ended: (reason) => restarts.inc({ controller, resource, reason }),
  });
}

/** As in k8s.io/component-base/metrics/prometheus/restclient. */
const REQUEST_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** What client-go measures of requests to the API server. A watch has no duration there either. */
function requestMetrics(registry: Registry): Telemetry['request'] {
  const requests = counter(registry, {
    name: 'rest_client_requests_total',
    help: 'Total number of requests to the API server, by status code; <error> without a response',
    labelNames: ['code', 'host', 'method'],
  });
  const durations = histogram(registry, {
    name: 'rest_client_request_duration_seconds',
    help: 'Time until the API server responds, in seconds',
    labelNames: ['verb', 'host'],
    buckets: REQUEST_BUCKETS,
  });
  return ({ method, host, isWatch }) => {
    const startedAtMs = performance.now();
    const ended = (code: string): void => {
      requests.inc({ code, host, method });
      if (!isWatch) durations.observe({ verb: method, host }, (performance.now() - startedAtMs) / 1000);
    };
    return { answered: (status) => ended(String(status)), failed: () => ended('<error>') };
  };
}

/** A status code does not tell a missing permission from a quota: both are 403. */
function requestErrorMetrics(registry: Registry): Telemetry['requestFailed'] {
  const errors = counter(registry, {
    name: 'durable_operator_request_errors_total',
    help: 'Total number of requests to the API server that failed, by what the error means',
    labelNames: ['meaning'],
    initially: API_ERROR_CLASSES.map((meaning) => ({ meaning })),
  });
  return (meaning) => errors.inc({ meaning });
}

const LOOPBACK = '127.0.0.1';
const TEMPORAL_TIMEOUT_MS = 2_000;

/** A free address for the metrics of Temporal's SDK, which has to be given one and serves them by itself. */
export async function addressForTemporalMetrics(): Promise<string> {
  const server = createServer();
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: LOOPBACK, port: 0 }, () => resolve(portOf(server.address())));
  });
  await new Promise((resolve) => server.close(resolve));
  return `${LOOPBACK}:${port}`;
}

/** In Prometheus' text format; empty where they are unavailable: the other metrics are useful without them. */
export async function temporalMetrics(address: string): Promise<string> {
  try {
    const signal = AbortSignal.timeout(TEMPORAL_TIMEOUT_MS);
    const response = await fetch(`http://${address}/metrics`, { signal });
    return response.ok ? await response.text() : '';
  } catch {
    return '';
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address === 'object' && address !== null) return address.port;
  throw new Error('a server that listens on a port has none');
}
