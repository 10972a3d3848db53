import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../contract/logger.ts';
import { SILENT, type Telemetry } from '../contract/telemetry.ts';
import { startHealthServer, type Health } from './health.ts';
import type { ListenAddress, ListeningServer } from './http-server.ts';
import type { AccessReviewer } from './metrics-access.ts';
import { startMetricsServer } from './metrics-server.ts';
import { addressForTemporalMetrics, operatorMetrics, temporalMetrics, type Metrics } from './metrics.ts';
import type { ObservedController } from './metrics.ts';
import type { MeasuredState } from './state-metrics.ts';
import type { Traces } from './traces.ts';

/**
 * What metrics and health ask of the process, at the time somebody asks them. All of it must be quick and must not
 * wait.
 */
export interface StateSource extends MeasuredState {
  /** Why the process has to be restarted, and why it cannot work; nothing where it is well. */
  health(): Health;
}

/** As in the configuration. */
export interface ObservabilitySettings {
  readonly health: { readonly address: ListenAddress | 'off' };
  readonly metrics: {
    readonly address: ListenAddress | 'off';
    readonly secure: boolean;
    readonly certDir?: string | undefined;
  };
  readonly tracing: { readonly enabled: boolean };
}

export interface ObservabilityOptions {
  /** The name of the operator. */
  readonly program: string;
  readonly settings: ObservabilitySettings;
  readonly controllers: readonly ObservedController[];
  /** The name of the Lease of leader election. */
  readonly leaseName: string;
  readonly version: string;
  readonly command: string;
  readonly source: StateSource;
  readonly log: Logger;
}

/** Metrics, traces and health. */
export interface Observability {
  /** For the parts that do the work. */
  readonly telemetry: Telemetry;
  /** Where Temporal's SDK has to serve its own metrics, to this process alone; undefined: nowhere. */
  readonly temporalMetricsAddress: string | undefined;
  /**
   * Serves health and metrics, as far as they are enabled.
   *
   * @param client asks the API server who may read metrics
   * @throws ConfigurationError if it cannot listen on an address, or cannot use the certificate
   */
  serve(client: AccessReviewer): Promise<void>;
  /** Sends the remaining traces, for at most 1.5 s, and stops serving. Safe to repeat. */
  close(): Promise<void>;
}

/** All of shutdown has 10 s. */
const LAST_TRACES_WITHIN_MS = 1_500;

/** Nothing is served before `serve`. What is not enabled costs nothing. */
export async function createObservability(options: ObservabilityOptions): Promise<Observability> {
  const { settings } = options;
  const metrics = settings.metrics.address === 'off' ? undefined : operatorMetrics(options);
  const temporalMetricsAddress = metrics && (await addressForTemporalMetrics());
  const traces = settings.tracing.enabled ? await tracesFor(options) : undefined;
  const servers: ListeningServer[] = [];
  return {
    telemetry: withTraces(metrics ?? SILENT, traces),
    temporalMetricsAddress,
    async serve(client) {
      const { health, metrics: serving } = settings;
      const { source, log } = options;
      if (health.address !== 'off') {
        const { address } = health;
        servers.push(await startHealthServer({ address, health: () => source.health(), log }));
      }
      if (serving.address !== 'off' && metrics !== undefined) {
        const scrape = () => scrapeAll(metrics, temporalMetricsAddress);
        servers.push(await startMetricsServer({ ...serving, address: serving.address, client, scrape, log }));
      }
    },
    async close() {
      await Promise.race([traces?.close(), delay(LAST_TRACES_WITHIN_MS, undefined, { ref: false })]);
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

async function scrapeAll(metrics: Metrics, temporalAddress: string | undefined) {
  const ours = await metrics.scrape();
  const temporals = temporalAddress === undefined ? '' : await temporalMetrics(temporalAddress);
  return { contentType: metrics.contentType, body: ours + temporals };
}

/** Loaded only when enabled. */
async function tracesFor({ program, version, log }: ObservabilityOptions): Promise<Traces> {
  const { operatorTraces } = await import('./traces.ts');
  return operatorTraces({ program, log, version, env: process.env });
}

function withTraces(telemetry: Telemetry, traces: Traces | undefined): Telemetry {
  if (traces === undefined) return telemetry;
  return {
    ...telemetry,
    runStarted(run) {
      telemetry.runStarted(run);
      traces.runStarted(run);
    },
    step: (about, work) => telemetry.step(about, () => traces.step(about, work)),
    request(about) {
      const observers = [telemetry.request(about), traces.request(about)];
      return {
        answered: (status) => observers.forEach((observer) => observer.answered(status)),
        failed: () => observers.forEach((observer) => observer.failed()),
      };
    },
  };
}
