import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Outcome } from '../contract/run.ts';
import type { PassAbout } from '../contract/telemetry.ts';
import { unreachable } from '../contract/unreachable.ts';

/** As controller-runtime has them: pkg/internal/controller/metrics/metrics.go. */
const BUCKETS = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
  ...[1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60],
];

const RESULTS = ['success', 'error', 'requeue', 'requeue_after'] as const;
type Result = (typeof RESULTS)[number];

export interface ReconcileMetricsOptions {
  readonly controllers: readonly string[];
  /** Passes that this process makes at a time; 0 where it does not work. */
  readonly passesAtOnce: number;
}

/** What controller-runtime tells of each controller's reconciles: here, attempts of passes. */
export class ReconcileMetrics {
  readonly #total;
  readonly #errors;
  readonly #terminalErrors;
  readonly #seconds;
  readonly #active;
  readonly #retries;

  constructor(registry: Registry, { controllers, passesAtOnce }: ReconcileMetricsOptions) {
    const common = { registers: [registry], labelNames: ['controller'] as const };
    this.#total = new Counter({
      registers: [registry],
      labelNames: ['controller', 'result'] as const,
      name: 'controller_runtime_reconcile_total',
      help: 'Passes over resources, by what they came to',
    });
    this.#errors = new Counter({
      ...common,
      name: 'controller_runtime_reconcile_errors_total',
      help: 'Passes that failed or stalled',
    });
    this.#terminalErrors = new Counter({
      ...common,
      name: 'controller_runtime_terminal_reconcile_errors_total',
      help: 'Passes that stalled: only a change of the resource helps',
    });
    this.#seconds = new Histogram({
      ...common,
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'How long a pass takes',
      buckets: BUCKETS,
    });
    this.#active = new Gauge({
      ...common,
      name: 'controller_runtime_active_workers',
      help: 'Passes under way',
    });
    this.#retries = new Counter({
      ...common,
      name: 'durable_operator_retries_total',
      help: 'Passes that repeat one that failed',
    });
    const most = new Gauge({
      ...common,
      name: 'controller_runtime_max_concurrent_reconciles',
      help: 'Passes that this process makes at a time at most, those of all controllers together',
    });
    for (const controller of controllers) {
      most.set({ controller }, passesAtOnce);
      this.#zero(controller);
    }
  }

  async pass({ ref, attempt }: PassAbout, work: () => Promise<Outcome>): Promise<Outcome> {
    const { controller } = ref;
    const beganMs = performance.now();
    this.#active.inc({ controller });
    if (attempt > 1) this.#retries.inc({ controller });
    try {
      const outcome = await work();
      this.#ended(controller, outcome);
      return outcome;
    } catch (error) {
      this.#failed(controller);
      throw error;
    } finally {
      this.#active.dec({ controller });
      this.#seconds.observe({ controller }, (performance.now() - beganMs) / 1000);
    }
  }

  #ended(controller: string, outcome: Outcome): void {
    if (outcome.result === 'stalled') {
      this.#terminalErrors.inc({ controller });
      this.#failed(controller);
    } else this.#total.inc({ controller, result: resultOf(outcome.result) });
  }

  #failed(controller: string): void {
    this.#errors.inc({ controller });
    this.#total.inc({ controller, result: 'error' });
  }

  #zero(controller: string): void {
    for (const result of RESULTS) this.#total.inc({ controller, result }, 0);
    for (const counter of [this.#errors, this.#terminalErrors, this.#retries]) counter.inc({ controller }, 0);
    this.#active.set({ controller }, 0);
    this.#seconds.zero({ controller });
  }
}

function resultOf(result: 'converged' | 'progressed' | 'waiting'): Result {
  switch (result) {
    case 'converged':
      return 'success';
    case 'progressed':
      return 'requeue';
    case 'waiting':
      return 'requeue_after';
    default:
      return unreachable(result);
  }
}
