import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Controller } from '../contract/controller.ts';
import type { Telemetry, WatchedKind } from '../contract/telemetry.ts';
import { ReconcileMetrics } from './reconcile-metrics.ts';
import { requestMetrics } from './request-metrics.ts';
import { stateMetrics, type StateSource } from './state-metrics.ts';
import { watchMetrics } from './watch-metrics.ts';
import { workqueueMetrics } from './workqueue-metrics.ts';

export interface MetricsOptions {
  readonly controllers: readonly Pick<Controller, 'name' | 'primary' | 'children'>[];
  readonly passesAtOnce: number;
  readonly version: string;
  readonly source: StateSource;
}

export interface Metrics extends Telemetry {
  /** In Prometheus' text format, whose content type it is. */
  readonly contentType: string;
  scrape(): Promise<string>;
}

/**
 * Counts and measures for Prometheus. Every series of every controller is there from the start, with 0: an alert
 * on what has never happened needs it. docs/observability.md lists them.
 */
export function operatorMetrics(options: MetricsOptions): Metrics {
  const { passesAtOnce, version, source } = options;
  const controllers = options.controllers.map(({ name }) => name);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_LOOK_EVERY_MS });
  buildInfo(registry, version);
  stateMetrics(registry, controllers, source);
  const reconciles = new ReconcileMetrics(registry, { controllers, passesAtOnce });
  const convergence = convergenceMetrics(registry, controllers);
  return {
    queue: workqueueMetrics(registry, controllers),
    watch: watchMetrics(registry, options.controllers.flatMap(kindsOf)),
    runStarted: runMetrics(registry, controllers),
    needEnded: ({ controller, seconds }) => convergence.observe({ controller }, Math.max(0, seconds)),
    pass: (about, work) => reconciles.pass(about, work),
    request: requestMetrics(registry),
    contentType: registry.contentType,
    scrape: () => registry.metrics(),
  };
}

/** It costs a wake-up each time, also in an idle process. */
const EVENT_LOOP_LOOK_EVERY_MS = 100;

function kindsOf({ name, primary, children }: MetricsOptions['controllers'][number]): WatchedKind[] {
  return [primary, ...children].map(({ plural }) => ({ controller: name, resource: plural }));
}

/** From a label that is set in milliseconds to a build that takes an hour. */
const CONVERGENCE_BUCKETS = [
  ...[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  ...[60, 120, 300, 600, 1_800, 3_600],
];

function convergenceMetrics(registry: Registry, controllers: readonly string[]): Histogram<'controller'> {
  const convergence = new Histogram({
    registers: [registry],
    labelNames: ['controller'] as const,
    name: 'durable_operator_convergence_seconds',
    help: 'From the event that showed that a resource needs something to the one that showed that it does not',
    buckets: CONVERGENCE_BUCKETS,
  });
  for (const controller of controllers) convergence.zero({ controller });
  return convergence;
}

function runMetrics(registry: Registry, controllers: readonly string[]): Telemetry['runStarted'] {
  const started = new Counter({
    registers: [registry],
    labelNames: ['controller'] as const,
    name: 'durable_operator_runs_started_total',
    help: 'Runs that this process has started',
  });
  for (const controller of controllers) started.inc({ controller }, 0);
  return ({ ref: { controller } }) => started.inc({ controller });
}

function buildInfo(registry: Registry, version: string): void {
  const info = new Gauge({
    registers: [registry],
    labelNames: ['version'] as const,
    name: 'durable_operator_build_info',
    help: 'Always 1; the label says which version runs',
  });
  info.set({ version }, 1);
}
