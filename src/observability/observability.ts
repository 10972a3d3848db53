/*
 * What people and Prometheus see of the process: /metrics, /healthz, /readyz. In: what watcher, client and activities tell `Telemetry`, and
 * the state of the process when it is asked. No label has the name of an object, and a scrape never waits for a server.
 */

import type { Logger } from '../api/logger.ts';
import { SILENT, type Telemetry } from '../runs/telemetry.ts';
import { startHealthServer, type Health } from './health.ts';
import type { ListenAddress, ListeningServer } from './http-server.ts';
import type { AccessReviewer } from './metrics-access.ts';
import { startMetricsServer } from './metrics-server.ts';
import {
  addressForTemporalMetrics,
  operatorMetrics,
  temporalMetrics,
  type Metrics,
  type ObservedController,
} from './metrics.ts';
import type { MeasuredState } from './state-metrics.ts';

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

/** Metrics and health. */
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
  /** Stops serving. Safe to repeat. */
  close(): Promise<void>;
}

/** Nothing is served before `serve`. What is not enabled costs nothing. */
export async function createObservability(options: ObservabilityOptions): Promise<Observability> {
  const { settings } = options;
  const metrics = settings.metrics.address === 'off' ? undefined : operatorMetrics(options);
  const temporalMetricsAddress = metrics && (await addressForTemporalMetrics());
  const servers: ListeningServer[] = [];
  return {
    telemetry: metrics ?? SILENT,
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
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

async function scrapeAll(metrics: Metrics, temporalAddress: string | undefined) {
  const ours = await metrics.scrape();
  const temporals = temporalAddress === undefined ? '' : await temporalMetrics(temporalAddress);
  return { contentType: metrics.contentType, body: ours + temporals };
}
