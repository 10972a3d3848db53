import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { chosenControllers } from '../config/controllers.ts';
import type { Logger } from '../contract/logger.ts';
import { SILENT, type Telemetry } from '../contract/telemetry.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Listening } from '../serving/listening.ts';
import { startMetricsServer } from '../serving/metrics-server.ts';
import { PASSES_AT_ONCE } from '../temporal/worker.ts';
import { VERSION } from '../version.ts';
import { operatorMetrics, type Metrics } from './metrics.ts';
import type { StateSource } from './state-metrics.ts';
import { addressForTemporalMetrics, temporalMetrics } from './temporal-metrics.ts';
import type { Traces } from './traces.ts';

export interface ObservabilityRequest {
  readonly config: Config;
  readonly source: StateSource;
  readonly log: Logger;
}

/** All that is observed of the process, and told to others. */
export interface Observability {
  /** For those who do the work. */
  readonly telemetry: Telemetry;
  /** Where Temporal's SDK is to serve its own metrics; undefined: nowhere. */
  readonly temporalMetricsAddress: string | undefined;
  /** Serves the metrics, where they are wanted. @throws ConfigurationError */
  serve(client: KubernetesClient): Promise<Listening | undefined>;
  /** Sends the traces that still wait, for a second and a half at most: all of shutdown has ten. */
  close(): Promise<void>;
}

const CLOSE_WITHIN_MS = 1_500;

/** Metrics and traces, as far as they are wanted; what is not wanted costs nothing. */
export async function observe(request: ObservabilityRequest): Promise<Observability> {
  const { config, log } = request;
  const metrics = config.metrics.address === 'off' ? undefined : metricsOf(request);
  const temporalMetricsAddress = metrics && (await addressForTemporalMetrics());
  const traces = config.tracing ? await tracesTo(log) : undefined;
  return {
    telemetry: withTraces(metrics ?? SILENT, traces),
    temporalMetricsAddress,
    async serve(client) {
      const { address, secure, certDir } = config.metrics;
      if (metrics === undefined || address === 'off') return undefined;
      const scrape = async () => ({
        contentType: metrics.contentType,
        body:
          (await metrics.scrape()) +
          (temporalMetricsAddress ? await temporalMetrics(temporalMetricsAddress) : ''),
      });
      return startMetricsServer({ address, secure, certDir, client, scrape, log });
    },
    async close() {
      await Promise.race([traces?.close(), delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}

function metricsOf({ config, source }: ObservabilityRequest): Metrics {
  return operatorMetrics({
    controllers: chosenControllers(config),
    passesAtOnce: config.command === 'watch' ? 0 : PASSES_AT_ONCE,
    version: VERSION,
    source,
  });
}

/** Loaded only where it is wanted. */
async function tracesTo(log: Logger): Promise<Traces> {
  const [{ operatorTraces }, { traceExporter }] = await Promise.all([
    import('./traces.ts'),
    import('./trace-exporter.ts'),
  ]);
  return operatorTraces({ exporter: traceExporter(log), version: VERSION, env: process.env });
}

function withTraces(telemetry: Telemetry, traces: Traces | undefined): Telemetry {
  if (traces === undefined) return telemetry;
  return {
    ...telemetry,
    runStarted(run) {
      telemetry.runStarted(run);
      traces.runStarted(run);
    },
    pass: (about, work) => telemetry.pass(about, () => traces.pass(about, work)),
    request(about) {
      const observers = [telemetry.request(about), traces.request(about)];
      return {
        answered: (status) => observers.forEach((observer) => observer.answered(status)),
        failed: () => observers.forEach((observer) => observer.failed()),
      };
    },
  };
}
